// COO -> HLS on the host: nonzeros sorted by tile and cell, then every tile is one thread's.
#include <array>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/formats/tiled_entries.hpp"
#include "papers/hlsto/format/hls.hpp"

namespace retensor::hlsto {
namespace {

/// What lies before a tile.
struct Before {
  Count tiles = 0, values = 0;  ///< dense ones, and theirs
};

/// Before each non-empty tile, and before the end.
std::vector<Before> places_of(const std::vector<Count>& starts, Count threshold) {
  std::vector<Before> places(starts.size());
  for (std::size_t t = 0; t + 1 < starts.size(); ++t) {
    const Count size = starts[t + 1] - starts[t];
    const bool dense = size >= threshold;
    places[t + 1] = {places[t].tiles + (dense ? 1 : 0), places[t].values + (dense ? size : 0)};
  }
  return places;
}

/// Fills the arrays of a format; every tile is one thread's.
template <class Key>
class Filler {
 public:
  Filler(const HlsShape& shape, const TiledEntries<Key>& entries)
      : entries_(entries),
        starts_(entries.tile_starts()),
        before_(places_of(starts_, shape.options.threshold)),
        hls_(with_counts(shape)) {}

  Hls filled() && {
#pragma omp parallel for schedule(dynamic, 256)
    for (Count t = 0; t < hls_.tiles; ++t) {
      if (before_[t + 1].tiles > before_[t].tiles)
        store_dense(t);
      else
        store_sparse(t);
    }
    hls_.value_start.back() = hls_.dense_nonzeros();
    return std::move(hls_);
  }

 private:
  HlsShape with_counts(HlsShape shape) const {
    const auto [dense, values] = before_.back();
    shape.tiles = starts_.size() - 1;
    shape.set_counts(dense, values, entries_.size() - values);
    return shape;
  }

  void store_dense(Count t) {
    const auto [tile, value] = before_[t];
    hls_.tile_index.set(tile, entries_.tile(starts_[t]));
    hls_.value_start[tile] = value;
    std::uint64_t* const bitmap = &hls_.bitmap[tile * hls_.grid.bitmap_words()];
    for (Count e = starts_[t]; e < starts_[t + 1]; ++e) {
      const Index cell = entries_.cell(e);
      bitmap[cell / 64] |= std::uint64_t{1} << (cell % 64);
      hls_.dense_values.set(value + e - starts_[t], entries_.value(e));
    }
  }

  void store_sparse(Count t) {
    std::array<Index, kHighestOrder> index{};
    for (Count e = starts_[t]; e < starts_[t + 1]; ++e) {
      const Count entry = e - before_[t].values;
      hls_.grid.decode(entries_.tile(e), entries_.cell(e), index);
      hls_.nonzero_index.set(entry, hls_.grid.nonzero_index().encode<Uint128>(index));
      hls_.sparse_values.set(entry, entries_.value(e));
    }
  }

  const TiledEntries<Key>& entries_;
  const std::vector<Count> starts_;
  const std::vector<Before> before_;
  Hls hls_;
};

}  // namespace

Hls to_hls(const Coo& tensor, const Options& options) {
  if (tensor.dtype() != DType::f32)
    throw InputError("HLS: found values in double precision, expected single");
  const HlsShape shape(tensor.dims, options);
  return with_tiled_entries(tensor, shape.grid, [&]<class Key>(const TiledEntries<Key>& entries) {
    return Filler<Key>(shape, entries).filled();
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
