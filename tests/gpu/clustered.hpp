// The tensors of the tests of formats that are made on a device.
#pragma once

#include <algorithm>
#include <cmath>

#include "common/core/rng.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::test {

/// Half of the nonzeros lie in a corner of 20 indices a mode, where coordinates occur more than
/// once; values need rounding, some beyond the normal numbers of half precision.
inline Coo clustered(const Dims& dims, Count nnz) {
  Coo x(dims, DType::f32, nnz);
  const CounterRng rng(dims.size());
  std::uint64_t draw = 0;
  for (Count p = 0; p < nnz; ++p) {
    const bool corner = rng.bits(draw++) % 2 == 0;
    for (std::size_t m = 0; m < dims.size(); ++m) {
      const auto length = corner ? std::min<std::uint64_t>(dims[m], 20) : dims[m];
      x.indices[m][p] = static_cast<Index>(rng.below(draw++, length));
    }
    const int exponent = static_cast<int>(rng.below(draw++, 50)) - 30;
    x.values.set(p, std::ldexp(rng.uniform(draw++) - 0.5, exponent));
  }
  return x;
}

}  // namespace retensor::test
