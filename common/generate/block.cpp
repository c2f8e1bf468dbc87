// Block-diagonal tensors: the first nnz images of a random permutation of all positions inside the
// blocks.
#include <fmt/format.h>

#include <algorithm>

#include "common/generate/generators.hpp"
#include "common/generate/permutation.hpp"
#include "common/generate/sampling.hpp"

namespace retensor {

namespace {

std::uint64_t first_index(std::uint64_t length, std::uint64_t block, std::uint64_t blocks) {
  return static_cast<std::uint64_t>(static_cast<Uint128>(length) * block / blocks);
}

Dims block_dims(const Dims& dims, std::uint64_t block, std::uint64_t blocks) {
  Dims lengths;
  for (const std::uint64_t length : dims)
    lengths.push_back(first_index(length, block + 1, blocks) - first_index(length, block, blocks));
  return lengths;
}

}  // namespace

Coo block_diagonal(const Target& target, const BlockLaw& law) {
  for (const std::uint64_t length : target.dims)
    if (law.blocks == 0 || law.blocks > length)
      throw InputError(fmt::format("{} blocks along a mode of length {}", law.blocks, length));
  std::vector<Uint128> starts{0};
  for (std::uint64_t b = 0; b < law.blocks; ++b)
    starts.push_back(starts.back() + sampling::volume(block_dims(target.dims, b, law.blocks)));
  if (target.nnz > starts.back())
    throw InputError(
        fmt::format("{} nonzeros are more than the blocks have positions", target.nnz));
  const RandomPermutation place(starts.back(), target.seed, 0);
  return sampling::collect(target, [&](Count i, sampling::Coordinate& coordinate) {
    const Uint128 position = place(i);
    const auto block = static_cast<std::uint64_t>(
        std::upper_bound(starts.begin(), starts.end(), position) - starts.begin() - 1);
    coordinate = sampling::coordinate_at(block_dims(target.dims, block, law.blocks),
                                         position - starts[block]);
    for (std::size_t m = 0; m < target.dims.size(); ++m)
      coordinate[m] += static_cast<Index>(first_index(target.dims[m], block, law.blocks));
    return true;
  });
}

}  // namespace retensor
