// Sorting and deduplicating coordinate tensors, their fibers and rows.
#pragma once

#include <span>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/csr.hpp"

namespace retensor {

/// Modes in the order in which they are compared: {0, 1, ..., order - 1}.
std::vector<int> natural_order(int order);
/// All modes but `last` in natural order, then `last`: fibers of that mode become contiguous.
std::vector<int> fiber_order(int order, int last);
/// Modes by ascending length, equal ones in natural order.
std::vector<int> modes_by_length(const Dims& dims);

/// Sorts nonzeros lexicographically by the modes listed (the first is the most significant; modes
/// left out do not take part). Stable. Boost.Sort on packed 64- or 128-bit keys, all cores; throws
/// InputError when `modes` repeats one or names one out of range.
void sort_nonzeros(Coo& tensor, std::span<const int> modes);
bool is_sorted(const Coo& tensor, std::span<const int> modes);

/// The permutation that `sort_nonzeros` would apply: position p takes nonzero result[p].
std::vector<Count> sort_permutation(const Coo& tensor, std::span<const int> modes);
/// Reorders the nonzeros: position p takes the old nonzero permutation[p].
void apply_permutation(Coo& tensor, std::span<const Count> permutation);

/// The tensor whose mode k is mode modes[k] of the given one.
Coo with_modes(Coo tensor, std::span<const int> modes);

enum class Duplicates { error, sum, last };
/// Sorts by natural order and merges equal coordinates; `error` throws InputError naming the first
/// duplicate coordinate, `last` keeps the one that stood last in the input.
void dedupe(Coo& tensor, Duplicates policy);

/// Start of each run of nonzeros that agree in all modes but `mode`, plus nnz at the end: the fptr
/// of PASTA Algorithm 1. The tensor must be sorted by fiber_order(order, mode).
std::vector<Count> fiber_starts(const Coo& tensor, int mode);

Csr to_csr(const Coo& matrix);

}  // namespace retensor
