// The task list of task_list.hpp on the device (section IV.A). Included by .cu files alone.
//
// Pairing: a thread a block of x finds y's blocks of the same contracted index by binary search;
// the pairs are numbered by a scan, and a thread a pair keeps it if the two share a contracted
// cell. Sorting: CUB's radix sort by (row, column) of the result block; it is stable, so the pairs
// of a result block stay in the order of x. Compression: the first task of each result block is
// selected. A result block is cut into chunks of at most chunk_tasks() tasks, each of which is one
// warp's, so that a block with very many pairs does not keep one warp busy.
//
// Bytes: a pair 4 + 4 of its owner and 16 to 24 gathered of two masks; a task 4 of its number, 16
// of key and blocks written, 32 in each pass of the sort, a pass 8 bits of the key.
#pragma once

#include <cstdint>

#include "papers/bcb_sptc/format_cuda.cuh"
#include "papers/bcb_sptc/task_list.hpp"

namespace retensor::bcb_sptc {

/// The most tasks of a chunk: 32 are some microseconds of a warp, and the sums of a chunk that
/// shares its result block go out by atomic additions once for all of them. Where that would be
/// fewer than kWarpsAtOnce chunks, half of the warps that 132 multiprocessors (H200) can hold, they
/// are shorter.
inline constexpr Count kMostChunkTasks = 32, kWarpsAtOnce = 4096;

/// Blocks by one part of their index: the rank of each among the different values, and for each
/// value a block that has it.
struct Parts {
  Count count = 0;
  Buffer<std::uint32_t> rank;   ///< by block
  Buffer<std::uint32_t> block;  ///< by rank; of the leading part the first, and the end
};
Parts leading_parts(const DeviceBcb& bcb, Cub& cub);
Parts trailing_parts(const DeviceBcb& bcb, Cub& cub);
/// The index of the first cell of each part along each of its modes: [mode of the part][rank].
Buffer<Index> origins_of(const DeviceBcb& bcb, const Parts& parts, bool leading);

class DeviceTaskList {
 public:
  /// Finds rows, groups and columns of the operands, which stay as they are.
  DeviceTaskList(const DeviceBcb& x, const DeviceBcb& y, bool intersect);

  /// Pairs of blocks that agree in the contracted part.
  Count count_pairs();
  /// Makes the list. Allocates when called for the first time only; that call waits for the device
  /// to learn the lengths. Throws InputError for 2^32 and more pairs.
  void build(cudaStream_t stream);

  /// The list as kernels get it.
  struct View {
    const Task* tasks;
    const std::uint64_t* keys;          // row, then column, of a task's result block
    const std::uint32_t* result_first;  // task; results + 1
    const Count* chunk_first;  // chunk; results + 1; where there are more chunks than results
    const std::uint32_t* chunk_result;     // the same
    const std::uint64_t *x_mask, *y_mask;  // contracted cells with a nonzero, by block
    Count results, chunks, chunk_tasks;
    int column_bits;  // of a key
    unsigned mask_words;
  };
  View view() const;

  Count pairs() const { return pairs_; }
  Count tasks() const { return tasks_kept_; }
  Count results() const { return results_; }
  Count chunks() const { return chunks_; }
  Count chunk_tasks() const { return chunk_tasks_; }
  const Parts& rows() const { return rows_; }
  const Parts& columns() const { return columns_; }
  Count bytes() const;

 private:
  void find_contracted_cells(cudaStream_t stream);
  void pair_blocks(cudaStream_t stream);
  void keep_tasks(cudaStream_t stream);
  void sort_tasks(cudaStream_t stream);
  void compress(cudaStream_t stream);
  void learn_pairs();

  const DeviceBcb &x_, &y_;
  const bool intersect_;
  Cub cub_;
  const Parts rows_, groups_, columns_;
  const int column_bits_, key_bits_;
  const unsigned mask_words_;
  bool knows_lengths_ = false;
  Buffer<Uint128> group_key_;  // contracted part of y's groups
  Buffer<std::uint64_t> x_mask_, y_mask_;
  Buffer<std::uint32_t> group_, pairs_of_;  // that each block of x meets, and how many
  Buffer<Count> first_pair_;
  Buffer<std::uint32_t> owner_, kept_;  // block of x of a pair; pair of a task
  Buffer<std::uint64_t> keys_, spare_keys_;
  Buffer<Task> list_, spare_list_;
  Buffer<std::uint32_t> result_first_;
  Buffer<Count> chunk_first_;
  Buffer<std::uint32_t> chunk_result_;
  Buffer<Count> found_;
  Count pairs_ = 0, tasks_kept_ = 0, results_ = 0, chunks_ = 0, chunk_tasks_ = 1;
};

}  // namespace retensor::bcb_sptc
