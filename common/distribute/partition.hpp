// Nonzeros over processes, by one of three rules:
// - allreduce: any even share of the nonzeros. Every process adds to every row of every result, so
//   that results are summed over all, as GenTen does.
// - owner: for each mode the nonzeros of a range of its slices, so that rows of a result have one
//   owner and nothing is summed; the tensor is held once for every mode.
// - medium: the cells of a grid with ranges of slices in each mode, held once; results are summed
//   among the processes of a layer (S. Smith, G. Karypis: A Medium-Grained Algorithm for
//   Distributed Sparse Tensor Factorization, IPDPS 2016).
// Ranges have about as many nonzeros each as whole slices allow.
#pragma once

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

/// Begins of `parts` ranges of slices, and the end: range k takes slices until the nonzeros so far
/// reach (k + 1) / parts of all.
communicate::Parts cuts_of(const communicate::Parts& nonzeros_of_slices, int parts);

/// What one process holds.
struct Share {
  Rule rule = Rule::allreduce;
  std::vector<int> grid;     ///< processes in each mode; of owner all in the mode at hand
  std::vector<Coo> tensors;  ///< one, of owner one a mode
  std::vector<communicate::Parts> cuts;  ///< by mode, of the ranges; none of allreduce
  std::vector<int> coordinates;          ///< by mode: the range of this process

  const Coo& of_mode(std::size_t mode) const { return tensors[tensors.size() == 1 ? 0 : mode]; }
};

/// Moves nonzeros to where the rule wants them. `mine` is any part of the tensor, with the mode
/// lengths of all of it; every nonzero is in one process's part.
Share share_out(communicate::Communicator& processes, const Coo& mine, Rule rule);

/// Largest number of nonzeros of a process over the mean, by tensor of the share; 1 of an empty
/// one.
std::vector<double> imbalance(communicate::Communicator& processes, const Share& share);

}  // namespace retensor::distribute
