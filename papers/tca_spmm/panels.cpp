#include "papers/tca_spmm/panels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "common/core/error.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/csr_sums.hpp"

namespace retensor::tca_spmm {
namespace {

constexpr Count kMostBlocks = Count{1} << 32;
/// Places of a block in slots of a lane's four.
constexpr unsigned kSlots = 4;

struct Panel {
  std::vector<Index> columns;
  std::vector<Index> stage_blocks;  // by stage
  std::vector<GroupEnds> group_ends;
  std::vector<RowBlock> blocks;
};

/// Places in the panel's list of columns and values of a row, ascending.
using RowCells = std::vector<std::pair<Index, std::uint16_t>>;

/// Rows by length, the longest first; in their order where the length lies in the same quarter of
/// an octave.
std::vector<Index> order_of_rows(const Csr& matrix) {
  std::vector<Index> order(matrix.rows);
  std::iota(order.begin(), order.end(), Index{0});
  const auto size_class = [&](Index row) {
    const Count length = 8 * (matrix.row_start[row + Count{1}] - matrix.row_start[row]);
    const auto octave = static_cast<unsigned>(std::bit_width(length));
    return length == 0 ? 0 : octave * 4 + static_cast<unsigned>(length >> (octave - 3)) % 4;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return size_class(a) > size_class(b); });
  return order;
}

/// The cells of a group in one stage, and the blocks that they make.
class StageCells {
 public:
  void put(unsigned row, unsigned place, std::uint16_t value) {
    used_[place] = true;
    values_[place][row] = value;
  }

  /// Appends the blocks and clears the cells. `listed`: places that a row of D stands at.
  void move_to(std::vector<RowBlock>& blocks, unsigned listed) {
    const auto slots = places_by_slot();
    for (Count first = 0; first < slots[0].size(); first += kSlots)
      blocks.push_back(block(slots, first, listed));
    used_ = {};
    values_ = {};
  }

 private:
  static constexpr Index kEmpty = kStageColumns;
  using Slots = std::array<std::vector<Index>, kPlaceClasses>;

  /// Places by the lanes t that load them: each of its own class as far as the blocks reach, so
  /// that lanes meet in no bank; the others where there is room.
  Slots places_by_slot() const {
    Slots slots;
    Count used = 0;
    for (Index place = 0; place < kStageColumns; ++place)
      if (used_[place]) ++used, slots[class_of(place)].push_back(place);
    const Count size = (used + kBlockColumns - 1) / kBlockColumns * kSlots;
    std::vector<Index> left;
    for (auto& slot : slots)
      for (; slot.size() > size; slot.pop_back()) left.push_back(slot.back());
    for (auto& slot : slots) {
      for (; slot.size() < size && !left.empty(); left.pop_back()) slot.push_back(left.back());
      slot.resize(size, kEmpty);
    }
    return slots;
  }

  RowBlock block(const Slots& slots, Count first, unsigned listed) const {
    RowBlock block = {};
    for (unsigned t = 0; t < kPlaceClasses; ++t)
      for (unsigned i = 0; i < kSlots; ++i) {
        const Index place = slots[t][first + i];
        // A place without nonzeros: any that holds a row of D, times zero.
        block.places[t][i] = static_cast<std::uint16_t>(
            place_in_stage(place == kEmpty ? std::min(2 * t, listed - 1) : place));
        if (place == kEmpty) continue;
        for (unsigned g = 0; g < kGroupRows; ++g)
          block.values[4 * g + t][i / 2] |= std::uint32_t{values_[place][g]} << i % 2 * 16;
      }
    return block;
  }

  std::array<bool, kStageColumns> used_ = {};
  std::array<std::array<std::uint16_t, kGroupRows>, kStageColumns> values_ = {};
};

std::vector<Index> distinct_columns(const Csr& matrix, const Index* rows, unsigned count) {
  std::vector<Index> columns;
  for (unsigned r = 0; r < count; ++r) {
    if (rows[r] == kNone) continue;
    const auto from = matrix.columns.begin();
    columns.insert(columns.end(), from + static_cast<std::ptrdiff_t>(matrix.row_start[rows[r]]),
                   from + static_cast<std::ptrdiff_t>(matrix.row_start[rows[r] + Count{1}]));
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

RowCells cells_of(const Csr& matrix, Index row, const std::vector<Index>& columns) {
  RowCells cells;
  if (row == kNone) return cells;
  auto at = columns.begin();
  for_each_sum(matrix, row, [&](Index column, float sum) {
    at = std::lower_bound(at, columns.end(), column);
    cells.emplace_back(static_cast<Index>(at - columns.begin()), to_fp16_bits(sum));
  });
  return cells;
}

/// The rows of a panel, as far as they have been put into stages.
class PanelRows {
 public:
  PanelRows(const Csr& matrix, const Index* rows, unsigned groups,
            const std::vector<Index>& columns)
      : groups_(groups), columns_(columns.size()), at_(groups * kGroupRows, 0) {
    for (unsigned r = 0; r < groups * kGroupRows; ++r)
      cells_.push_back(cells_of(matrix, rows[r], columns));
    set_groups_of_columns();
  }

  /// Columns of a stage from `first` on: as many as it holds, at least one.
  Count stage_columns(Count first) const {
    std::array<unsigned, kMostGroups> used{};
    unsigned blocks = 0;
    Count end = first;
    for (; end < columns_ && end < first + kStageColumns; ++end) {
      for (unsigned g = 0; g < groups_; ++g)
        if ((groups_of_[end] >> g & 1) != 0 && used[g]++ % kBlockColumns == 0) ++blocks;
      if (blocks > kStageBlocks) break;
    }
    return end - first;
  }

  /// Appends the stage of `count` columns from `first` on; stages in their order.
  void add_stage(Count first, Count count, Panel& panel) {
    const Count before = panel.blocks.size();
    GroupEnds ends = {};
    for (unsigned g = 0; g < groups_; ++g) {
      for (unsigned r = 0; r < kGroupRows; ++r) put_cells(g * kGroupRows + r, r, first, count);
      stage_.move_to(panel.blocks, static_cast<unsigned>(count));
      ends.end[g] = static_cast<std::uint16_t>(panel.blocks.size() - before);
    }
    panel.group_ends.push_back(ends);
    panel.stage_blocks.push_back(static_cast<Index>(panel.blocks.size() - before));
  }

 private:
  void set_groups_of_columns() {
    groups_of_.resize(columns_, 0);
    for (unsigned r = 0; r < cells_.size(); ++r)
      for (const auto& cell : cells_[r])
        groups_of_[cell.first] |= static_cast<std::uint16_t>(1u << r / kGroupRows);
  }
  void put_cells(unsigned row, unsigned of_group, Count first, Count count) {
    const RowCells& cells = cells_[row];
    for (Count& at = at_[row]; at < cells.size() && cells[at].first < first + count; ++at)
      stage_.put(of_group, static_cast<unsigned>(cells[at].first - first), cells[at].second);
  }

  const unsigned groups_;
  const Count columns_;
  std::vector<RowCells> cells_;
  std::vector<Count> at_;                 // by row, the first cell that is in no stage yet
  std::vector<std::uint16_t> groups_of_;  // by column, a bit for each group
  StageCells stage_;
};

Panel panel_of(const Csr& matrix, const Index* rows, unsigned groups) {
  const std::vector<Index> columns = distinct_columns(matrix, rows, groups * kGroupRows);
  PanelRows panel_rows(matrix, rows, groups, columns);
  Panel panel;
  for (Count first = 0, count = 0; first < columns.size(); first += count) {
    count = panel_rows.stage_columns(first);
    panel_rows.add_stage(first, count, panel);
    const auto from = columns.begin() + static_cast<std::ptrdiff_t>(first);
    panel.columns.insert(panel.columns.end(), from, from + static_cast<std::ptrdiff_t>(count));
    panel.columns.resize(panel.group_ends.size() * kStageColumns, kNone);
  }
  return panel;
}

}  // namespace

Count Panels::listed() const {
  return columns.size() - static_cast<Count>(std::count(columns.begin(), columns.end(), kNone));
}

Count Panels::bytes() const {
  return (row_order.size() + stage_start.size() + columns.size() + block_start.size()) *
             sizeof(Index) +
         group_ends.size() * sizeof(GroupEnds) + blocks.size() * sizeof(RowBlock);
}

Panels to_panels(const Csr& matrix, unsigned groups) {
  matrix.check();
  const Count panel_rows = groups * kGroupRows;
  const Count count = (matrix.rows + panel_rows - 1) / panel_rows;
  Panels panels{groups, matrix.rows, matrix.cols, order_of_rows(matrix), {0}, {}, {0}, {}, {}};
  panels.row_order.resize(count * panel_rows, kNone);
  std::vector<Panel> all(count);
#pragma omp parallel for schedule(dynamic, 1)
  for (Count p = 0; p < count; ++p)
    all[p] = panel_of(matrix, panels.row_order.data() + p * panel_rows, groups);
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (Panel& panel : all) {
    if (panels.blocks.size() + panel.blocks.size() >= kMostBlocks)
      throw InputError("S has 2^32 blocks of 16 columns and 8 rows or more");
    for (const Index blocks : panel.stage_blocks)
      panels.block_start.push_back(panels.block_start.back() + blocks);
    append(panels.columns, panel.columns);
    append(panels.group_ends, panel.group_ends);
    append(panels.blocks, panel.blocks);
    panels.stage_start.push_back(static_cast<Index>(panels.group_ends.size()));
    panel = {};
  }
  return panels;
}

}  // namespace retensor::tca_spmm
