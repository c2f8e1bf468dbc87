// COO <-> BLCO; see format.hpp.
#include "common/baselines/blco/format.hpp"

#include <algorithm>
#include <numeric>

#include "common/core/message.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/linear_index.hpp"
#include "common/tensor/operations.hpp"
#include "common/tensor/positions.hpp"

namespace retensor::blco {
namespace {

constexpr std::size_t kKeyBits = 64;

struct Bit {
  int mode, bit;
};

// The bits of the linear index from the lowest on: one of each mode in turn, short modes first.
std::vector<Bit> interleaved_bits(const Dims& dims) {
  const std::vector<int> modes = modes_by_length(dims);
  std::vector<Bit> bits;
  for (int bit = 0; bit < 32; ++bit)
    for (const int m : modes)
      if (bit < bits_for(dims[static_cast<std::size_t>(m)])) bits.push_back({m, bit});
  return bits;
}

// The nonzeros in the order of their linear indices.
std::vector<Count> order_of(const Coo& x, const std::vector<Bit>& bits) {
  std::vector<Count> order(x.nnz());
  std::iota(order.begin(), order.end(), Count{0});
  stable_sort_by_key(order, static_cast<int>(bits.size()), [&]<class Key>(Count p) {
    Key code = 0;
    for (std::size_t b = 0; b < bits.size(); ++b) {
      const Index index = x.indices[static_cast<std::size_t>(bits[b].mode)][p];
      code |= static_cast<Key>(index >> bits[b].bit & 1u) << b;
    }
    return code;
  });
  return order;
}

// Bits of a mode that the key holds; the rest belongs to the block.
void lay_out_fields(Blco& f, const std::vector<Bit>& bits) {
  f.width.assign(f.dims.size(), 0);
  f.shift.assign(f.dims.size(), 0);
  for (std::size_t b = 0; b < std::min(bits.size(), kKeyBits); ++b)
    ++f.width[static_cast<std::size_t>(bits[b].mode)];
  for (std::size_t m = 1; m < f.dims.size(); ++m) f.shift[m] = f.shift[m - 1] + f.width[m - 1];
}

// The low bits of a nonzero's coordinates, side by side.
std::uint64_t key_of(const Blco& f, const Coo& x, Count nonzero) {
  std::uint64_t key = 0;
  for (std::size_t m = 0; m < f.dims.size(); ++m)
    if (f.width[m] > 0)
      key |= std::uint64_t{field(x.indices[m][nonzero], f.width[m], 0)} << f.shift[m];
  return key;
}

// Where blocks begin: at a change above the bits that keys hold, and the end.
std::vector<Count> block_bounds(const Blco& f, const Coo& x, const std::vector<Count>& order,
                                bool one_block) {
  const auto changes = [&](Count p) {
    for (std::size_t m = 0; m < f.dims.size(); ++m) {
      const std::uint64_t before = x.indices[m][order[p - 1]], here = x.indices[m][order[p]];
      if (before >> f.width[m] != here >> f.width[m]) return true;
    }
    return false;
  };
  return positions_where(order.size() + 1, [&](Count p) {
    return p == 0 || p == order.size() || (!one_block && changes(p));
  });
}

// Of each block, from its first nonzero.
void set_bases(Blco& f, const Coo& x, const std::vector<Count>& order) {
  f.base.resize(f.dims.size());
  for (std::size_t m = 0; m < f.dims.size(); ++m)
    for (Count b = 0; b < f.blocks(); ++b) {
      const Index first = x.indices[m][order[f.block_start[b]]];
      f.base[m].push_back(first - field(first, f.width[m], 0));
    }
}

}  // namespace

int sorted_bits(const Coo& tensor) {
  int bits = bits_for(tensor.nnz());
  for (const auto length : tensor.dims) bits += bits_for(length);
  return bits;
}

Blco to_blco(const Coo& tensor) {
  if (const int bits = sorted_bits(tensor); bits > 128)
    throw input_error("BLCO: found {} bits of index and position, expected at most 128", bits);
  const auto bits = interleaved_bits(tensor.dims);
  const auto order = order_of(tensor, bits);
  Blco f;
  f.dims = tensor.dims;
  lay_out_fields(f, bits);
  f.key.resize(tensor.nnz());
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < f.key.size(); ++p) f.key[p] = key_of(f, tensor, order[p]);
  f.values = values_at(tensor.values, tensor.nnz(), [&](Count p) { return order[p]; });
  f.block_start = block_bounds(f, tensor, order, bits.size() <= kKeyBits);
  set_bases(f, tensor, order);
  return f;
}

Count Blco::bytes() const {
  return key.size() * sizeof(std::uint64_t) + values.bytes() + block_start.size() * sizeof(Count) +
         base.size() * blocks() * sizeof(Index);
}

Coo Blco::to_coo() const {
  Coo x(dims, values.dtype(), nnz());
  x.values = values;
  for (Count b = 0; b < blocks(); ++b)
    for (Count p = block_start[b]; p < block_start[b + 1]; ++p)
      for (std::size_t m = 0; m < dims.size(); ++m)
        x.indices[m][p] = base[m][b] + field(key[p], width[m], shift[m]);
  return x;
}

void Blco::check() const {
  if (block_start.empty() || block_start.front() != 0 || block_start.back() != nnz() ||
      values.size() != nnz())
    throw input_error("BLCO: block starts, keys and values disagree in number");
  for (Count b = 0; b < blocks(); ++b)
    if (block_start[b] >= block_start[b + 1]) throw input_error("BLCO: block {} is empty", b);
  Blco laid_out;
  laid_out.dims = dims;
  lay_out_fields(laid_out, interleaved_bits(dims));
  if (width != laid_out.width || shift != laid_out.shift)
    throw input_error("BLCO: the fields of a key are not those of the modes");
  if (base.size() != dims.size())
    throw input_error("BLCO: found bases of {} modes, expected {}", base.size(), order());
  for (std::size_t m = 0; m < dims.size(); ++m)
    if (base[m].size() != blocks())
      throw input_error("BLCO: mode {} has {} bases, expected {}", m, base[m].size(), blocks());
  to_coo().check();
}

}  // namespace retensor::blco
