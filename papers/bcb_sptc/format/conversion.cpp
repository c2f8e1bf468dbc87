// COO -> BCB on the host: nonzeros sorted by block and cell, then every block is one thread's.
#include <fmt/format.h>

#include <limits>

#include "common/core/error.hpp"
#include "common/formats/tiled_entries.hpp"
#include "papers/bcb_sptc/format/bcb.hpp"

namespace retensor::bcb_sptc {
namespace {

template <class Key>
Bcb filled(const Coo& tensor, const Options& options, const TiledEntries<Key>& entries) {
  const auto starts = entries.tile_starts();
  const Count blocks = starts.size() - 1;
  if (blocks > std::numeric_limits<Index>::max())
    throw InputError(fmt::format("BCB: found {} blocks, expected less than 2^32", blocks));
  Bcb bcb(tensor.dims, options, blocks, entries.size());
  bcb.value_start = starts;
#pragma omp parallel for schedule(dynamic, 256)
  for (Count b = 0; b < blocks; ++b) {
    bcb.block_index.set(b, entries.tile(starts[b]));
    std::uint64_t* const bitmap = &bcb.bitmap[b * bcb.grid.bitmap_words()];
    for (Count e = starts[b]; e < starts[b + 1]; ++e) {
      const Index cell = entries.cell(e);
      bitmap[cell / 64] |= std::uint64_t{1} << (cell % 64);
      bcb.values.set(e, entries.value(e));
    }
  }
  return bcb;
}

}  // namespace

void check_keys(const Coo& tensor, const Options& options) {
  if (tensor.dtype() != DType::f32)
    throw InputError("BCB: found values in double precision, expected single");
  const int bits = Grid(tensor.dims, options).key_bits() + bits_for(tensor.nnz());
  if (bits > 128)
    throw InputError(
        fmt::format("BCB: block, cell and position take {} bits, expected at most 128", bits));
}

Bcb to_bcb(const Coo& tensor, const Options& options) {
  check_keys(tensor, options);
  const Grid grid(tensor.dims, options);
  return with_tiled_entries(tensor, grid, [&]<class Key>(const TiledEntries<Key>& entries) {
    return filled(tensor, options, entries);
  });
}

}  // namespace retensor::bcb_sptc
