// COO <-> HiCOO, gHiCOO, sHiCOO.
//
// Nonzeros are first sorted by their coordinates, then stably by the Morton code of their block, so
// the order inside a block stays lexicographic. A Morton code interleaves the bits of the block
// indices, the highest bit first; codes take as many bits as the modes need, up to 8 x 32.
#include "common/formats/hicoo.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <boost/sort/sort.hpp>

#include "common/core/error.hpp"
#include "common/tensor/linear_index.hpp"
#include "common/tensor/operations.hpp"

namespace retensor {
namespace {

using WideKey = std::array<std::uint64_t, 4>;

template <class Key>
void append_bit(Key& key, bool bit) {
  key = static_cast<Key>((key << 1) | static_cast<Key>(bit));
}
void append_bit(WideKey& key, bool bit) {
  for (std::size_t w = 0; w + 1 < key.size(); ++w) key[w] = (key[w] << 1) | (key[w + 1] >> 63);
  key.back() = (key.back() << 1) | static_cast<std::uint64_t>(bit);
}

template <class Key>
struct Coded {
  Key code;
  Count nonzero;
};

// Interleaves the block indices of one nonzero; width is the longest block index in bits.
template <class Key, class BlockIndex>
Key morton(std::size_t modes, int width, const BlockIndex& block_index) {
  Key code{};
  for (int bit = width - 1; bit >= 0; --bit)
    for (std::size_t k = 0; k < modes; ++k) append_bit(code, ((block_index(k) >> bit) & 1u) != 0);
  return code;
}

int code_width(const Dims& dims, const std::vector<int>& blocked, int block_bits) {
  int width = 0;
  for (const int m : blocked) {
    const std::uint64_t edge = std::uint64_t{1} << block_bits;
    width = std::max(width, bits_for((dims[static_cast<std::size_t>(m)] + edge - 1) / edge));
  }
  return width;
}

template <class Key>
void sort_by_block(const std::vector<std::vector<Index>>& indices, const Hicoo& layout, int width,
                   std::vector<Count>& permutation) {
  std::vector<Coded<Key>> coded(permutation.size());
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < coded.size(); ++p) {
    const Count x = permutation[p];
    coded[p] = {morton<Key>(layout.blocked.size(), width,
                            [&](std::size_t k) {
                              return indices[static_cast<std::size_t>(layout.blocked[k])][x] >>
                                     layout.block_bits;
                            }),
                x};
  }
  boost::sort::parallel_stable_sort(
      coded.begin(), coded.end(),
      [](const Coded<Key>& a, const Coded<Key>& b) { return a.code < b.code; },
      static_cast<std::uint32_t>(omp_get_max_threads()));
  for (Count p = 0; p < coded.size(); ++p) permutation[p] = coded[p].nonzero;
}

void check_options(const Dims& dims, int block_bits, const std::vector<int>& plain) {
  if (block_bits < 0 || block_bits > 8)
    throw InputError(fmt::format(
        "block edge 2^{} does not fit 8-bit element indices, expected 2^0 to 2^8", block_bits));
  for (const int m : plain)
    if (m < 0 || m >= static_cast<int>(dims.size()))
      throw InputError(fmt::format("plain mode {} is not a mode of order {}", m + 1, dims.size()));
}

// Fills blocks and indices from nonzeros in block order; indices are per mode of the tensor.
void fill(Hicoo& h, const std::vector<std::vector<Index>>& indices,
          const std::vector<Count>& permutation) {
  const Count entries = permutation.size();
  const auto block_of = [&](std::size_t k, Count x) {
    return indices[static_cast<std::size_t>(h.blocked[k])][x] >> h.block_bits;
  };
  h.block_index.resize(h.blocked.size());
  h.element.assign(h.blocked.size(), std::vector<std::uint8_t>(entries));
  h.plain_index.assign(h.plain.size(), std::vector<Index>(entries));
  for (Count p = 0; p < entries; ++p) {
    bool new_block = p == 0;
    for (std::size_t k = 0; k < h.blocked.size() && !new_block; ++k)
      new_block = block_of(k, permutation[p]) != block_of(k, permutation[p - 1]);
    if (!new_block) continue;
    h.block_start.push_back(p);
    for (std::size_t k = 0; k < h.blocked.size(); ++k)
      h.block_index[k].push_back(block_of(k, permutation[p]));
  }
  h.block_start.push_back(entries);
  const Index mask = (Index{1} << h.block_bits) - 1;
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < entries; ++p) {
    for (std::size_t k = 0; k < h.blocked.size(); ++k)
      h.element[k][p] = static_cast<std::uint8_t>(
          indices[static_cast<std::size_t>(h.blocked[k])][permutation[p]] & mask);
    for (std::size_t k = 0; k < h.plain.size(); ++k)
      h.plain_index[k][p] = indices[static_cast<std::size_t>(h.plain[k])][permutation[p]];
  }
}

void sort_by_block(const std::vector<std::vector<Index>>& indices, const Hicoo& h,
                   std::vector<Count>& permutation) {
  const int width = code_width(h.dims, h.blocked, h.block_bits);
  const auto bits = static_cast<std::size_t>(width) * h.blocked.size();
  if (bits <= 64)
    sort_by_block<std::uint64_t>(indices, h, width, permutation);
  else if (bits <= 128)
    sort_by_block<Uint128>(indices, h, width, permutation);
  else
    sort_by_block<WideKey>(indices, h, width, permutation);
}

// The modes and block size of the result, without entries.
Hicoo layout_of(const Coo& tensor, const HicooOptions& options) {
  check_options(tensor.dims, options.block_bits, options.plain);
  Hicoo h;
  h.dims = tensor.dims;
  h.block_bits = options.block_bits;
  h.plain = options.plain;
  std::sort(h.plain.begin(), h.plain.end());
  for (int m = 0; m < tensor.order(); ++m)
    if (!std::binary_search(h.plain.begin(), h.plain.end(), m)) h.blocked.push_back(m);
  return h;
}

std::vector<Count> storage_order(const Coo& tensor, const Hicoo& layout, int first) {
  std::vector<int> inside_block = layout.blocked;
  std::stable_partition(inside_block.begin(), inside_block.end(),
                        [first](int m) { return m == first; });
  inside_block.insert(inside_block.end(), layout.plain.begin(), layout.plain.end());
  std::vector<Count> permutation = sort_permutation(tensor, inside_block);
  sort_by_block(tensor.indices, layout, permutation);
  return permutation;
}

}  // namespace

std::vector<Count> hicoo_order(const Coo& tensor, const HicooOptions& options) {
  return storage_order(tensor, layout_of(tensor, options), options.first);
}

Hicoo to_hicoo(const Coo& tensor, const HicooOptions& options) {
  Hicoo h = layout_of(tensor, options);
  const std::vector<Count> permutation = storage_order(tensor, h, options.first);
  fill(h, tensor.indices, permutation);
  h.values = tensor.values;
  h.values.visit([&]<class T>(Array<T>& v) {
    const auto old = tensor.values.as<T>();
    for (Count p = 0; p < v.size(); ++p) v[p] = old[permutation[p]];
  });
  return h;
}

Hicoo to_hicoo(const SemiSparseCoo& tensor, int block_bits) {
  check_options(tensor.dims, block_bits, {});
  Hicoo h;
  h.dims = tensor.dims;
  h.block_bits = block_bits;
  h.dense = tensor.dense_modes;
  h.blocked = tensor.sparse_modes();
  std::vector<std::vector<Index>> indices(h.dims.size());
  for (std::size_t k = 0; k < h.blocked.size(); ++k)
    indices[static_cast<std::size_t>(h.blocked[k])] = tensor.indices[k];

  // The fibers as a pattern of their own: sorted by coordinates, then by block.
  Coo pattern;
  for (std::size_t k = 0; k < h.blocked.size(); ++k) {
    pattern.dims.push_back(h.dims[static_cast<std::size_t>(h.blocked[k])]);
    pattern.indices.push_back(tensor.indices[k]);
  }
  pattern.values = Values(DType::f32, tensor.fibers());
  std::vector<Count> permutation = pattern.dims.empty()
                                       ? std::vector<Count>(tensor.fibers(), 0)
                                       : sort_permutation(pattern, natural_order(pattern.order()));
  sort_by_block(indices, h, permutation);
  fill(h, indices, permutation);
  h.values = tensor.values;
  const std::uint64_t volume = tensor.dense_volume();
  h.values.visit([&]<class T>(Array<T>& v) {
    const auto old = tensor.values.as<T>();
    for (Count p = 0; p < permutation.size(); ++p)
      std::copy_n(old.begin() + static_cast<std::ptrdiff_t>(permutation[p] * volume), volume,
                  v.begin() + static_cast<std::ptrdiff_t>(p * volume));
  });
  return h;
}

std::uint64_t Hicoo::dense_volume() const {
  std::uint64_t volume = 1;
  for (const int m : dense) volume *= dims[static_cast<std::size_t>(m)];
  return volume;
}

Count Hicoo::bytes() const {
  return block_start.size() * sizeof(Count) + blocked.size() * blocks() * sizeof(Index) +
         blocked.size() * entries() + plain.size() * entries() * sizeof(Index) + values.bytes();
}

Coo Hicoo::to_coo() const {
  const std::uint64_t volume = dense_volume();
  Coo coo(dims, values.dtype(), values.size());
  coo.values = values;
  for (Count b = 0; b < blocks(); ++b)
    for (Count p = block_start[b]; p < block_start[b + 1]; ++p)
      for (std::uint64_t d = 0; d < volume; ++d) {
        const Count at = p * volume + d;
        for (std::size_t k = 0; k < blocked.size(); ++k)
          coo.indices[static_cast<std::size_t>(blocked[k])][at] =
              (block_index[k][b] << block_bits) | element[k][p];
        for (std::size_t k = 0; k < plain.size(); ++k)
          coo.indices[static_cast<std::size_t>(plain[k])][at] = plain_index[k][p];
        std::uint64_t rest = d;
        for (std::size_t k = dense.size(); k-- > 0;) {
          const auto m = static_cast<std::size_t>(dense[k]);
          coo.indices[m][at] = static_cast<Index>(rest % dims[m]);
          rest /= dims[m];
        }
      }
  return coo;
}

void Hicoo::check() const {
  if (blocked.size() + plain.size() + dense.size() != dims.size())
    throw InputError("HiCOO: every mode must be blocked, plain or dense");
  if (block_start.empty() || block_start.front() != 0)
    throw InputError("HiCOO: the first block must start at entry 0");
  if (block_index.size() != blocked.size() || element.size() != blocked.size() ||
      plain_index.size() != plain.size() || values.size() != entries() * dense_volume())
    throw InputError("HiCOO: array counts disagree with the modes and entries");
  for (std::size_t k = 0; k < blocked.size(); ++k)
    if (block_index[k].size() != blocks() || element[k].size() != entries())
      throw InputError(
          fmt::format("HiCOO: index arrays of mode {} have the wrong length", blocked[k] + 1));
  const int width = code_width(dims, blocked, block_bits);
  const auto code = [&](Count b) {
    return morton<WideKey>(blocked.size(), width, [&](std::size_t k) { return block_index[k][b]; });
  };
  for (Count b = 0; b < blocks(); ++b) {
    if (block_start[b] >= block_start[b + 1])
      throw InputError(fmt::format("HiCOO: block {} is empty", b));
    if (b > 0 && !(code(b - 1) < code(b)))
      throw InputError(fmt::format("HiCOO: block {} breaks the Morton order", b));
    for (std::size_t k = 0; k < blocked.size(); ++k)
      for (Count p = block_start[b]; p < block_start[b + 1]; ++p) {
        const std::uint64_t index =
            (std::uint64_t{block_index[k][b]} << block_bits) | element[k][p];
        if (element[k][p] >> block_bits != 0 || index >= dims[static_cast<std::size_t>(blocked[k])])
          throw InputError(
              fmt::format("HiCOO: entry {} is out of range in mode {}", p, blocked[k] + 1));
      }
  }
  for (std::size_t k = 0; k < plain.size(); ++k)
    for (Count p = 0; p < plain_index[k].size(); ++p)
      if (plain_index[k].size() != entries() ||
          plain_index[k][p] >= dims[static_cast<std::size_t>(plain[k])])
        throw InputError(
            fmt::format("HiCOO: entry {} is out of range in mode {}", p, plain[k] + 1));
}

}  // namespace retensor
