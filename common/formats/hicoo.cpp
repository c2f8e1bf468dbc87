// COO <-> HiCOO, gHiCOO, sHiCOO.
//
// Nonzeros are first sorted by their coordinates, then stably by the Morton code of their block, so
// the order inside a block stays lexicographic. A Morton code interleaves the bits of the block
// indices, the highest bit first.
#include "common/formats/hicoo.hpp"

#include <algorithm>
#include <bit>

#include "common/core/message.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/operations.hpp"

namespace retensor {
namespace {

// Interleaves bits [low, high) of the block indices of one nonzero.
template <class Key, class BlockIndex>
Key morton(std::size_t modes, int low, int high, const BlockIndex& block_index) {
  Key code{};
  for (int bit = high - 1; bit >= low; --bit)
    for (std::size_t k = 0; k < modes; ++k) code = code << 1 | (block_index(k) >> bit & 1u);
  return code;
}

// Bits of the longest block index.
int code_width(const Dims& dims, const std::vector<int>& blocked, int block_bits) {
  int width = 0;
  for (const int m : blocked) {
    const std::uint64_t edge = std::uint64_t{1} << block_bits;
    width = std::max(width, bits_for((dims[static_cast<std::size_t>(m)] + edge - 1) / edge));
  }
  return width;
}

void check_options(const Dims& dims, int block_bits, const std::vector<int>& plain) {
  if (block_bits < 0 || block_bits > 8)
    throw input_error("block edge 2^{} does not fit 8-bit element indices, expected 2^0 to 2^8",
                      block_bits);
  for (const int m : plain)
    if (m < 0 || m >= static_cast<int>(dims.size()))
      throw input_error("plain mode {} is not a mode of order {}", m + 1, dims.size());
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
  const auto modes = h.blocked.size();
  if (modes == 0) return;
  // Codes of more bits than a key holds are sorted in parts, the least significant first.
  const int most = (128 - bits_for(permutation.size())) / static_cast<int>(modes);
  for (int low = 0; low < width; low += most) {
    const int high = std::min(width, low + most);
    stable_sort_by_key(
        permutation, (high - low) * static_cast<int>(modes), [&]<class Key>(Count x) {
          return morton<Key>(modes, low, high, [&](std::size_t k) {
            return indices[static_cast<std::size_t>(h.blocked[k])][x] >> h.block_bits;
          });
        });
  }
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
          coo.indices[blocked[k]][at] = (block_index[k][b] << block_bits) | element[k][p];
        for (std::size_t k = 0; k < plain.size(); ++k)
          coo.indices[plain[k]][at] = plain_index[k][p];
        std::uint64_t rest = d;
        for (std::size_t k = dense.size(); k-- > 0; rest /= dims[dense[k]])
          coo.indices[dense[k]][at] = static_cast<Index>(rest % dims[dense[k]]);
      }
  return coo;
}

void Hicoo::check() const {
  std::vector<int> modes;
  for (const auto* list : {&blocked, &plain, &dense}) {
    if (!std::is_sorted(list->begin(), list->end()))
      throw input_error("HiCOO: blocked, plain and dense modes must ascend");
    modes.insert(modes.end(), list->begin(), list->end());
  }
  std::sort(modes.begin(), modes.end());
  if (modes != natural_order(order()))
    throw input_error("HiCOO: every mode must be blocked, plain or dense");
  if (block_start.empty() || block_start.front() != 0)
    throw input_error("HiCOO: the first block must start at entry 0");
  if (block_index.size() != blocked.size() || element.size() != blocked.size() ||
      plain_index.size() != plain.size() || values.size() != entries() * dense_volume())
    throw input_error("HiCOO: array counts disagree with the modes and entries");
  for (std::size_t k = 0; k < blocked.size(); ++k)
    if (block_index[k].size() != blocks() || element[k].size() != entries())
      throw input_error("HiCOO: index arrays of mode {} have the wrong length", blocked[k] + 1);
  // The highest bit in which two blocks differ decides, at the same height that of the lower mode.
  const auto in_order = [&](Count b) {
    std::size_t mode = 0;
    int highest = 0;
    for (std::size_t k = 0; k < blocked.size(); ++k)
      if (const int bit = std::bit_width(block_index[k][b - 1] ^ block_index[k][b]);
          bit > highest) {
        highest = bit;
        mode = k;
      }
    return highest > 0 && block_index[mode][b - 1] < block_index[mode][b];
  };
  for (Count b = 0; b < blocks(); ++b) {
    if (block_start[b] >= block_start[b + 1]) throw input_error("HiCOO: block {} is empty", b);
    if (block_start[b + 1] > entries())
      throw input_error("HiCOO: block {} ends after the last entry", b);
    if (b > 0 && !in_order(b)) throw input_error("HiCOO: block {} breaks the Morton order", b);
    for (std::size_t k = 0; k < blocked.size(); ++k)
      for (Count p = block_start[b]; p < block_start[b + 1]; ++p) {
        const std::uint64_t index =
            (std::uint64_t{block_index[k][b]} << block_bits) | element[k][p];
        if (element[k][p] >> block_bits != 0 || index >= dims[blocked[k]])
          throw input_error("HiCOO: entry {} is out of range in mode {}", p, blocked[k] + 1);
      }
  }
  for (std::size_t k = 0; k < plain.size(); ++k)
    if (plain_index[k].size() != entries())
      throw input_error("HiCOO: the index array of mode {} has the wrong length", plain[k] + 1);
  to_coo().check();
}

}  // namespace retensor
