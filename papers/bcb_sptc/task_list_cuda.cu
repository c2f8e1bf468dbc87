// The steps of the task list; task_list_cuda.cuh has the algorithm.
#include "papers/bcb_sptc/task_list_cuda.cuh"

#include <algorithm>
#include <limits>
#include <string>

#include "common/core/error.hpp"
#include "common/tensor/linear_index.hpp"

namespace retensor::bcb_sptc {
namespace {

constexpr std::uint32_t kNoGroup = std::numeric_limits<std::uint32_t>::max();

/// Block indices in their two parts.
struct Indices {
  explicit Indices(const DeviceBcb& bcb) : data(bcb.block_index.data()), words(bcb.index_words()) {
    const auto& index = bcb.grid.block_index();
    for (int k = bcb.grid.leading(); k < bcb.grid.order(); ++k) trailing_bits += index.width(k);
  }
  __host__ __device__ Uint128 leading(Count b) const {
    return trailing_bits == 128 ? 0 : load_index(data, words, b) >> trailing_bits;
  }
  __host__ __device__ Uint128 trailing(Count b) const {
    const Uint128 index = load_index(data, words, b);
    return trailing_bits == 128 ? index : index & ((Uint128{1} << trailing_bits) - 1);
  }

  const std::uint32_t* data;
  int words, trailing_bits = 0;
};

struct BeginsLeading {
  Indices indices;
  __host__ __device__ bool operator()(std::uint32_t b) const {
    return b == 0 || indices.leading(b) != indices.leading(b - 1);
  }
};

template <class Key>
struct BeginsKey {
  const Key* keys;
  __host__ __device__ bool operator()(std::uint32_t p) const {
    return p == 0 || keys[p] != keys[p - 1];
  }
};

void set_element(Buffer<std::uint32_t>& to, Count p, Count x) {
  const auto value = static_cast<std::uint32_t>(x);
  RETENSOR_CUDA_CHECK(cudaMemcpy(to.data() + p, &value, sizeof(value), cudaMemcpyHostToDevice));
}

template <class Key>
__global__ void trailing_keys(Count n, Indices indices, Key* keys, std::uint32_t* blocks) {
  for_each_of_grid(n, [&](Count b) {
    keys[b] = static_cast<Key>(indices.trailing(b));
    blocks[b] = static_cast<std::uint32_t>(b);
  });
}

__global__ void scatter_ranks(Count n, const std::uint32_t* blocks, const std::uint32_t* ranks,
                              std::uint32_t* rank) {
  for_each_of_grid(n, [&](Count p) { rank[blocks[p]] = ranks[p]; });
}

__global__ void gather(Count n, const std::uint32_t* from, const std::uint32_t* where,
                       std::uint32_t* out) {
  for_each_of_grid(n, [&](Count p) { out[p] = from[where[p]]; });
}

template <class Key>
Parts ranked(const DeviceBcb& bcb, int bits, Cub& cub) {
  const Count n = bcb.blocks;
  Buffer<Key> keys(n), spare_keys(n);
  Buffer<std::uint32_t> blocks(n), spare_blocks(n), start(n + 1), ranks;
  RETENSOR_CUDA_LAUNCH(trailing_keys<Key>, grid_for(n), kThreads, 0, nullptr, n, Indices(bcb),
                       keys.data(), blocks.data());
  cub.sort(n, bits, keys, blocks, spare_keys, spare_blocks, nullptr);
  Buffer<Count> found;
  cub.select(n, BeginsKey<Key>{keys.data()}, start, found, nullptr);
  Parts parts;
  parts.count = element(found, 0);
  set_element(start, parts.count, n);
  find_owners(parts.count, start, n, ranks, cub, nullptr);
  parts.rank = Buffer<std::uint32_t>(n);
  parts.block = Buffer<std::uint32_t>(parts.count);
  RETENSOR_CUDA_LAUNCH(scatter_ranks, grid_for(n), kThreads, 0, nullptr, n, blocks.data(),
                       ranks.data(), parts.rank.data());
  RETENSOR_CUDA_LAUNCH(gather, grid_for(parts.count), kThreads, 0, nullptr, parts.count,
                       blocks.data(), start.data(), parts.block.data());
  return parts;
}

__global__ void find_origins(Count parts, Indices indices, const std::uint32_t* block, Field field,
                             int edge_bits, Index* origin) {
  for_each_of_grid(parts, [&](Count r) {
    origin[r] = decode(load_index(indices.data, indices.words, block[r]), field) << edge_bits;
  });
}

}  // namespace

Parts leading_parts(const DeviceBcb& bcb, Cub& cub) {
  Parts parts;
  if (bcb.blocks == 0) return parts;
  Buffer<Count> found;
  parts.block = Buffer<std::uint32_t>(bcb.blocks + 1);
  cub.select(bcb.blocks, BeginsLeading{Indices(bcb)}, parts.block, found, nullptr);
  parts.count = element(found, 0);
  set_element(parts.block, parts.count, bcb.blocks);
  find_owners(parts.count, parts.block, bcb.blocks, parts.rank, cub, nullptr);
  return parts;
}

Parts trailing_parts(const DeviceBcb& bcb, Cub& cub) {
  if (bcb.blocks == 0) return {};
  const int bits = Indices(bcb).trailing_bits;
  return bits <= 64 ? ranked<std::uint64_t>(bcb, bits, cub) : ranked<Uint128>(bcb, bits, cub);
}

Buffer<Index> origins_of(const DeviceBcb& bcb, const Parts& parts, bool leading) {
  const int first = leading ? 0 : bcb.grid.leading();
  const int last = leading ? bcb.grid.leading() : bcb.grid.order();
  Buffer<Index> origins(static_cast<Count>(last - first) * parts.count);
  if (origins.size() == 0) return origins;
  for (int k = first; k < last; ++k) {
    const auto& index = bcb.grid.block_index();
    const auto mode = static_cast<std::size_t>(bcb.grid.modes()[static_cast<std::size_t>(k)]);
    RETENSOR_CUDA_LAUNCH(find_origins, grid_for(parts.count), kThreads, 0, nullptr, parts.count,
                         Indices(bcb), parts.block.data(), (Field{index.shift(k), index.width(k)}),
                         bcb.grid.edge_bits()[mode],
                         origins.data() + static_cast<Count>(k - first) * parts.count);
  }
  return origins;
}

namespace {

__global__ void find_group_keys(Count groups, Indices y, const std::uint32_t* block,
                                Uint128* keys) {
  for_each_of_grid(groups, [&](Count g) { keys[g] = y.leading(block[g]); });
}

struct Bits {
  const std::uint64_t* bitmap;
  unsigned words;       // of a block
  int contracted_bits;  // log2 of the contracted cells
  int column_bits;      // of y's columns
};

/// The union of the rows of x's matrix of free by contracted cells.
__global__ void union_of_rows(Count blocks, Bits x, unsigned mask_words, std::uint64_t* mask) {
  for_each_of_grid(blocks * mask_words, [&](Count m) {
    const std::uint64_t* const words = x.bitmap + m / mask_words * x.words;
    std::uint64_t bits = 0;
    for (unsigned w = static_cast<unsigned>(m % mask_words); w < x.words; w += mask_words)
      bits |= words[w];
    for (int width = 32; width >= 1 << x.contracted_bits; width /= 2)
      bits = (bits | bits >> width) & ((std::uint64_t{1} << width) - 1);
    mask[m] = bits;
  });
}

/// The rows of y's matrix of contracted by free cells that hold a nonzero.
__global__ void rows_with_nonzeros(Count blocks, Bits y, unsigned mask_words, std::uint64_t* mask) {
  const unsigned rows = min(64u, 1u << y.contracted_bits);  // in a word of the mask
  for_each_of_grid(blocks * mask_words, [&](Count m) {
    const std::uint64_t* const words = y.bitmap + m / mask_words * y.words;
    const unsigned first = static_cast<unsigned>(m % mask_words) * 64;
    const unsigned columns = 1u << y.column_bits;
    std::uint64_t bits = 0;
    for (unsigned row = 0; row < rows; ++row) {
      const unsigned cell = (first + row) << y.column_bits;
      std::uint64_t found = 0;
      if (columns < 64)
        found = words[cell / 64] >> cell % 64 & ((std::uint64_t{1} << columns) - 1);
      else
        for (unsigned w = 0; w < columns / 64; ++w) found |= words[cell / 64 + w];
      bits |= static_cast<std::uint64_t>(found != 0) << row;
    }
    mask[m] = bits;
  });
}

/// The group of y that a block of x meets, and its size.
__global__ void find_groups(Count blocks, Indices x, Count groups, const Uint128* group_key,
                            const std::uint32_t* group_block, std::uint32_t* group,
                            std::uint32_t* pairs) {
  for_each_of_grid(blocks, [&](Count b) {
    const Uint128 part = x.trailing(b);
    Count low = 0, high = groups;
    while (low < high) {
      const Count middle = (low + high) / 2;
      if (group_key[middle] < part)
        low = middle + 1;
      else
        high = middle;
    }
    const bool found = low < groups && group_key[low] == part;
    group[b] = found ? static_cast<std::uint32_t>(low) : kNoGroup;
    pairs[b] = found ? group_block[low + 1] - group_block[low] : 0;
  });
}

struct Value {
  const std::uint32_t* of;
  __host__ __device__ Count operator()(Count i) const { return of[i]; }
};

struct Pairs {
  const std::uint32_t *owner, *group, *group_block;
  const Count* first_pair;

  __host__ __device__ Task at(std::uint32_t p) const {
    const std::uint32_t x = owner[p];
    return {x, group_block[group[x]] + static_cast<std::uint32_t>(p - first_pair[x])};
  }
};

struct SharesCell {
  Pairs pairs;
  const std::uint64_t *x_mask, *y_mask;
  unsigned mask_words;
  bool intersect;

  __host__ __device__ bool operator()(std::uint32_t p) const {
    if (!intersect) return true;
    const Task task = pairs.at(p);
    for (unsigned w = 0; w < mask_words; ++w)
      if ((x_mask[Count{task.x} * mask_words + w] & y_mask[Count{task.y} * mask_words + w]) != 0)
        return true;
    return false;
  }
};

__global__ void make_tasks(Count tasks, Pairs pairs, const std::uint32_t* kept,
                           const std::uint32_t* row, const std::uint32_t* column, int column_bits,
                           std::uint64_t* keys, Task* list) {
  for_each_of_grid(tasks, [&](Count t) {
    const Task task = pairs.at(kept[t]);
    keys[t] = std::uint64_t{row[task.x]} << column_bits | column[task.y];
    list[t] = task;
  });
}

struct ChunksOf {
  const std::uint32_t* first;
  Count most;
  __host__ __device__ Count operator()(Count r) const {
    return (first[r + 1] - first[r] + most - 1) / most;
  }
};

unsigned mask_words_of(const DeviceBcb& x) {
  return static_cast<unsigned>(((Count{1} << x.grid.trailing_bits()) + 63) / 64);
}

}  // namespace

DeviceTaskList::DeviceTaskList(const DeviceBcb& x, const DeviceBcb& y, bool intersect)
    : x_(x),
      y_(y),
      intersect_(intersect),
      rows_(leading_parts(x, cub_)),
      groups_(leading_parts(y, cub_)),
      columns_(trailing_parts(y, cub_)),
      column_bits_(bits_for(columns_.count)),
      key_bits_(bits_for(rows_.count) + column_bits_),
      mask_words_(mask_words_of(x)),
      group_key_(groups_.count),
      x_mask_(x.blocks * mask_words_),
      y_mask_(y.blocks * mask_words_),
      group_(x.blocks),
      pairs_of_(x.blocks) {
  if (groups_.count > 0)
    RETENSOR_CUDA_LAUNCH(find_group_keys, grid_for(groups_.count), kThreads, 0, nullptr,
                         groups_.count, Indices(y), groups_.block.data(), group_key_.data());
}

Count DeviceTaskList::count_pairs() {
  if (x_.blocks > 0 && y_.blocks > 0) {
    pair_blocks(nullptr);
    pairs_ = element(first_pair_, x_.blocks);
  }
  return pairs_;
}

void DeviceTaskList::build(cudaStream_t stream) {
  if (x_.blocks == 0 || y_.blocks == 0) return;
  find_contracted_cells(stream);
  pair_blocks(stream);
  if (!knows_lengths_) learn_pairs();
  if (pairs_ == 0) return;
  keep_tasks(stream);
  if (tasks_kept_ > 0) {
    sort_tasks(stream);
    compress(stream);
  }
  knows_lengths_ = true;
}

void DeviceTaskList::learn_pairs() {
  pairs_ = element(first_pair_, x_.blocks);
  if (pairs_ > std::numeric_limits<std::uint32_t>::max())
    throw InputError("found " + std::to_string(pairs_) +
                     " pairs of blocks, expected fewer than 2^32");
}

void DeviceTaskList::find_contracted_cells(cudaStream_t stream) {
  const int contracted = x_.grid.trailing_bits(), columns = y_.grid.trailing_bits();
  const auto words = [](const DeviceBcb& b) {
    return static_cast<unsigned>(b.grid.bitmap_words());
  };
  RETENSOR_CUDA_LAUNCH(union_of_rows, grid_for(x_mask_.size()), kThreads, 0, stream, x_.blocks,
                       (Bits{x_.bitmap.data(), words(x_), contracted, 0}), mask_words_,
                       x_mask_.data());
  RETENSOR_CUDA_LAUNCH(rows_with_nonzeros, grid_for(y_mask_.size()), kThreads, 0, stream, y_.blocks,
                       (Bits{y_.bitmap.data(), words(y_), contracted, columns}), mask_words_,
                       y_mask_.data());
}

void DeviceTaskList::pair_blocks(cudaStream_t stream) {
  RETENSOR_CUDA_LAUNCH(find_groups, grid_for(x_.blocks), kThreads, 0, stream, x_.blocks,
                       Indices(x_), groups_.count, group_key_.data(), groups_.block.data(),
                       group_.data(), pairs_of_.data());
  cub_.sums(x_.blocks, Value{pairs_of_.data()}, first_pair_, stream);
}

void DeviceTaskList::keep_tasks(cudaStream_t stream) {
  find_owners(x_.blocks, first_pair_, pairs_, owner_, cub_, stream);
  reserve(kept_, pairs_);
  const Pairs pairs{owner_.data(), group_.data(), groups_.block.data(), first_pair_.data()};
  cub_.select(pairs_, SharesCell{pairs, x_mask_.data(), y_mask_.data(), mask_words_, intersect_},
              kept_, found_, stream);
  if (knows_lengths_) return;
  tasks_kept_ = element(found_, 0);
  chunk_tasks_ = std::clamp<Count>(tasks_kept_ / kWarpsAtOnce, 1, kMostChunkTasks);
}

void DeviceTaskList::sort_tasks(cudaStream_t stream) {
  reserve(keys_, tasks_kept_);
  reserve(spare_keys_, tasks_kept_);
  reserve(list_, tasks_kept_);
  reserve(spare_list_, tasks_kept_);
  const Pairs pairs{owner_.data(), group_.data(), groups_.block.data(), first_pair_.data()};
  RETENSOR_CUDA_LAUNCH(make_tasks, grid_for(tasks_kept_), kThreads, 0, stream, tasks_kept_, pairs,
                       kept_.data(), rows_.rank.data(), columns_.rank.data(), column_bits_,
                       keys_.data(), list_.data());
  cub_.sort(tasks_kept_, key_bits_, keys_, list_, spare_keys_, spare_list_, stream);
}

void DeviceTaskList::compress(cudaStream_t stream) {
  reserve(result_first_, tasks_kept_ + 1);
  cub_.select(tasks_kept_, BeginsKey<std::uint64_t>{keys_.data()}, result_first_, found_, stream);
  if (!knows_lengths_) {
    results_ = element(found_, 0);
    set_element(result_first_, results_, tasks_kept_);  // nothing overwrites it
  }
  if (knows_lengths_ && chunks_ == results_) return;  // a chunk a result block
  cub_.sums(results_, ChunksOf{result_first_.data(), chunk_tasks_}, chunk_first_, stream);
  if (!knows_lengths_) chunks_ = element(chunk_first_, results_);
  find_owners(results_, chunk_first_, chunks_, chunk_result_, cub_, stream);
}

DeviceTaskList::View DeviceTaskList::view() const {
  return {list_.data(),
          keys_.data(),
          result_first_.data(),
          chunk_first_.data(),
          chunk_result_.data(),
          x_mask_.data(),
          y_mask_.data(),
          results_,
          chunks_,
          chunk_tasks_,
          column_bits_,
          mask_words_};
}

Count DeviceTaskList::bytes() const {
  return cub_.bytes() + group_key_.bytes() + x_mask_.bytes() + y_mask_.bytes() + group_.bytes() +
         pairs_of_.bytes() + first_pair_.bytes() + owner_.bytes() + kept_.bytes() + keys_.bytes() +
         spare_keys_.bytes() + list_.bytes() + spare_list_.bytes() + result_first_.bytes() +
         chunk_first_.bytes() + chunk_result_.bytes();
}

}  // namespace retensor::bcb_sptc
