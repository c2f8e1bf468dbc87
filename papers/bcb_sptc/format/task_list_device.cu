// The steps of the task list; task_list_device.cuh has the algorithm.
#include "papers/bcb_sptc/format/task_list_device.cuh"

#include <algorithm>
#include <limits>
#include <string>

#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "common/tensor/linear_index.hpp"

namespace retensor::bcb_sptc {
namespace {

struct BeginsLeading {
  Indices indices;
  __host__ __device__ bool operator()(std::uint32_t b) const {
    return b == 0 || indices.leading(b) != indices.leading(b - 1);
  }
};

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

template <class Key>
Parts ranked(const DeviceBcb& bcb, int bits, Cub& cub) {
  const Count n = bcb.blocks;
  Buffer<Key> keys(n), spare_keys(n);
  Buffer<std::uint32_t> blocks(n), spare_blocks(n), first(n), ranks;
  RETENSOR_CUDA_LAUNCH(trailing_keys<Key>, grid_for(n), kThreads, 0, nullptr, n, Indices(bcb),
                       keys.data(), blocks.data());
  cub.sort(n, bits, keys, blocks, spare_keys, spare_blocks, nullptr);
  Buffer<Count> found;
  cub.select(n, device::Begins<Key>{keys.data(), 0}, first, found, nullptr);
  Parts parts;
  parts.count = element_at(found, 0);
  const auto start = with_end(first, parts.count, n);
  find_owners(parts.count, start, n, ranks, cub, nullptr);
  parts.rank = Buffer<std::uint32_t>(n);
  parts.block = Buffer<std::uint32_t>(parts.count);
  RETENSOR_CUDA_LAUNCH(scatter_ranks, grid_for(n), kThreads, 0, nullptr, n, blocks.data(),
                       ranks.data(), parts.rank.data());
  RETENSOR_CUDA_LAUNCH(kernels::gather<std::uint32_t>, grid_for(parts.count), kThreads, 0, nullptr,
                       parts.count, start.data(), blocks.data(), parts.block.data());
  return parts;
}

__global__ void find_leading(Count parts, Indices indices, const std::uint32_t* block,
                             Uint128* key) {
  for_each_of_grid(parts, [&](Count r) { key[r] = indices.leading(block[r]); });
}

__global__ void find_origins(Count parts, Indices indices, const std::uint32_t* block, Field field,
                             int edge_bits, Index* origin) {
  for_each_of_grid(parts,
                   [&](Count r) { origin[r] = decode(indices.at(block[r]), field) << edge_bits; });
}

}  // namespace

Parts leading_parts(const DeviceBcb& bcb, Cub& cub) {
  Parts parts;
  Buffer<std::uint32_t> first(bcb.blocks);
  Buffer<Count> found;
  cub.select(bcb.blocks, BeginsLeading{Indices(bcb)}, first, found, nullptr);
  parts.count = element_at(found, 0);
  parts.block = with_end(first, parts.count, bcb.blocks);
  find_owners(parts.count, parts.block, bcb.blocks, parts.rank, cub, nullptr);
  return parts;
}

Parts trailing_parts(const DeviceBcb& bcb, Cub& cub) {
  if (bcb.blocks == 0) return {};
  const int bits = IndexParts(bcb.grid).trailing_bits;
  return bits <= 64 ? ranked<std::uint64_t>(bcb, bits, cub) : ranked<Uint128>(bcb, bits, cub);
}

Buffer<Uint128> keys_of_leading(const DeviceBcb& bcb, const Parts& parts) {
  Buffer<Uint128> keys(parts.count);
  if (parts.count > 0)
    RETENSOR_CUDA_LAUNCH(find_leading, grid_for(parts.count), kThreads, 0, nullptr, parts.count,
                         Indices(bcb), parts.block.data(), keys.data());
  return keys;
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

struct Bits {
  const std::uint64_t* bitmap;
  unsigned words;       // of a block
  int contracted_bits;  // log2 of the contracted cells
  int column_bits;      // of y's columns
};

/// Word m of the masks of x: the union of the rows of its matrix of free by contracted cells.
__device__ std::uint64_t union_of_rows(const Bits& x, Count m, unsigned mask_words) {
  const std::uint64_t* const words = x.bitmap + m / mask_words * x.words;
  std::uint64_t bits = 0;
  for (unsigned w = static_cast<unsigned>(m % mask_words); w < x.words; w += mask_words)
    bits |= words[w];
  for (int width = 32; width >= 1 << x.contracted_bits; width /= 2)
    bits = (bits | bits >> width) & ((std::uint64_t{1} << width) - 1);
  return bits;
}

/// Of y: the rows of its matrix of contracted by free cells that hold a nonzero.
__device__ std::uint64_t rows_with_nonzeros(const Bits& y, Count m, unsigned mask_words) {
  const unsigned rows = min(64u, 1u << y.contracted_bits);  // in a word of the mask
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
  return bits;
}

/// What blocks tell each by itself: contracted cells with a nonzero, the group of y that a block of
/// x meets and its size.
struct Blocks {
  Bits x, y;
  Count x_blocks, y_blocks;
  unsigned mask_words;
  Indices x_index, y_index;
  kernels::Groups groups;
  std::uint64_t *x_mask, *y_mask;
  std::uint32_t *group, *pairs;
};

__global__ void look_at_blocks(const __grid_constant__ Blocks b) {
  for_each_of_grid(b.x_blocks * b.mask_words,
                   [&](Count m) { b.x_mask[m] = union_of_rows(b.x, m, b.mask_words); });
  for_each_of_grid(b.y_blocks * b.mask_words,
                   [&](Count m) { b.y_mask[m] = rows_with_nonzeros(b.y, m, b.mask_words); });
  for_each_of_grid(b.x_blocks, [&](Count i) {
    const std::uint32_t g = b.x_index.are_packed
                                ? b.groups.find(b.x_index.trailing(i))
                                : b.groups.find(b.x_index.trailing_coordinates(i), [&](Count k) {
                                    return b.y_index.leading_coordinates(b.groups.block[k]);
                                  });
    b.group[i] = g;
    b.pairs[i] = g != kNoGroup ? b.groups.block[g + 1] - b.groups.block[g] : 0;
  });
}

struct Value {
  const std::uint32_t* of;
  __host__ __device__ Count operator()(Count i) const { return of[i]; }
};

/// The tasks by key (row, column) of their result block. `kept` lists them; where it is missing,
/// every pair has a key, those without a common contracted cell one above all others.
__global__ void make_tasks(Count n, kernels::SharesCell shares, const std::uint32_t* kept,
                           const std::uint32_t* row, const std::uint32_t* column, int column_bits,
                           std::uint64_t left_out, std::uint64_t* keys, Task* list) {
  for_each_of_grid(n, [&](Count i) {
    const Task task = shares.pairs.at(kept != nullptr ? kept[i] : static_cast<std::uint32_t>(i));
    const bool is_task = kept != nullptr || shares(task);
    keys[i] = is_task ? std::uint64_t{row[task.x]} << column_bits | column[task.y] : left_out;
    list[i] = task;
  });
}

constexpr std::uint32_t kEmpty = 0xffffffffu;

/// The place of a key in a table of 2^bits, by Fibonacci hashing.
__device__ Count place_of(std::uint64_t key, int bits) {
  return key * 0x9e3779b97f4a7c15u >> (64 - bits);
}

/// Into the table: of each key the first task that has it.
__global__ void insert_keys(Count n, const std::uint64_t* keys, int bits, std::uint32_t* table) {
  const Count mask = (Count{1} << bits) - 1;
  for_each_of_grid(n, [&](Count t) {
    const auto task = static_cast<std::uint32_t>(t);
    for (Count place = place_of(keys[t], bits);; place = (place + 1) & mask) {
      const std::uint32_t seen = atomicCAS(table + place, kEmpty, task);
      if (seen == kEmpty) return;
      if (keys[seen] != keys[t]) continue;
      atomicMin(table + place, task);
      return;
    }
  });
}

__global__ void find_first_tasks(Count n, const std::uint64_t* keys, int bits,
                                 const std::uint32_t* table, std::uint32_t* first) {
  const Count mask = (Count{1} << bits) - 1;
  for_each_of_grid(n, [&](Count t) {
    Count place = place_of(keys[t], bits);
    while (keys[table[place]] != keys[t]) place = (place + 1) & mask;
    first[t] = table[place];
  });
}

struct IsFirst {
  const std::uint32_t* first;
  __host__ __device__ bool operator()(Count t) const { return first[t] == t; }
};

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

DeviceTaskList::DeviceTaskList(const DeviceBcb& x, const DeviceBcb& y, TaskOptions options,
                               const Room& room)
    : x_(x),
      y_(y),
      options_(options),
      room_(room),
      rows_(leading_parts(x, cub_)),
      groups_(leading_parts(y, cub_)),
      columns_(trailing_parts(y, cub_)),
      group_key_(keys_of_leading(y, groups_)),
      column_bits_(bits_for(columns_.count)),
      key_bits_(bits_for(rows_.count + 1) + column_bits_),
      mask_words_(mask_words_of(x)),
      x_mask_(x.blocks * mask_words_),
      y_mask_(y.blocks * mask_words_),
      group_(x.blocks),
      pairs_of_(x.blocks) {}

void DeviceTaskList::build(cudaStream_t stream) {
  if (x_.blocks == 0 || y_.blocks == 0) return;
  pair_blocks(stream);
  if (!knows_lengths_)
    learn_lengths();
  else if (selects_)
    select_tasks(stream);
  else
    find_owners_of_pairs(stream);
  if (tasks_kept_ == 0) return;
  list_tasks(stream);
  if (options_.sorted) {
    sort_tasks(stream);
    compress(stream);
  } else {
    number_results(stream);
  }
}

void DeviceTaskList::pair_blocks(cudaStream_t stream) {
  const auto bits = [](const DeviceBcb& b, int contracted, int columns) {
    return Bits{b.bitmap.data(), static_cast<unsigned>(b.grid.bitmap_words()), contracted, columns};
  };
  const int contracted = x_.grid.trailing_bits(), columns = y_.grid.trailing_bits();
  const Blocks blocks{bits(x_, contracted, 0),
                      bits(y_, contracted, columns),
                      x_.blocks,
                      y_.blocks,
                      mask_words_,
                      Indices(x_),
                      Indices(y_),
                      {groups_.count, group_key_.data(), groups_.block.data()},
                      x_mask_.data(),
                      y_mask_.data(),
                      group_.data(),
                      pairs_of_.data()};
  RETENSOR_CUDA_LAUNCH(look_at_blocks, grid_for(std::max(x_mask_.size(), y_mask_.size())), kThreads,
                       0, stream, blocks);
  cub_.sums(x_.blocks, Value{pairs_of_.data()}, first_pair_, stream);
}

void DeviceTaskList::learn_lengths() {
  knows_lengths_ = true;
  pairs_ = element_at(first_pair_, x_.blocks);
  if (pairs_ > std::numeric_limits<std::uint32_t>::max())
    throw InputError("found " + std::to_string(pairs_) +
                     " pairs of blocks, expected fewer than 2^32");
  if (pairs_ == 0) return;
  room_.require("pairs of blocks", pairs_, 2 * sizeof(std::uint32_t));
  select_tasks(nullptr);
  tasks_kept_ = element_at(found_, 0);
  selects_ = tasks_kept_ < (options_.sorted ? pairs_ / 2 : pairs_);
  // Keys and tasks twice, to sort them, or a table of four places a task and two numbers.
  room_.require("tasks", listed(), 2 * (sizeof(std::uint64_t) + sizeof(Task)));
}

void DeviceTaskList::find_owners_of_pairs(cudaStream_t stream) {
  if (pairs_ > kMostSearched) find_owners(x_.blocks, first_pair_, pairs_, owner_, cub_, stream);
}

void DeviceTaskList::select_tasks(cudaStream_t stream) {
  find_owners_of_pairs(stream);
  ensure_size(kept_, pairs_);
  cub_.select(pairs_, shares_cell(), kept_, found_, stream);
}

kernels::SharesCell DeviceTaskList::shares_cell() const {
  return {{x_.blocks, pairs_ > kMostSearched ? owner_.data() : nullptr, group_.data(),
           groups_.block.data(), first_pair_.data()},
          x_mask_.data(),
          y_mask_.data(),
          mask_words_,
          options_.intersect};
}

void DeviceTaskList::list_tasks(cudaStream_t stream) {
  const Count n = listed();
  ensure_size(keys_, n);
  ensure_size(list_, n);
  RETENSOR_CUDA_LAUNCH(make_tasks, grid_for(n), kThreads, 0, stream, n, shares_cell(),
                       selects_ ? kept_.data() : nullptr, rows_.rank.data(), columns_.rank.data(),
                       column_bits_, std::uint64_t{rows_.count} << column_bits_, keys_.data(),
                       list_.data());
}

void DeviceTaskList::sort_tasks(cudaStream_t stream) {
  const Count n = listed();
  if (n == tasks_kept_ && columns_.count == 1) return;  // rows lie in the order of x
  ensure_size(spare_keys_, n);
  ensure_size(spare_list_, n);
  cub_.sort(n, key_bits_, keys_, list_, spare_keys_, spare_list_, stream);
}

void DeviceTaskList::compress(cudaStream_t stream) {
  ensure_size(result_first_, tasks_kept_ + 1);
  cub_.select(tasks_kept_, device::Begins<std::uint64_t>{keys_.data(), 0}, result_first_, found_,
              stream);
  learn_results();
}

void DeviceTaskList::number_results(cudaStream_t stream) {
  const Count n = tasks_kept_;
  const int bits = bits_for(n) + 1;  // at most half full
  ensure_size(table_, Count{1} << bits);
  ensure_size(first_task_, n);
  ensure_size(chunk_result_, n);
  ensure_size(result_first_, n + 1);
  RETENSOR_CUDA_CHECK(cudaMemsetAsync(table_.data(), 0xff, table_.bytes(), stream));
  RETENSOR_CUDA_LAUNCH(insert_keys, grid_for(n), kThreads, 0, stream, n, keys_.data(), bits,
                       table_.data());
  RETENSOR_CUDA_LAUNCH(find_first_tasks, grid_for(n), kThreads, 0, stream, n, keys_.data(), bits,
                       table_.data(), first_task_.data());
  const IsFirst is_first{first_task_.data()};
  cub_.select(n, is_first, result_first_, found_, stream);
  cub_.sums(n, is_first, results_before_, stream);
  RETENSOR_CUDA_LAUNCH(kernels::gather<std::uint32_t>, grid_for(n), kThreads, 0, stream, n,
                       first_task_.data(), results_before_.data(), chunk_result_.data());
  learn_results();
}

Count warps_at_once() {
  static const device::Limits limits = device::facts();
  return static_cast<Count>(limits.sms) * limits.threads_per_sm / 32 / 2;
}

void DeviceTaskList::learn_results() {
  if (results_ > 0) return;
  results_ = element_at(found_, 0);
  set_element(result_first_, results_,
              static_cast<std::uint32_t>(tasks_kept_));  // nothing overwrites it
}

void DeviceTaskList::make_chunks(Count warps, cudaStream_t stream) {
  if (results_ == 0) return;
  if (!options_.sorted) {
    chunks_ = tasks_kept_;
    return;
  }
  if (chunks_ == results_) return;  // a chunk a result block, as the first call found
  chunk_tasks_ = std::clamp<Count>(tasks_kept_ * warps / warps_at_once(), 1, kMostChunkTasks);
  cub_.sums(results_, ChunksOf{result_first_.data(), chunk_tasks_}, chunk_first_, stream);
  if (chunks_ > 0) return;
  chunks_ = element_at(chunk_first_, results_);
  if (chunks_ > results_) ensure_size(chunk_result_, chunks_);
}

DeviceTaskList::View DeviceTaskList::view() {
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
          options_.sorted,
          column_bits_,
          mask_words_};
}

Count DeviceTaskList::bytes() const {
  return cub_.bytes() + group_key_.bytes() + x_mask_.bytes() + y_mask_.bytes() + group_.bytes() +
         pairs_of_.bytes() + first_pair_.bytes() + owner_.bytes() + kept_.bytes() + keys_.bytes() +
         spare_keys_.bytes() + list_.bytes() + spare_list_.bytes() + result_first_.bytes() +
         chunk_first_.bytes() + chunk_result_.bytes() + table_.bytes() + first_task_.bytes() +
         results_before_.bytes();
}

}  // namespace retensor::bcb_sptc
