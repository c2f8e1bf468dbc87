// COO -> HLS on the host: nonzeros sorted by tile and cell, then every tile is one thread's.
#include <array>
#include <vector>

#include "common/core/error.hpp"
#include "common/formats/tiled_entries.hpp"
#include "papers/hlsto/format/hls.hpp"

namespace retensor::hlsto {
namespace {

/// Dense tiles, and their values.
struct Dense {
  Count tiles = 0, values = 0;
};

/// What is dense before each non-empty tile, and before the end.
std::vector<Dense> dense_before(const std::vector<Count>& starts, Count threshold) {
  std::vector<Dense> before(starts.size());
  for (std::size_t t = 0; t + 1 < starts.size(); ++t) {
    before[t + 1] = before[t];
    if (const Count size = starts[t + 1] - starts[t]; size >= threshold)
      ++before[t + 1].tiles, before[t + 1].values += size;
  }
  return before;
}

template <class Key>
void store_dense(Hls& hls, const TiledEntries<Key>& entries, Dense before, Count begin, Count end) {
  hls.tile_index.set(before.tiles, entries.tile(begin));
  hls.value_start[before.tiles] = before.values;
  std::uint64_t* const bitmap = &hls.bitmap[before.tiles * hls.grid.bitmap_words()];
  for (Count e = begin; e < end; ++e) {
    const Index cell = entries.cell(e);
    bitmap[cell / 64] |= std::uint64_t{1} << (cell % 64);
    hls.dense_values.set(before.values + e - begin, entries.value(e));
  }
}

template <class Key>
void store_sparse(Hls& hls, const TiledEntries<Key>& entries, Dense before, Count begin,
                  Count end) {
  std::array<Index, kHighestOrder> index{};
  for (Count e = begin; e < end; ++e) {
    hls.grid.decode(entries.tile(e), entries.cell(e), index);
    hls.nonzero_index.set(e - before.values, hls.grid.nonzero_index().encode<Uint128>(index));
    hls.sparse_values.set(e - before.values, entries.value(e));
  }
}

/// The format of a shape that has no counts yet; every tile is one thread's.
template <class Key>
Hls filled(HlsShape shape, const TiledEntries<Key>& entries) {
  const std::vector<Count> starts = entries.tile_starts();
  const std::vector<Dense> before = dense_before(starts, shape.options.threshold);
  shape.tiles = starts.size() - 1;
  shape.dense_tiles = before.back().tiles, shape.dense_nonzeros = before.back().values;
  shape.sparse_nonzeros = entries.size() - shape.dense_nonzeros;
  Hls hls(shape);
#pragma omp parallel for schedule(dynamic, 256)
  for (Count t = 0; t < hls.tiles; ++t) {
    if (before[t + 1].tiles > before[t].tiles)
      store_dense(hls, entries, before[t], starts[t], starts[t + 1]);
    else
      store_sparse(hls, entries, before[t], starts[t], starts[t + 1]);
  }
  hls.value_start.back() = hls.dense_nonzeros;
  return hls;
}

}  // namespace

Hls to_hls(const Coo& tensor, const Options& options) {
  if (tensor.dtype() != DType::f32)
    throw InputError("HLS: found values in double precision, expected single");
  const HlsShape shape(tensor.dims, options);
  return with_tiled_entries(tensor, shape.grid, [&]<class Key>(const TiledEntries<Key>& entries) {
    return filled(shape, entries);
  });
}

std::vector<Count> tile_sizes(const Coo& tensor, const Grid& grid) {
  auto starts = with_tiled_entries(tensor, grid, []<class Key>(const TiledEntries<Key>& entries) {
    return entries.tile_starts();
  });
  for (std::size_t t = 0; t + 1 < starts.size(); ++t) starts[t] = starts[t + 1] - starts[t];
  starts.pop_back();
  return starts;
}

}  // namespace retensor::hlsto
