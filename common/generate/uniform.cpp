// Uniform sparse tensors: the first nnz images of a pseudo-random permutation of all coordinates,
// so that no coordinate repeats and a dense tensor costs no more than a sparse one.
#include <algorithm>

#include "common/generate/generators.hpp"
#include "common/generate/permutation.hpp"
#include "common/generate/sampling.hpp"

namespace retensor {

Coo uniform(const Dims& dims, Count nnz, std::uint64_t seed, DType dtype, ValueModel values) {
  const RandomPermutation place(std::max(sampling::volume(dims), Uint128{1}), seed, 0);
  return sampling::collect({dims, nnz, seed, dtype, values},
                           [&](Count i, sampling::Coordinate& coordinate) {
                             coordinate = sampling::coordinate_at(dims, place(i));
                             return true;
                           });
}

}  // namespace retensor
