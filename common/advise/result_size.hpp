// How many nonzeros a contraction's result will have, before it runs.
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

}  // namespace retensor::advise
