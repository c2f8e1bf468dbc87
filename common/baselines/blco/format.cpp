// COO <-> BLCO; see format.hpp.
#include "common/baselines/blco/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/sort/sort.hpp>
#include <numeric>

#include "common/core/error.hpp"
#include "common/tensor/linear_index.hpp"

namespace retensor::blco {
namespace {

constexpr int kKeyBits = 64;

struct Bit {
  int mode, bit;
};

// The bits of the linear index from the lowest on: one of each mode in turn, short modes first.
std::vector<Bit> interleaved_bits(const Dims& dims) {
  std::vector<int> modes(dims.size());
  std::iota(modes.begin(), modes.end(), 0);
  const auto length = [&](int m) { return dims[static_cast<std::size_t>(m)]; };
  std::stable_sort(modes.begin(), modes.end(), [&](int a, int b) { return length(a) < length(b); });
  std::vector<Bit> bits;
  for (int bit = 0; bit < 32; ++bit)
    for (const int m : modes)
      if (bit < bits_for(length(m))) bits.push_back({m, bit});
  if (bits.size() > 128)
    throw InputError(fmt::format("BLCO: found {} index bits, expected at most 128", bits.size()));
  return bits;
}

struct Coded {
  Uint128 code;
  Count nonzero;
};

std::vector<Coded> sorted_codes(const Coo& x, const std::vector<Bit>& bits) {
  std::vector<Coded> codes(x.nnz());
  const auto n = static_cast<std::int64_t>(codes.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    const auto p = static_cast<Count>(i);
    Uint128 code = 0;
    for (std::size_t b = 0; b < bits.size(); ++b) {
      const Index index = x.indices[static_cast<std::size_t>(bits[b].mode)][p];
      code |= static_cast<Uint128>(index >> bits[b].bit & 1u) << b;
    }
    codes[p] = {code, p};
  }
  boost::sort::block_indirect_sort(codes.begin(), codes.end(), [](const Coded& a, const Coded& b) {
    return a.code != b.code ? a.code < b.code : a.nonzero < b.nonzero;
  });
  return codes;
}

// Bits of a mode that the key holds; the rest belongs to the block.
void lay_out_fields(Blco& f, const std::vector<Bit>& bits) {
  f.width.assign(f.dims.size(), 0);
  f.shift.assign(f.dims.size(), 0);
  for (std::size_t b = 0; b < std::min<std::size_t>(bits.size(), kKeyBits); ++b)
    ++f.width[static_cast<std::size_t>(bits[b].mode)];
  for (std::size_t m = 1; m < f.dims.size(); ++m) f.shift[m] = f.shift[m - 1] + f.width[m - 1];
}

Index field(std::uint64_t key, int width, int shift) {
  return width == 0 ? 0 : static_cast<Index>(key >> shift & ((std::uint64_t{1} << width) - 1));
}

}  // namespace

Blco to_blco(const Coo& tensor) {
  const auto bits = interleaved_bits(tensor.dims);
  const auto codes = sorted_codes(tensor, bits);
  Blco f;
  f.dims = tensor.dims;
  f.values = Values(tensor.dtype(), tensor.nnz());
  f.base.resize(f.dims.size());
  lay_out_fields(f, bits);
  const auto block_of = [](Uint128 code) { return static_cast<std::uint64_t>(code >> kKeyBits); };
  for (Count p = 0; p < codes.size(); ++p) {
    const Count from = codes[p].nonzero;
    const bool fresh = p == 0 || block_of(codes[p].code) != block_of(codes[p - 1].code);
    if (fresh) f.block_start.push_back(p);
    std::uint64_t key = 0;
    for (std::size_t m = 0; m < f.dims.size(); ++m) {
      const Index index = tensor.indices[m][from];
      const Index low = field(index, f.width[m], 0);
      if (f.width[m] > 0) key |= static_cast<std::uint64_t>(low) << f.shift[m];
      if (fresh) f.base[m].push_back(index - low);
    }
    f.key.push_back(key);
    f.values.set(p, tensor.values.at(from));
  }
  f.block_start.push_back(codes.size());
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
    throw InputError("BLCO: block starts, keys and values disagree in number");
  for (Count b = 0; b < blocks(); ++b)
    if (block_start[b] >= block_start[b + 1])
      throw InputError(fmt::format("BLCO: block {} is empty", b));
  for (std::size_t m = 0; m < dims.size(); ++m)
    if (base[m].size() != blocks())
      throw InputError(
          fmt::format("BLCO: mode {} has {} bases, expected {}", m, base[m].size(), blocks()));
  to_coo().check();
}

}  // namespace retensor::blco
