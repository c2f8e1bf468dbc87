// COO -> HLS on the host. Every nonzero becomes one number: its tile, below that its cell, below
// that its position in the input. Sorted, these are the nonzeros in the order of the format, and
// tile and cell tell its indices, so that of a nonzero its value alone is read at random.
#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/positions.hpp"
#include "papers/hlsto/format.hpp"

namespace retensor::hlsto {
namespace {

/// The different coordinates of a tensor by tile, then cell. Key is 64 bits wide or 128.
template <class Key>
class Entries {
 public:
  Entries(const Coo& tensor, const Grid& grid)
      : cell_bits_(grid.cell_bits()),
        position_bits_(bits_for(tensor.nnz())),
        values_(tensor.values.as<float>()),
        keys_(keys_of(tensor, grid)) {
    sort_keys(keys_);
    first_ = positions_where(keys_.size(), [&](Count p) {
      return p == 0 || keys_[p] >> position_bits_ != keys_[p - 1] >> position_bits_;
    });
    first_.push_back(keys_.size());
  }

  Count size() const { return first_.size() - 1; }
  Key tile(Count e) const { return key(e) >> cell_bits_; }
  Index cell(Count e) const { return static_cast<Index>(key(e) & ((Key{1} << cell_bits_) - 1)); }
  /// The sum over a coordinate's nonzeros in the order of the input.
  float value(Count e) const {
    double sum = values_[position(first_[e])];
    for (Count p = first_[e] + 1; p < first_[e + 1]; ++p)
      sum += static_cast<double>(values_[position(p)]);
    return static_cast<float>(sum);
  }
  /// The first entry of each non-empty tile, and the end.
  std::vector<Count> tile_starts() const {
    auto starts =
        positions_where(size(), [&](Count e) { return e == 0 || tile(e) != tile(e - 1); });
    starts.push_back(size());
    return starts;
  }

 private:
  Array<Key> keys_of(const Coo& tensor, const Grid& grid) const {
    Array<Key> keys(tensor.nnz());
    const int order = tensor.order();
#pragma omp parallel for schedule(static)
    for (Count x = 0; x < keys.size(); ++x) {
      std::array<Index, kHighestOrder> index{};
      for (int m = 0; m < order; ++m)
        index[static_cast<std::size_t>(m)] = tensor.indices[static_cast<std::size_t>(m)][x];
      keys[x] = grid.key<Key>(index) << position_bits_ | x;
    }
    return keys;
  }
  Key key(Count e) const {
    return keys_[first_[e]] >> position_bits_;
  }
  Count position(Count p) const {
    return static_cast<Count>(keys_[p] & ((Key{1} << position_bits_) - 1));
  }

  const int cell_bits_, position_bits_;
  const std::span<const float> values_;
  Array<Key> keys_;
  std::vector<Count> first_;  // key of each different coordinate, and the end
};

/// Calls f with the entries of the tensor.
template <class F>
decltype(auto) with_entries(const Coo& tensor, const Grid& grid, F&& f) {
  const int bits = grid.key_bits() + bits_for(tensor.nnz());
  if (bits <= 64) return f(Entries<std::uint64_t>(tensor, grid));
  if (bits <= 128) return f(Entries<Uint128>(tensor, grid));
  throw InputError(fmt::format("HLS: tile and cell take {} bits, too many to sort {} nonzeros by",
                               grid.key_bits(), tensor.nnz()));
}

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
  Filler(const HlsShape& shape, const Entries<Key>& entries)
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

  const Entries<Key>& entries_;
  const std::vector<Count> starts_;
  const std::vector<Before> before_;
  Hls hls_;
};

}  // namespace

Hls to_hls(const Coo& tensor, const Options& options) {
  if (tensor.dtype() != DType::f32)
    throw InputError("HLS: found values in double precision, expected single");
  const HlsShape shape(tensor.dims, options);
  return with_entries(tensor, shape.grid, [&]<class Key>(const Entries<Key>& entries) {
    return Filler<Key>(shape, entries).filled();
  });
}

std::vector<Count> tile_sizes(const Coo& tensor, const Grid& grid) {
  auto starts = with_entries(
      tensor, grid, []<class Key>(const Entries<Key>& entries) { return entries.tile_starts(); });
  for (std::size_t t = 0; t + 1 < starts.size(); ++t) starts[t] = starts[t + 1] - starts[t];
  starts.pop_back();
  return starts;
}

}  // namespace retensor::hlsto
