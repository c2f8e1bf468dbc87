// The task list of BCB-SpTC (section IV.A): which pairs of blocks are multiplied, by expansion,
// sorting and compression.
//
// Pairing: two blocks match that agree in the contracted part of their indices. The second
// operand's blocks lead with it, so those of one contracted index are neighbours, found by binary
// search. Sorting: the first operand's blocks lead with the free part, so the pairs of one row of
// result blocks are neighbours as they come, and each row is sorted on its own by the free part of
// the second. Compression: pairs that agree in both free parts belong to one result block.
//
// A pair whose blocks share no contracted cell has no product. It is found by the intersection of
// two bitmaps over the contracted cells, of those that hold a nonzero (section III.A names set
// operations as a use of bitmaps, the paper's pairing leaves this one out).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "papers/bcb_sptc/format/operands.hpp"
#include "papers/bcb_sptc/format/room.hpp"

namespace retensor::bcb_sptc {

/// A pair of blocks to multiply.
struct Task {
  Index x = 0, y = 0;
};

class TaskList {
 public:
  /// Finds the runs of blocks that agree in a part of their index; `build` makes the list.
  /// intersect: whether pairs without a common contracted cell are left out.
  TaskList(const Operands& operands, bool intersect, const Room& room = host_room(0));
  /// Allocates when called for the first time only. Throws OutOfMemory for more pairs than there is
  /// room for.
  void build();

  Count pairs() const { return pairs_; }  ///< that agree in the contracted part
  Count tasks() const { return tasks_kept_; }
  Count results() const { return results_.size(); }  ///< result blocks with a task
  /// The tasks of a result block.
  std::span<const Task> tasks_of(Count result) const {
    return std::span(tasks_).subspan(results_[result].begin, results_[result].size);
  }

 private:
  struct Range {
    Count begin = 0, size = 0;
  };
  void find_contracted_cells();
  void pair_blocks();
  Range expand_row(Count row);
  bool shares_a_cell(Task task) const;
  void compress();

  const Operands& operands_;
  const bool intersect_;
  const Room room_;
  const std::vector<Count> x_rows_, y_groups_;  // first block of each leading part, and the end
  const std::vector<Index> column_;             // rank of the free part of each block of y
  const Count mask_words_;
  std::vector<std::uint64_t> x_mask_, y_mask_;  // contracted cells with a nonzero, by block
  std::vector<Count> group_;                    // of y's blocks that each block of x meets
  std::vector<Count> first_pair_;               // of each block of x, and the end
  std::vector<Task> tasks_;                     // a row begins with the first pair of its blocks
  std::vector<Range> row_tasks_;                // that are kept
  std::vector<Count> first_result_;             // of each row, and the end
  std::vector<Range> results_;
  Count pairs_ = 0, tasks_kept_ = 0;
};

}  // namespace retensor::bcb_sptc
