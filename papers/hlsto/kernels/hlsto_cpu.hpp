// MTTKRP and TTM-chain on HLS with an emulated tensor core (HLSTO section VI.A, Algorithm 1).
//
// A dense tile is S slices along the output's mode. With the rows of B and C that belong to the
// tile, a slice X_i gives Y(i, :, :) += B^T (X_i C) (eq. 7, TTM-chain), of which MTTKRP takes the
// diagonal (eq. 10). Both products are MMAs of 16 x 16 x 16 on operands rounded to the type of the
// tensor core, the result of X_i C being the operand of the second; slices shorter than 16 are
// padded with zeros, longer ones are several fragments, and columns are taken 16 at a time. MTTKRP
// needs the diagonal blocks of the second product alone.
// A sparse nonzero adds its value times the rows of the factors, in single precision (eq. 3 and 4).
//
// Orders above 3: a kept mode has one index in the whole tile, so its row multiplies the tile's
// result: elementwise in MTTKRP, by the Kronecker product in TTM-chain. An output along a kept mode
// is one row of the result, to which every slice adds its own times its row of the third tiled
// factor.
//
// Deviations: Algorithm 1 clears neither y_frag between slices (line 25 would add one slice to the
// next) nor steps its values from slice to slice (line 21); its sums race with those of other tiles
// (line 26). Here a slice begins with zero, its values are those of its bits, and sums are atomic.
//
// Line 23 stores a sum as `half`, which WMMA does for sums in half precision alone. In hlsto.cpu
// and hlsto.cuda both products are sums in single precision, the first of which is rounded. In
// hlsto.cpu.half and hlsto.cuda.half both are sums in half precision, and on demand the elements of
// the result are, to which tiles and nonzeros add; the paper does not state the type of these.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::hlsto {

/// The run of hlsto.cpu: the format and the algorithm of the GPU's form, so that sizes, counts and
/// errors are the same on any machine.
std::unique_ptr<Prepared> prepare_cpu(const Problem& problem, const Params& params);
/// That of hlsto.cpu.half.
std::unique_ptr<Prepared> prepare_half_cpu(const Problem& problem, const Params& params);

}  // namespace retensor::hlsto
