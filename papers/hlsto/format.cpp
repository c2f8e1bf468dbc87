#include "papers/hlsto/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "common/core/error.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::hlsto {
namespace {

std::size_t at(int k) {
  return static_cast<std::size_t>(k);
}

std::vector<int> three_longest(const Dims& dims) {
  std::vector<int> modes(dims.size());
  std::iota(modes.begin(), modes.end(), 0);
  std::stable_sort(modes.begin(), modes.end(),
                   [&](int a, int b) { return dims[at(a)] > dims[at(b)]; });
  modes.resize(kTiledModes);
  std::sort(modes.begin(), modes.end());
  return modes;
}

std::vector<int> checked_tiled(const Dims& dims, const Options& options) {
  const int order = static_cast<int>(dims.size());
  if (order < kTiledModes || order > kHighestOrder)
    throw InputError(fmt::format("HLS: found a tensor of order {}, expected 3 to 5", order));
  if (options.edge_bits < 0 || options.edge_bits > 5)
    throw InputError(
        fmt::format("HLS: found tiles of edge 2^{}, expected 2^0 to 2^5", options.edge_bits));
  if (options.tiled.empty()) return three_longest(dims);
  const auto& modes = options.tiled;
  if (modes.size() != kTiledModes || modes.front() < 0 || modes.back() >= order ||
      std::adjacent_find(modes.begin(), modes.end(), std::greater_equal<>()) != modes.end())
    throw InputError(
        fmt::format("HLS: found {} tiled modes, expected three of the {} modes, ascending",
                    modes.size(), order));
  return modes;
}

std::array<int, kTiledModes> tiled_of(const Dims& dims, const Options& options) {
  std::array<int, kTiledModes> tiled{};
  std::ranges::copy(checked_tiled(dims, options), tiled.begin());
  return tiled;
}

std::vector<int> kept_of(std::size_t order, const std::array<int, kTiledModes>& tiled) {
  std::vector<int> kept;
  for (int m = 0; m < static_cast<int>(order); ++m)
    if (std::ranges::find(tiled, m) == tiled.end()) kept.push_back(m);
  return kept;
}

LinearIndex index_of_nonzeros(const Dims& dims) {
  std::vector<int> modes(dims.size());
  std::iota(modes.begin(), modes.end(), 0);
  return {dims, modes};
}

/// Over lengths in tiles for the tiled modes, which come first, and in indices for the kept ones.
LinearIndex index_of_tiles(const Dims& dims, const std::array<int, kTiledModes>& tiled,
                           const std::vector<int>& kept, int edge_bits) {
  const std::uint64_t edge = std::uint64_t{1} << edge_bits;
  Dims lengths;
  for (const int m : tiled) lengths.push_back((dims[at(m)] + edge - 1) / edge);
  for (const int m : kept) lengths.push_back(dims[at(m)]);
  std::vector<int> places(lengths.size());
  std::iota(places.begin(), places.end(), 0);
  return {lengths, places};
}

/// Where a nonzero lies: its tile and its cell.
class Placement {
 public:
  Placement(const Coo& tensor, const Grid& grid) : tensor_(tensor), grid_(grid) {
    for (const int m : grid.tiled()) modes_.push_back(m);
    for (const int m : grid.kept()) modes_.push_back(m);
  }

  Uint128 tile(Count x) const {
    std::array<Index, kHighestOrder> place{};
    for (std::size_t k = 0; k < modes_.size(); ++k)
      place[k] = index(k, x) >> (k < kTiledModes ? grid_.edge_bits() : 0);
    return grid_.tile_index().encode<Uint128>(std::span(place).first(modes_.size()));
  }
  Index cell(Count x) const {
    std::array<Index, kTiledModes> within{};
    for (std::size_t k = 0; k < kTiledModes; ++k) within[k] = index(k, x) & (grid_.edge() - 1);
    return grid_.cell(within);
  }
  int bits() const { return grid_.tile_index().bits() + 3 * grid_.edge_bits(); }
  /// Tile, then cell: a key of bits() bits, at most 128.
  template <class Key>
  Key key(Count x) const {
    return static_cast<Key>(static_cast<Key>(tile(x)) << (3 * grid_.edge_bits())) | cell(x);
  }

 private:
  Index index(std::size_t k, Count x) const { return tensor_.indices[at(modes_[k])][x]; }

  const Coo& tensor_;
  const Grid& grid_;
  std::vector<int> modes_;
};

/// Nonzeros by tile, then cell.
std::vector<Count> order_of(const Coo& tensor, const Placement& place) {
  std::vector<Count> order(tensor.nnz());
  std::iota(order.begin(), order.end(), Count{0});
  if (place.bits() + bits_for(tensor.nnz()) > 128)
    throw InputError(fmt::format("HLS: tile and cell take {} bits, too many to sort {} nonzeros by",
                                 place.bits(), tensor.nnz()));
  stable_sort_by_key(order, place.bits(), [&]<class Key>(Count x) { return place.key<Key>(x); });
  return order;
}

/// First place of each tile in the order, and the end.
std::vector<Count> tile_starts(const Placement& place, const std::vector<Count>& order) {
  std::vector<Count> starts;
  for (Count p = 0; p < order.size(); ++p)
    if (p == 0 || place.tile(order[p]) != place.tile(order[p - 1])) starts.push_back(p);
  starts.push_back(order.size());
  return starts;
}

bool has_duplicates(const Placement& place, const std::vector<Count>& order) {
  for (Count p = 1; p < order.size(); ++p)
    if (place.cell(order[p]) == place.cell(order[p - 1]) &&
        place.tile(order[p]) == place.tile(order[p - 1]))
      return true;
  return false;
}

/// A bitmap holds a coordinate once.
Coo without_duplicates(Coo tensor) {
  dedupe(tensor, Duplicates::sum);
  return tensor;
}

/// Where the tiles' data go: dense tiles and their values, sparse nonzeros.
struct Places {
  std::vector<Count> tile, value, sparse;  ///< of each non-empty tile, and the end
};

Places places_of(const std::vector<Count>& starts, Count threshold) {
  Places to;
  Count tile = 0, value = 0, sparse = 0;
  for (std::size_t t = 0; t < starts.size(); ++t) {
    to.tile.push_back(tile), to.value.push_back(value), to.sparse.push_back(sparse);
    if (t + 1 == starts.size()) break;
    const Count size = starts[t + 1] - starts[t];
    if (size >= threshold)
      ++tile, value += size;
    else
      sparse += size;
  }
  return to;
}

}  // namespace

Grid::Grid(const Dims& dims, const Options& options)
    : edge_bits_(options.edge_bits),
      tiled_(tiled_of(dims, options)),
      kept_(kept_of(dims.size(), tiled_)),
      nonzero_index_(index_of_nonzeros(dims)),
      tile_index_(index_of_tiles(dims, tiled_, kept_, edge_bits_)) {}

Count Hls::index_bytes() const {
  return tile_index.bytes() + bitmap.size() * sizeof(std::uint64_t) +
         value_start.size() * sizeof(Count) + nonzero_index.bytes();
}

Count Hls::bytes() const {
  return index_bytes() + dense_values.bytes() + sparse_values.bytes();
}

Hls to_hls(const Coo& tensor, const Options& options) {
  if (tensor.dtype() != DType::f32)
    throw InputError("HLS: found values in double precision, expected single");
  Hls hls{tensor.dims, options, Grid(tensor.dims, options), 0, {}, {}, {}, {}, {}, {}};
  const Grid& grid = hls.grid;
  const Placement place(tensor, grid);
  const auto order = order_of(tensor, place);
  if (has_duplicates(place, order)) return to_hls(without_duplicates(tensor), options);
  const auto starts = tile_starts(place, order);
  const auto to = places_of(starts, options.threshold);
  hls.tiles = starts.size() - 1;

  const Count dense = to.tile.back(), sparse = to.sparse.back();
  hls.tile_index = PackedIndices(grid.tile_index().bits(), dense);
  hls.bitmap.resize(dense * grid.bitmap_words());
  hls.value_start.resize(dense + 1);
  hls.value_start.back() = to.value.back();
  hls.dense_values = StoredValues(options.values, to.value.back());
  hls.nonzero_index = PackedIndices(grid.nonzero_index().bits(), sparse);
  hls.sparse_values = StoredValues(options.values, sparse);
  const auto values = tensor.values.as<float>();

  const auto store_dense = [&](Count t) {
    const Count tile = to.tile[t];
    hls.tile_index.set(tile, place.tile(order[starts[t]]));
    hls.value_start[tile] = to.value[t];
    for (Count p = starts[t]; p < starts[t + 1]; ++p) {
      const Index cell = place.cell(order[p]);
      hls.bitmap[tile * grid.bitmap_words() + cell / 64] |= std::uint64_t{1} << (cell % 64);
      hls.dense_values.set(to.value[t] + p - starts[t], values[order[p]]);
    }
  };
  const auto store_sparse = [&](Count t) {
    std::array<Index, kHighestOrder> coordinate{};
    const std::span<Index> whole = std::span(coordinate).first(tensor.dims.size());
    for (Count p = starts[t]; p < starts[t + 1]; ++p) {
      for (std::size_t m = 0; m < whole.size(); ++m) whole[m] = tensor.indices[m][order[p]];
      const Count entry = to.sparse[t] + p - starts[t];
      hls.nonzero_index.set(entry, grid.nonzero_index().encode<Uint128>(whole));
      hls.sparse_values.set(entry, values[order[p]]);
    }
  };
#pragma omp parallel for schedule(dynamic, 256)
  for (Count t = 0; t < hls.tiles; ++t) {
    if (to.tile[t + 1] > to.tile[t])
      store_dense(t);
    else
      store_sparse(t);
  }
  return hls;
}

std::vector<Count> tile_sizes(const Coo& tensor, const Grid& grid) {
  const Placement place(tensor, grid);
  const auto starts = tile_starts(place, order_of(tensor, place));
  std::vector<Count> sizes(starts.size() - 1);
  for (std::size_t t = 0; t < sizes.size(); ++t) sizes[t] = starts[t + 1] - starts[t];
  return sizes;
}

Coo Hls::to_coo() const {
  Coo tensor(dims, DType::f32, nnz());
  const auto values = tensor.values.as<float>();
  Count entry = 0;
  for (Count t = 0; t < dense_tiles(); ++t) {
    const auto tile = tile_index.at(t);
    Count value = value_start[t];
    for (Index cell = 0; cell < grid.cells(); ++cell) {
      if ((bitmap[t * grid.bitmap_words() + cell / 64] >> (cell % 64) & 1) == 0) continue;
      for (int k = 0; k < kTiledModes; ++k)
        tensor.indices[at(grid.tiled()[at(k)])][entry] =
            grid.origin(tile, k) + grid.within(cell, k);
      for (std::size_t k = 0; k < grid.kept().size(); ++k)
        tensor.indices[at(grid.kept()[k])][entry] =
            grid.origin(tile, kTiledModes + static_cast<int>(k));
      values[entry++] = dense_values.at(value++);
    }
  }
  for (Count x = 0; x < sparse_nonzeros(); ++x, ++entry) {
    for (int m = 0; m < static_cast<int>(dims.size()); ++m)
      tensor.indices[at(m)][entry] = grid.nonzero_index().decode(nonzero_index.at(x), m);
    values[entry] = sparse_values.at(x);
  }
  return tensor;
}

namespace {

[[noreturn]] void broken(const std::string& what) {
  throw InputError("HLS: " + what);
}

void check_lengths(const Hls& hls) {
  const Count dense = hls.value_start.empty() ? 0 : hls.dense_tiles();
  if (hls.value_start.empty() || hls.value_start.front() != 0 ||
      hls.value_start.back() != hls.dense_values.size() || hls.tile_index.size() != dense ||
      hls.bitmap.size() != dense * hls.grid.bitmap_words())
    broken(fmt::format("arrays of {} tile indices, {} bitmap words, {} values for {} tiles",
                       hls.tile_index.size(), hls.bitmap.size(), hls.dense_values.size(), dense));
  if (hls.nonzero_index.size() != hls.sparse_nonzeros())
    broken(fmt::format("{} linear indices for {} sparse nonzeros", hls.nonzero_index.size(),
                       hls.sparse_nonzeros()));
}

void check_tile(const Hls& hls, Count t) {
  if (t > 0 && hls.tile_index.at(t) <= hls.tile_index.at(t - 1))
    broken(fmt::format("the index of tile {} is not above that of the tile before", t));
  Count bits = 0;
  const Count words = hls.grid.bitmap_words();
  for (Count w = t * words; w < (t + 1) * words; ++w)
    bits += static_cast<Count>(std::popcount(hls.bitmap[w]));
  const Count values = hls.value_start[t + 1] - hls.value_start[t];
  if (hls.value_start[t + 1] < hls.value_start[t] || bits != values)
    broken(fmt::format("tile {} has {} bits and {} values", t, bits, values));
  if (bits < hls.options.threshold)
    broken(fmt::format("tile {} has {} nonzeros, a dense one has at least {}", t, bits,
                       hls.options.threshold));
}

/// The tile of each sparse nonzero must be below the threshold, dense tiles or not.
void check_sparse_tiles(const Hls& hls, const Coo& tensor) {
  const auto sizes = tile_sizes(tensor, hls.grid);
  const auto dense =
      std::ranges::count_if(sizes, [&](Count n) { return n >= hls.options.threshold; });
  if (static_cast<Count>(dense) != hls.dense_tiles())
    broken(fmt::format("{} tiles reach the threshold of {} nonzeros, {} are dense", dense,
                       hls.options.threshold, hls.dense_tiles()));
  if (sizes.size() != hls.tiles)
    broken(fmt::format("{} non-empty tiles, {} are counted", sizes.size(), hls.tiles));
}

}  // namespace

void Hls::check() const {
  check_lengths(*this);
  for (Count t = 0; t < dense_tiles(); ++t) check_tile(*this, t);
  for (Count x = 1; x < sparse_nonzeros(); ++x)
    if (nonzero_index.at(x) == nonzero_index.at(x - 1))
      broken(fmt::format("sparse nonzero {} stands twice", x));
  const Coo tensor = to_coo();
  tensor.check();
  check_sparse_tiles(*this, tensor);
}

namespace {

std::string binary_text(const LinearIndex& index, Uint128 key) {
  std::string text;
  for (int k = 0; k < static_cast<int>(index.modes().size()); ++k)
    if (const int width = index.width(k); width > 0)
      text += fmt::format(" {:0{}b}", index.decode(key, k), width);
  return text;
}

}  // namespace

std::string layout_text(const Hls& hls) {
  std::string text;
  for (Count t = 0; t < hls.dense_tiles(); ++t) {
    text += fmt::format("D{}, ", binary_text(hls.grid.tile_index(), hls.tile_index.at(t)));
    for (Index cell = 0; cell < hls.grid.cells(); ++cell)
      text +=
          (hls.bitmap[t * hls.grid.bitmap_words() + cell / 64] >> (cell % 64) & 1) != 0 ? '1' : '0';
    text += ',';
    for (Count v = hls.value_start[t]; v < hls.value_start[t + 1]; ++v)
      text += fmt::format(" {:g}", hls.dense_values.at(v));
    text += "; ";
  }
  for (Count x = 0; x < hls.sparse_nonzeros(); ++x)
    text +=
        fmt::format("S{}, {:g}; ", binary_text(hls.grid.nonzero_index(), hls.nonzero_index.at(x)),
                    hls.sparse_values.at(x));
  return text.substr(0, text.empty() ? 0 : text.size() - 2);
}

StorageBits storage_bits(const Grid& grid, ValueType values, Count nnz, Count sparse,
                         Count dense_tiles) {
  StorageBits bits;
  bits.sparse_index = static_cast<Count>(grid.nonzero_index().bits()) * sparse;
  bits.sparse_values = bits_of(values) * sparse;
  bits.tile_index = static_cast<Count>(grid.tile_index().bits()) * dense_tiles;
  bits.bitmaps = Count{grid.cells()} * dense_tiles;
  bits.dense_values = bits_of(values) * (nnz - sparse);
  return bits;
}

}  // namespace retensor::hlsto
