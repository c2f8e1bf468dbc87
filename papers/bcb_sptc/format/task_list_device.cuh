// The task list of task_list.hpp on the device (section IV.A). Included by .cu files alone.
//
// Pairing: a thread a block of x finds y's blocks of the same contracted index by binary search;
// the pairs are numbered by a scan, and a thread a pair finds its blocks by another search and
// tells whether they share a contracted cell. Sorting: CUB's radix sort by (row, column) of the
// result block; it is stable, so the pairs of a result block stay in the order of x. Pairs without
// a common cell have a key above all others; where they are more than half, the others are selected
// before. Compression: the first task of each result block is selected. A result block is cut into
// chunks of at most chunk_tasks() tasks, each of which is one warp's, so that a block with very
// many pairs does not keep one warp busy.
//
// Left unsorted, tasks stay in the order of pairing and each is a chunk of its own. A hash table of
// the keys, with linear probing, has the first task of each result block; result blocks are
// numbered by these.
//
// With a few thousand pairs the time is that of the launches, 4 to 6 us each on an H200 (0.135 ms
// for 4,386 pairs in about 25), so steps share launches and small lists are scanned by one thread
// block.
//
// Bytes: a pair 8 a step of the search, from the caches, 16 to 24 gathered of two masks, 16 of key
// and blocks written, 32 in each pass of the sort, a pass 8 bits of the key.
#pragma once

#include <cstdint>

#include "papers/bcb_sptc/format/bcb_device.cuh"
#include "papers/bcb_sptc/format/room.hpp"
#include "papers/bcb_sptc/format/task_list.hpp"

namespace retensor::bcb_sptc {

/// The most tasks of a chunk: 32 are some microseconds of a warp, and the sums of a chunk that
/// shares its result block go out by atomic additions once for all of them. Where the warps would
/// be fewer than warps_at_once(), chunks are shorter.
inline constexpr Count kMostChunkTasks = 32;
/// Half of the warps that the multiprocessors can hold: 4224 on an H200.
Count warps_at_once();

/// Pairs beyond which each reads the number of its block of x from a list, which takes four
/// launches to make, in place of searching it.
inline constexpr Count kMostSearched = 1 << 20;

/// Blocks by one part of their index: the rank of each among the different values, and for each
/// value a block that has it.
struct Parts {
  Count count = 0;
  Buffer<std::uint32_t> rank;   ///< by block
  Buffer<std::uint32_t> block;  ///< by rank; of the leading part the first, and the end
};
Parts leading_parts(const DeviceBcb& bcb, Cub& cub);
Parts trailing_parts(const DeviceBcb& bcb, Cub& cub);
/// The leading part of the index by rank.
Buffer<Uint128> keys_of_leading(const DeviceBcb& bcb, const Parts& parts);
/// The index of the first cell of each part along each of its modes: [mode of the part][rank].
Buffer<Index> origins_of(const DeviceBcb& bcb, const Parts& parts, bool leading);

inline constexpr std::uint32_t kNoGroup = 0xffffffffu;

/// Choices of a task list.
struct TaskOptions {
  bool intersect = true;  ///< leave out pairs without a common contracted cell
  bool sorted = true;     ///< by result block
};

namespace kernels {

/// The blocks of y of each contracted part, "groups".
struct Groups {
  Count count;
  const Uint128* key;          // the contracted part
  const std::uint32_t* block;  // the first, and the end

  /// Of the group whose part, part_of(group), is the one given; kNoGroup where y lacks it.
  template <class Part, class PartOf>
  __host__ __device__ std::uint32_t find(Part part, const PartOf& part_of) const {
    const Count g = lower_bound(count, part, part_of);
    return g < count && part_of(g) == part ? static_cast<std::uint32_t>(g) : kNoGroup;
  }
  __host__ __device__ std::uint32_t find(Uint128 part) const {
    return find(part, [&](Count g) { return key[g]; });
  }
};

/// Blocks of a pair.
struct Pairs {
  Count x_blocks;
  const std::uint32_t *owner, *group, *group_block;  // no owner where a search finds it
  const Count* first_pair;

  __host__ __device__ Task at(std::uint32_t p) const {
    const std::uint32_t x =
        owner != nullptr ? owner[p]
                         : static_cast<std::uint32_t>(lower_bound(
                               x_blocks, Count{p} + 1, [&](Count b) { return first_pair[b + 1]; }));
    return {x, group_block[group[x]] + static_cast<std::uint32_t>(p - first_pair[x])};
  }
};

/// Whether a pair is a task.
struct SharesCell {
  Pairs pairs;
  const std::uint64_t *x_mask, *y_mask;
  unsigned mask_words;
  bool intersect;

  __host__ __device__ bool operator()(std::uint32_t p) const {
    return !intersect || (*this)(pairs.at(p));
  }
  __host__ __device__ bool operator()(Task task) const {
    if (!intersect) return true;
    for (unsigned w = 0; w < mask_words; ++w)
      if ((x_mask[Count{task.x} * mask_words + w] & y_mask[Count{task.y} * mask_words + w]) != 0)
        return true;
    return false;
  }
};

}  // namespace kernels

class DeviceTaskList {
 public:
  /// Finds rows, groups and columns of the operands, which stay as they are.
  DeviceTaskList(const DeviceBcb& x, const DeviceBcb& y, TaskOptions options, const Room& room);

  /// Makes the list. Allocates when called for the first time only; that call waits for the device
  /// to learn the lengths. Throws InputError for 2^32 and more pairs, OutOfMemory for more than
  /// there is room for.
  void build(cudaStream_t stream);
  /// Cuts the result blocks of the list into chunks, each of as many warps. Allocates as `build`
  /// does.
  void make_chunks(Count warps, cudaStream_t stream);

  /// The list as kernels get it.
  struct View {
    const Task* tasks;
    const std::uint64_t* keys;          // row, then column, of a task's result block
    const std::uint32_t* result_first;  // task; results + 1
    const Count* chunk_first;     // chunk; results + 1; where there are more chunks than results
    std::uint32_t* chunk_result;  // the same; room for it, which kernels fill
    const std::uint64_t *x_mask, *y_mask;  // contracted cells with a nonzero, by block
    Count results, chunks, chunk_tasks;
    bool sorted;      // else a chunk is a task and chunk_result is filled
    int column_bits;  // of a key
    unsigned mask_words;
  };
  View view();

  /// Of blocks that agree in the contracted part.
  Count pairs() const { return pairs_; }
  Count tasks() const { return tasks_kept_; }
  Count results() const { return results_; }
  Count chunks() const { return chunks_; }
  Count chunk_tasks() const { return chunk_tasks_; }
  const Parts& rows() const { return rows_; }
  const Parts& columns() const { return columns_; }
  Count bytes() const;

 private:
  void pair_blocks(cudaStream_t stream);
  /// How many pairs there are and how many of them are tasks.
  void learn_lengths();
  void find_owners_of_pairs(cudaStream_t stream);
  void select_tasks(cudaStream_t stream);
  void list_tasks(cudaStream_t stream);
  void sort_tasks(cudaStream_t stream);
  void compress(cudaStream_t stream);
  void number_results(cudaStream_t stream);
  void learn_results();
  /// Tasks and, where they are sorted and not selected before, pairs that are none.
  Count listed() const { return selects_ ? tasks_kept_ : pairs_; }
  kernels::SharesCell shares_cell() const;

  const DeviceBcb &x_, &y_;
  const TaskOptions options_;
  const Room room_;
  Cub cub_;
  const Parts rows_, groups_, columns_;
  const Buffer<Uint128> group_key_;  // contracted part of y's groups
  const int column_bits_, key_bits_;
  const unsigned mask_words_;
  bool knows_lengths_ = false;
  bool selects_ = false;  // tasks before sorting
  Buffer<std::uint64_t> x_mask_, y_mask_;
  Buffer<std::uint32_t> group_, pairs_of_;  // that each block of x meets, and how many
  Buffer<Count> first_pair_;
  Buffer<std::uint32_t> owner_, kept_;  // block of x of a pair; pair of a task
  Buffer<std::uint64_t> keys_, spare_keys_;
  Buffer<Task> list_, spare_list_;
  Buffer<std::uint32_t> result_first_;
  Buffer<Count> chunk_first_;
  Buffer<std::uint32_t> chunk_result_;
  Buffer<std::uint32_t> table_, first_task_, results_before_;  // of unsorted tasks
  Buffer<Count> found_;
  Count pairs_ = 0, tasks_kept_ = 0, results_ = 0, chunks_ = 0, chunk_tasks_ = 1;
};

}  // namespace retensor::bcb_sptc
