// Load-balanced partitions of the indices of one mode (FLYCOO section 3.4, Algorithm 1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/core/types.hpp"
#include "papers/flycoo/format/options.hpp"

namespace retensor::flycoo {

/// kappa partitions of one mode: every index, and with it every nonzero, belongs to one of them.
struct Partitioning {
  std::vector<std::uint32_t> part;  ///< of each index of the mode
  /// kappa + 1 entries: in the mode's order, partition k holds positions start[k] to
  /// start[k + 1] - 1.
  std::vector<Count> start;
  Count heaviest = 0;  ///< nonzeros of the index that has most

  std::uint32_t kappa() const { return static_cast<std::uint32_t>(start.size() - 1); }
  Count load(std::uint32_t k) const { return start[k + 1] - start[k]; }
  Count largest_load() const;
  /// The largest load over the lower bound max(ceil(nnz / kappa), heaviest) of what any
  /// partitioning can reach, so at least its ratio to the optimum; 1 without nonzeros.
  double load_ratio() const;
};

/// Partitions of the indices 0 to count.size() - 1, of which index i has count[i] nonzeros. Indices
/// with equally many nonzeros are taken in ascending order, partitions with equal loads too. `seed`
/// matters to `random` alone. Throws InputError where kappa is 0.
Partitioning partition_counts(const std::vector<Count>& count, std::uint32_t kappa,
                              Assignment assignment, std::uint64_t seed = 1);

/// The same for the indices 0 to length - 1, of which index[p] belongs to nonzero p.
Partitioning partition_mode(std::span<const Index> index, std::uint64_t length, std::uint32_t kappa,
                            Assignment assignment, std::uint64_t seed = 1);

}  // namespace retensor::flycoo
