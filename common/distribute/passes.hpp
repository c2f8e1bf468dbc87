// MTTKRP of a tensor whose nonzeros lie in several processes: each runs a method on its own, then
// they exchange rows, after which every process has the whole result. Sent in a pass over mode n by
// all P processes together, in rows of R values:
//
// | rule      | rows                                                              |
// | --------- | ----------------------------------------------------------------- |
// | allreduce | 2 (P - 1) I_n                                                     |
// | owner     | (P - 1) I_n                                                       |
// | medium    | (P / P_n - 1) I_n summed within layers, then (P - 1) I_n gathered |
//
// Over NCCL the rows of a method that keeps its result on the device are exchanged there, with what
// pads them to 16 bytes.
//
// P_n is the number of processes in mode n of the grid. Factors are held whole by every process;
// SPLATT gathers rows only within layers, which hold those rows alone.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "common/communicate/communicator.hpp"
#include "common/distribute/partition.hpp"
#include "common/method/method.hpp"

namespace retensor::distribute {

/// Passes by a method over the share of this process, with dense operands that the caller may
/// change (Prepared::refresh). `spec` has operation mttkrp_all. The share, the factors and the
/// communicator outlive the result. Throws InputError where the method does not take the problem.
std::unique_ptr<Prepared> passes_over(communicate::Communicator& processes, const Share& share,
                                      const ProblemSpec& spec,
                                      std::shared_ptr<const std::vector<Matrix>> factors,
                                      const Method& method,
                                      const std::map<std::string, ParamValue>& given = {});

/// Bytes that all processes together send in a pass over a mode of `rows` indices, as the table
/// says; `in_mode` is P_n.
Count bytes_of_pass(Rule rule, int processes, int in_mode, Count rows, Count row_bytes);

}  // namespace retensor::distribute
