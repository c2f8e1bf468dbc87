// COO -> HLS: nonzeros sorted by tile and cell, then every tile is one thread's.
#include "papers/hlsto/format/hls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "common/core/error.hpp"
#include "common/formats/tiled_entries.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::hlsto {
namespace {

template <class... Facts>
[[noreturn]] void refuse(fmt::format_string<Facts...> what, Facts&&... facts) {
  throw InputError("HLS: " + fmt::format(what, std::forward<Facts>(facts)...));
}

std::array<int, kTiledModes> tiled_of(const Dims& dims, const Options& options) {
  const int order = static_cast<int>(dims.size());
  if (order < kTiledModes || order > kHighestOrder)
    refuse("found a tensor of order {}, expected 3 to 5", order);
  if (options.edge_bits < 0 || options.edge_bits > 5)
    refuse("found tiles of edge 2^{}, expected 2^0 to 2^5", options.edge_bits);
  auto modes = options.tiled;
  if (modes.empty()) {
    modes = longest_first(dims);
    modes.resize(kTiledModes);
    std::ranges::sort(modes);
  }
  if (modes.size() != kTiledModes || modes.front() < 0 || modes.back() >= order ||
      std::ranges::adjacent_find(modes, std::greater_equal<>()) != modes.end())
    refuse("found {} tiled modes, expected three of the {} modes, ascending", modes.size(), order);
  return {modes[0], modes[1], modes[2]};
}

std::vector<int> kept_of(const Dims& dims, const std::array<int, kTiledModes>& tiled) {
  std::vector<int> kept = natural_order(static_cast<int>(dims.size()));
  std::erase_if(kept, [&](int m) { return std::ranges::find(tiled, m) != tiled.end(); });
  return kept;
}

LinearIndex index_over(const Dims& lengths) {
  return {lengths, natural_order(static_cast<int>(lengths.size()))};
}

/// Lengths in tiles of the tiled modes, which come first, and in indices of the kept ones.
Dims lengths_of_places(const Dims& dims, const std::array<int, kTiledModes>& tiled,
                       const std::vector<int>& kept, int edge_bits) {
  const std::uint64_t edge = std::uint64_t{1} << edge_bits;
  Dims lengths;
  for (const int m : tiled) lengths.push_back((dims[at(m)] + edge - 1) / edge);
  for (const int m : kept) lengths.push_back(dims[at(m)]);
  return lengths;
}

void check_lengths(const Hls& hls) {
  const Count dense = hls.dense_tiles;
  if (hls.value_start.size() != dense + 1 || hls.value_start.front() != 0 ||
      hls.value_start.back() != hls.dense_values.size() || hls.tile_index.size() != dense ||
      hls.bitmap.size() != dense * hls.grid.bitmap_words())
    refuse("arrays of {} tile indices, {} bitmap words, {} values for {} tiles",
           hls.tile_index.size(), hls.bitmap.size(), hls.dense_values.size(), dense);
  if (hls.nonzero_index.size() != hls.sparse_nonzeros ||
      hls.sparse_values.size() != hls.sparse_nonzeros)
    refuse("{} linear indices and {} values for {} sparse nonzeros", hls.nonzero_index.size(),
           hls.sparse_values.size(), hls.sparse_nonzeros);
}

void check_tile(const Hls& hls, Count t) {
  if (t > 0 && hls.tile_index.at(t) <= hls.tile_index.at(t - 1))
    refuse("the index of tile {} is not above that of the tile before", t);
  Count bits = 0;
  const Count words = hls.grid.bitmap_words();
  for (Count w = t * words; w < (t + 1) * words; ++w)
    bits += static_cast<Count>(std::popcount(hls.bitmap[w]));
  const Count values = hls.value_start[t + 1] - hls.value_start[t];
  if (hls.value_start[t + 1] < hls.value_start[t] || bits != values)
    refuse("tile {} has {} bits and {} values", t, bits, values);
  if (bits < hls.options.threshold)
    refuse("tile {} has {} nonzeros, a dense one has at least {}", t, bits, hls.options.threshold);
}

/// The tile of each sparse nonzero must be below the threshold, dense tiles or not.
void check_sparse_tiles(const Hls& hls, const Coo& tensor) {
  const auto sizes = tile_sizes(tensor, hls.grid);
  const auto dense =
      std::ranges::count_if(sizes, [&](Count n) { return n >= hls.options.threshold; });
  if (static_cast<Count>(dense) != hls.dense_tiles)
    refuse("{} tiles reach the threshold of {} nonzeros, {} are dense", dense,
           hls.options.threshold, hls.dense_tiles);
  if (sizes.size() != hls.tiles)
    refuse("{} non-empty tiles, {} are counted", sizes.size(), hls.tiles);
}

std::string binary_text(const LinearIndex& index, Uint128 key) {
  std::string text;
  for (int k = 0; k < static_cast<int>(index.modes().size()); ++k)
    if (const int width = index.width(k); width > 0)
      text += fmt::format(" {:0{}b}", index.decode(key, k), width);
  return text;
}

}  // namespace

std::vector<int> longest_first(const Dims& dims) {
  std::vector<int> modes = natural_order(static_cast<int>(dims.size()));
  std::ranges::stable_sort(modes, std::greater<>(), [&](int m) { return dims[at(m)]; });
  return modes;
}

Grid::Grid(const Dims& dims, const Options& options)
    : edge_bits_(options.edge_bits),
      tiled_(tiled_of(dims, options)),
      kept_(kept_of(dims, tiled_)),
      nonzero_index_(index_over(dims)),
      tile_index_(index_over(lengths_of_places(dims, tiled_, kept_, edge_bits_))) {}

void Grid::decode(Uint128 tile, Index cell, std::span<Index> index) const {
  for (int k = 0; k < kTiledModes; ++k)
    index[at(tiled_[at(k)])] = origin(tile, k) + within(cell, k);
  for (std::size_t k = 0; k < kept_.size(); ++k)
    index[at(kept_[k])] = origin(tile, kTiledModes + static_cast<int>(k));
}

Count HlsShape::index_bytes() const {
  const auto index = [](const LinearIndex& i) { return Count{4} * words_for(i.bits()); };
  const Count of_tile = index(grid.tile_index()) + grid.bitmap_words() * sizeof(std::uint64_t);
  return dense_tiles * of_tile + (dense_tiles + 1) * sizeof(Count) +
         sparse_nonzeros * index(grid.nonzero_index());
}

Hls::Hls(const HlsShape& shape)
    : HlsShape(shape),
      tile_index(grid.tile_index().bits(), dense_tiles),
      bitmap(dense_tiles * grid.bitmap_words()),
      value_start(dense_tiles + 1),
      dense_values(options.values, dense_nonzeros),
      nonzero_index(grid.nonzero_index().bits(), sparse_nonzeros),
      sparse_values(options.values, sparse_nonzeros) {}

Coo Hls::to_coo() const {
  Coo tensor(dims, DType::f32, nnz());
  const auto values = tensor.values.as<float>();
  std::array<Index, kHighestOrder> index{};
  Count entry = 0;
  for (Count t = 0; t < dense_tiles; ++t) {
    const auto tile = tile_index.at(t);
    Count value = value_start[t];
    for (Index cell = 0; cell < grid.cells(); ++cell) {
      if (!holds(t, cell)) continue;
      grid.decode(tile, cell, index);
      for (std::size_t m = 0; m < dims.size(); ++m) tensor.indices[m][entry] = index[m];
      values[entry++] = dense_values.at(value++);
    }
  }
  for (Count x = 0; x < sparse_nonzeros; ++x, ++entry) {
    for (int m = 0; m < tensor.order(); ++m)
      tensor.indices[at(m)][entry] = grid.nonzero_index().decode(nonzero_index.at(x), m);
    values[entry] = sparse_values.at(x);
  }
  return tensor;
}

void Hls::check() const {
  check_lengths(*this);
  for (Count t = 0; t < dense_tiles; ++t) check_tile(*this, t);
  for (Count x = 1; x < sparse_nonzeros; ++x)
    if (nonzero_index.at(x) == nonzero_index.at(x - 1)) refuse("sparse nonzero {} stands twice", x);
  const Coo tensor = to_coo();
  tensor.check();
  check_sparse_tiles(*this, tensor);
}

std::string layout_text(const Hls& hls) {
  std::string text;
  for (Count t = 0; t < hls.dense_tiles; ++t) {
    text += fmt::format("D{}, ", binary_text(hls.grid.tile_index(), hls.tile_index.at(t)));
    for (Index cell = 0; cell < hls.grid.cells(); ++cell) text += hls.holds(t, cell) ? '1' : '0';
    text += ',';
    for (Count v = hls.value_start[t]; v < hls.value_start[t + 1]; ++v)
      text += fmt::format(" {:g}", hls.dense_values.at(v));
    text += "; ";
  }
  for (Count x = 0; x < hls.sparse_nonzeros; ++x)
    text +=
        fmt::format("S{}, {:g}; ", binary_text(hls.grid.nonzero_index(), hls.nonzero_index.at(x)),
                    hls.sparse_values.at(x));
  return text.substr(0, text.empty() ? 0 : text.size() - 2);
}

StorageBits storage_bits(const Grid& grid, ValueType values, Count nnz, Count sparse,
                         Count dense_tiles) {
  return {.sparse_index = static_cast<Count>(grid.nonzero_index().bits()) * sparse,
          .sparse_values = bits_of(values) * sparse,
          .tile_index = static_cast<Count>(grid.tile_index().bits()) * dense_tiles,
          .bitmaps = Count{grid.cells()} * dense_tiles,
          .dense_values = bits_of(values) * (nnz - sparse)};
}

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
