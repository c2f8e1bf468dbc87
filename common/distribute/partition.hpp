// Nonzeros over processes, by one of three rules:
// - allreduce: any even share of the nonzeros. Every process adds to every row of every result, so
//   that results are summed over all, as GenTen does.
// - owner: for each mode the nonzeros of a range of its slices, so that rows of a result have one
//   owner and nothing is summed; the tensor is held once for every mode.
// - medium: the cells of a grid with ranges of slices in each mode, held once; results are summed
//   among the processes of a layer (S. Smith, G. Karypis: A Medium-Grained Algorithm for
//   Distributed Sparse Tensor Factorization, IPDPS 2016).
// Ranges cost about as much each as whole slices allow.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/communicate/communicator.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::distribute {

enum class Rule { allreduce, owner, medium };
/// Throws InputError for another name.
Rule rule_from_name(std::string_view name);
std::string_view name(Rule rule);

/// Processes in each mode of a grid of `processes`: its prime factors, the largest first, each to
/// the mode with most indices a process (Smith and Karypis 2016, section IV).
std::vector<int> grid_of(int processes, const Dims& dims);

/// What a pass takes for a nonzero and for a row of the result, in bytes: the floor of the planner.
struct Cost {
  Count nonzero = 1, row = 0;
};
/// Of MTTKRP: a nonzero with the rows that it gathers, and a row that is written.
Cost cost_of_mttkrp(int order, std::uint64_t rank, DType type);

/// Begins of `parts` ranges of slices, and the end: range k takes slices until their cost so far
/// reaches (k + 1) / parts of all.
communicate::Parts cuts_of(const communicate::Parts& cost_of_slices, int parts);

/// What one process holds.
struct Share {
  Rule rule = Rule::allreduce;
  std::vector<int> grid;     ///< processes in each mode; of owner all in the mode at hand
  std::vector<Coo> tensors;  ///< one, of owner one a mode
  std::vector<communicate::Parts> cuts;  ///< by mode, of the ranges; none of allreduce
  std::vector<int> coordinates;          ///< by mode: the range of this process
  Cost cost;                             ///< by which ranges are even

  const Coo& of_mode(std::size_t mode) const { return tensors[tensors.size() == 1 ? 0 : mode]; }
};

/// Moves nonzeros to where the rule wants them. `mine` is any part of the tensor, with the mode
/// lengths of all of it; every nonzero is in one process's part.
Share share_out(communicate::Communicator& processes, const Coo& mine, Rule rule, Cost cost = {});

/// [tensor of the share][process]: the cost of a process over the mean; 1 of a share without any.
std::vector<std::vector<double>> loads(communicate::Communicator& processes, const Share& share);
/// The largest of the loads, by tensor of the share.
std::vector<double> imbalance(communicate::Communicator& processes, const Share& share);

}  // namespace retensor::distribute
