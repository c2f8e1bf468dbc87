// COO -> BCB: nonzeros sorted by block and cell, then every block is one thread's.
#include "papers/bcb_sptc/format/bcb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "common/core/error.hpp"
#include "common/formats/tiled_entries.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::bcb_sptc {
namespace {

std::size_t at(int k) {
  return static_cast<std::size_t>(k);
}

[[noreturn]] void refuse(const std::string& what) {
  throw InputError("BCB: " + what);
}

std::vector<int> checked_edges(const Dims& dims, const Options& options) {
  const int order = static_cast<int>(dims.size());
  if (order < 1 || order > kMaxOrder)
    refuse(fmt::format("found a tensor of order {}, expected 1 to {}", order, kMaxOrder));
  if (options.edge_bits.empty()) return default_edge_bits(order);
  if (options.edge_bits.size() != dims.size())
    refuse(fmt::format("found {} edges for a tensor of order {}", options.edge_bits.size(), order));
  int bits = 0;
  for (const int edge : options.edge_bits) {
    if (edge < 0 || edge > kMostBlockBits)
      refuse(fmt::format("found an edge of 2^{}, expected 2^0 to 2^{}", edge, kMostBlockBits));
    bits += edge;
  }
  if (bits > kMostBlockBits)
    refuse(fmt::format("found blocks of 2^{} cells, expected at most 2^{}", bits, kMostBlockBits));
  return options.edge_bits;
}

std::vector<int> checked_modes(const Dims& dims, const Options& options) {
  const int order = static_cast<int>(dims.size());
  if (options.leading < 0 || options.leading > order)
    refuse(fmt::format("found {} leading modes of {}", options.leading, order));
  auto modes = options.modes.empty() ? natural_order(order) : options.modes;
  auto sorted = modes;
  std::ranges::sort(sorted);
  if (sorted != natural_order(order))
    refuse(fmt::format("found {} modes in an order that is no permutation of the {} of the tensor",
                       options.modes.size(), order));
  return modes;
}

Dims lengths_in_blocks(const Dims& dims, const std::vector<int>& edge_bits) {
  Dims lengths = dims;
  for (std::size_t m = 0; m < dims.size(); ++m)
    lengths[m] = (dims[m] + (std::uint64_t{1} << edge_bits[m]) - 1) >> edge_bits[m];
  return lengths;
}

Dims edges_of(const std::vector<int>& edge_bits) {
  Dims edges;
  for (const int bits : edge_bits) edges.push_back(std::uint64_t{1} << bits);
  return edges;
}

/// Bits of the fields from `leading` on.
int trailing_bits(const LinearIndex& index, int leading) {
  int bits = 0;
  for (int k = leading; k < static_cast<int>(index.modes().size()); ++k) bits += index.width(k);
  return bits;
}

}  // namespace

void shrink(std::vector<int>& edge_bits, std::span<const int> modes, int bits) {
  const auto total = [&] {
    int sum = 0;
    for (const int m : modes) sum += edge_bits[at(m)];
    return sum;
  };
  while (total() > bits) {
    int longest = modes.front();
    for (const int m : modes)
      if (edge_bits[at(m)] >= edge_bits[at(longest)]) longest = m;
    --edge_bits[at(longest)];
  }
}

std::vector<int> default_edge_bits(int order) {
  std::vector<int> bits(at(order), kEdgeBits);
  shrink(bits, natural_order(order), kBlockBits);
  return bits;
}

Grid::Grid(const Dims& dims, const Options& options)
    : edge_bits_(checked_edges(dims, options)),
      modes_(checked_modes(dims, options)),
      leading_(options.leading),
      block_index_(lengths_in_blocks(dims, edge_bits_), modes_),
      cell_index_(edges_of(edge_bits_), modes_),
      trailing_block_bits_(bcb_sptc::trailing_bits(block_index_, leading_)),
      trailing_cell_bits_(bcb_sptc::trailing_bits(cell_index_, leading_)) {}

Bcb::Bcb(const Dims& mode_lengths, const Options& given, Count blocks, Count nonzeros)
    : dims(mode_lengths),
      options(given),
      grid(mode_lengths, given),
      block_index(grid.block_index().bits(), blocks),
      bitmap(blocks * grid.bitmap_words()),
      value_start(blocks + 1),
      values(given.values, nonzeros) {}

Count Bcb::bytes() const {
  return block_index.bytes() + bitmap.size() * sizeof(std::uint64_t) +
         value_start.size() * sizeof(Count) + values.bytes();
}

Coo Bcb::to_coo() const {
  Coo tensor(dims, DType::f32, nnz());
  const auto to = tensor.values.as<float>();
#pragma omp parallel for schedule(static)
  for (Count b = 0; b < blocks(); ++b) {
    const auto block = block_index.at(b);
    const auto words = bitmap_of(b);
    Count entry = value_start[b];
    for (Count w = 0; w < words.size(); ++w)
      for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1, ++entry) {
        const auto cell = static_cast<Index>(w * 64 + static_cast<Count>(std::countr_zero(rest)));
        for (int k = 0; k < order(); ++k)
          tensor.indices[at(grid.modes()[at(k)])][entry] =
              grid.origin(block, k) | grid.within(cell, k);
        to[entry] = values.at(entry);
      }
  }
  return tensor;
}

namespace {

void check_lengths(const Bcb& bcb) {
  if (bcb.value_start.empty()) refuse("found no offsets of values, expected one and one a block");
  const Count blocks = bcb.blocks();
  if (bcb.block_index.size() != blocks || bcb.bitmap.size() != blocks * bcb.grid.bitmap_words())
    refuse(fmt::format("found {} block indices and {} bitmap words for {} blocks of {} words",
                       bcb.block_index.size(), bcb.bitmap.size(), blocks, bcb.grid.bitmap_words()));
  if (bcb.value_start.front() != 0 || bcb.value_start.back() != bcb.nnz())
    refuse(fmt::format("found offsets from {} to {} for {} values", bcb.value_start.front(),
                       bcb.value_start.back(), bcb.nnz()));
}

void check_bits(const Bcb& bcb, Count b) {
  const auto words = bcb.bitmap_of(b);
  Count bits = 0;
  for (const auto word : words) bits += static_cast<Count>(std::popcount(word));
  if (bits == 0) refuse(fmt::format("block {} has no bit", b));
  if (bcb.grid.cells() < 64 && words[0] >> bcb.grid.cells() != 0)
    refuse(fmt::format("block {} has a bit beyond its {} cells", b, bcb.grid.cells()));
  const auto begin = bcb.value_start[b], end = bcb.value_start[b + 1];
  if (end < begin || end - begin != bits)
    refuse(fmt::format("block {} has {} bits, its values go from {} to {}", b, bits, begin, end));
}

}  // namespace

void Bcb::check() const {
  check_lengths(*this);
  for (Count b = 0; b < blocks(); ++b) {
    if (b > 0 && block_index.at(b) <= block_index.at(b - 1))
      refuse(fmt::format("the index of block {} is not above that of the block before", b));
    check_bits(*this, b);
  }
  to_coo().check();
}

StorageBits storage_bits(const Grid& grid, ValueType values, Count blocks, Count nnz) {
  StorageBits bits;
  bits.block_index = static_cast<Count>(grid.block_index().bits());
  bits.bitmap = grid.cells();
  bits.indices = bits.block_index * blocks;
  bits.bitmaps = bits.bitmap * blocks;
  bits.values = bits_of(values) * nnz;
  bits.coo = 32 * static_cast<Count>(grid.order()) * nnz + 32 * nnz;
  return bits;
}

std::string layout_text(const Bcb& bcb) {
  std::string text;
  for (Count b = 0; b < bcb.blocks(); ++b) {
    const auto& index = bcb.grid.block_index();
    for (int k = 0; k < bcb.order(); ++k)
      if (const int width = index.width(k); width > 0)
        text += fmt::format("{:0{}b} ", index.decode(bcb.block_index.at(b), k), width);
    for (Index cell = 0; cell < bcb.grid.cells(); ++cell)
      text += (bcb.bitmap_of(b)[cell / 64] >> (cell % 64) & 1) != 0 ? '1' : '0';
    for (Count v = bcb.value_start[b]; v < bcb.value_start[b + 1]; ++v)
      text += fmt::format(" {:g}", bcb.values.at(v));
    text += "; ";
  }
  return text.substr(0, text.empty() ? 0 : text.size() - 2);
}

namespace {

template <class Key>
Bcb filled(const Coo& tensor, const Options& options, const TiledEntries<Key>& entries) {
  const auto starts = entries.tile_starts();
  const Count blocks = starts.size() - 1;
  if (blocks > std::numeric_limits<Index>::max())
    throw input_error("BCB: found {} blocks, expected less than 2^32", blocks);
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
    throw input_error("BCB: found values in double precision, expected single");
  const int bits = Grid(tensor.dims, options).key_bits() + bits_for(tensor.nnz());
  if (bits > 128)
    throw input_error("BCB: block, cell and position take {} bits, expected at most 128", bits);
}

Bcb to_bcb(const Coo& tensor, const Options& options) {
  check_keys(tensor, options);
  const Grid grid(tensor.dims, options);
  return with_tiled_entries(tensor, grid, [&]<class Key>(const TiledEntries<Key>& entries) {
    return filled(tensor, options, entries);
  });
}

}  // namespace retensor::bcb_sptc
