// What decides the time of a contraction beside the sizes of its operands, found before it runs.
#pragma once

#include "common/tensor/coo.hpp"
#include "common/tensor/einsum.hpp"

namespace retensor::advise {

/// Nonzeros of the result, values that cancel included: exact for inputs whose pairs of nonzeros
/// number kMostPairs at most, else estimated from rows, the nonzeros of x that agree in its free
/// modes. Rows are drawn by a nonzero of x at random, so with a probability that grows with their
/// length; the mean of (nonzeros of a row of the result) / (nonzeros of the row) times the nonzeros
/// of x is the estimate. Costs a sort of each tensor and about kMostPairs look-ups.
double result_entries(const Coo& x, const Coo& y, const Contraction& contraction);

inline constexpr Count kMostPairs = Count{1} << 21;

/// Pairs of non-empty tiles that a product by tiles has to form.
struct TilePairs {
  double of_tensors = 0;   ///< of tiles with edge 8 in every mode
  double of_matrices = 0;  ///< of tiles of 8 x 8 of the matrices, free by contracted coordinates,
                           ///< of which those that occur are numbered in order
};

/// Costs five sorts of each tensor.
TilePairs tile_pairs(const Coo& x, const Coo& y, const Contraction& contraction);

}  // namespace retensor::advise
