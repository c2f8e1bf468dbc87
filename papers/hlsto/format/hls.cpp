#include "papers/hlsto/format/hls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "common/core/error.hpp"

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

}  // namespace

Grid::Grid(const Dims& dims, const Options& options)
    : edge_bits_(options.edge_bits),
      tiled_(tiled_of(dims, options)),
      kept_(kept_of(dims.size(), tiled_)),
      nonzero_index_(index_of_nonzeros(dims)),
      tile_index_(index_of_tiles(dims, tiled_, kept_, edge_bits_)) {}

Count HlsShape::index_bytes() const {
  const auto words = [](const LinearIndex& index) {
    return static_cast<Count>(words_for(index.bits()));
  };
  return dense_tiles_ * (words(grid.tile_index()) * sizeof(std::uint32_t) +
                         grid.bitmap_words() * sizeof(std::uint64_t)) +
         (dense_tiles_ + 1) * sizeof(Count) +
         sparse_nonzeros_ * words(grid.nonzero_index()) * sizeof(std::uint32_t);
}

Count HlsShape::bytes() const {
  return index_bytes() + nnz() * bits_of(options.values) / 8;
}

void HlsShape::set_counts(Count dense_tiles, Count dense_nonzeros, Count sparse_nonzeros) {
  dense_tiles_ = dense_tiles;
  dense_nonzeros_ = dense_nonzeros;
  sparse_nonzeros_ = sparse_nonzeros;
}

Hls::Hls(const HlsShape& shape)
    : HlsShape(shape),
      tile_index(grid.tile_index().bits(), dense_tiles()),
      bitmap(dense_tiles() * grid.bitmap_words()),
      value_start(dense_tiles() + 1),
      dense_values(options.values, dense_nonzeros()),
      nonzero_index(grid.nonzero_index().bits(), sparse_nonzeros()),
      sparse_values(options.values, sparse_nonzeros()) {}

void Grid::decode(Uint128 tile, Index cell, std::span<Index> index) const {
  for (int k = 0; k < kTiledModes; ++k)
    index[at(tiled_[at(k)])] = origin(tile, k) + within(cell, k);
  for (std::size_t k = 0; k < kept_.size(); ++k)
    index[at(kept_[k])] = origin(tile, kTiledModes + static_cast<int>(k));
}

Coo Hls::to_coo() const {
  Coo tensor(dims, DType::f32, nnz());
  const auto values = tensor.values.as<float>();
  std::array<Index, kHighestOrder> index{};
  Count entry = 0;
  for (Count t = 0; t < dense_tiles(); ++t) {
    const auto tile = tile_index.at(t);
    Count value = value_start[t];
    for (Index cell = 0; cell < grid.cells(); ++cell) {
      if ((bitmap[t * grid.bitmap_words() + cell / 64] >> (cell % 64) & 1) == 0) continue;
      grid.decode(tile, cell, index);
      for (std::size_t m = 0; m < dims.size(); ++m) tensor.indices[m][entry] = index[m];
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
  const Count dense = hls.dense_tiles();
  if (hls.value_start.size() != dense + 1 || hls.value_start.front() != 0 ||
      hls.value_start.back() != hls.dense_values.size() || hls.tile_index.size() != dense ||
      hls.bitmap.size() != dense * hls.grid.bitmap_words())
    broken(fmt::format("arrays of {} tile indices, {} bitmap words, {} values for {} tiles",
                       hls.tile_index.size(), hls.bitmap.size(), hls.dense_values.size(), dense));
  if (hls.nonzero_index.size() != hls.sparse_nonzeros() ||
      hls.sparse_values.size() != hls.sparse_nonzeros())
    broken(fmt::format("{} linear indices and {} values for {} sparse nonzeros",
                       hls.nonzero_index.size(), hls.sparse_values.size(), hls.sparse_nonzeros()));
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
