#include "papers/tca_spmm/format/panels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "common/core/message.hpp"
#include "common/numeric/rounding.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/csr_sums.hpp"

namespace retensor::tca_spmm {
namespace {

constexpr Count kMostBlocks = Count{1} << 32;
/// Places of a block in slots of a lane's four.
constexpr unsigned kSlots = 4;

struct Panel {
  std::vector<Index> columns;
  std::vector<Index> block_start;  // by group and stage, from 0
  std::vector<RowBlock> blocks;
};

/// A cell of a group in one stage that is not zero.
struct Cell {
  unsigned row, place;
  std::uint16_t value;
};
/// The cells of a stage, by place and row of the group.
using StageValues = std::array<std::array<std::uint16_t, kGroupRows>, kStageColumns>;
constexpr Index kEmpty = kStageColumns;  // no place
using Slots = std::array<std::vector<Index>, kPlaceClasses>;

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

/// Places with cells by the lanes t that load them: each of its own class as far as the blocks
/// reach, so that lanes meet in no bank; the others where there is room.
Slots places_by_slot(const std::array<bool, kStageColumns>& used) {
  Slots slots;
  for (Index place = 0; place < kStageColumns; ++place)
    if (used[place]) slots[place % kPlaceClasses].push_back(place);
  const auto places = static_cast<Count>(std::count(used.begin(), used.end(), true));
  const Count size = (places + kBlockColumns - 1) / kBlockColumns * kSlots;
  std::vector<Index> left;
  for (auto& slot : slots)
    for (; slot.size() > size; slot.pop_back()) left.push_back(slot.back());
  for (auto& slot : slots) {
    for (; slot.size() < size && !left.empty(); left.pop_back()) slot.push_back(left.back());
    slot.resize(size, kEmpty);
  }
  return slots;
}

/// The block of slots `first` to first + 3. `listed`: places that a row of D stands at.
RowBlock block_of(const StageValues& values, const Slots& slots, Count first, unsigned listed) {
  RowBlock block = {};
  for (unsigned t = 0; t < kPlaceClasses; ++t)
    for (unsigned i = 0; i < kSlots; ++i) {
      const Index place = slots[t][first + i];
      // A place without nonzeros: any that holds a row of D, times zero.
      block.places[t][i] = static_cast<std::uint16_t>(
          place_in_stage(place == kEmpty ? std::min(t, listed - 1) : place));
      if (place == kEmpty) continue;
      for (unsigned g = 0; g < kGroupRows; ++g)
        block.values[4 * g + t][i / 2] |= std::uint32_t{values[place][g]} << i % 2 * 16;
    }
  return block;
}

/// Appends the blocks of a group in one stage.
void add_blocks(const std::vector<Cell>& cells, unsigned listed, std::vector<RowBlock>& blocks) {
  StageValues values = {};
  std::array<bool, kStageColumns> used = {};
  for (const Cell& cell : cells) {
    used[cell.place] = true;
    values[cell.place][cell.row] = cell.value;
  }
  const Slots slots = places_by_slot(used);
  for (Count first = 0; first < slots[0].size(); first += kSlots)
    blocks.push_back(block_of(values, slots, first, listed));
}

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

/// Appends the blocks of a group of rows.
void add_group(const Csr& matrix, const Index* rows, Panel& panel) {
  const auto& columns = panel.columns;
  std::vector<std::vector<Cell>> stages((columns.size() + kStageColumns - 1) / kStageColumns);
  for (unsigned g = 0; g < kGroupRows; ++g) {
    if (rows[g] == kNone) continue;
    auto at = columns.begin();
    for_each_sum(matrix, rows[g], [&](Index column, float sum) {
      at = std::lower_bound(at, columns.end(), column);
      const auto place = static_cast<Count>(at - columns.begin());
      stages[place / kStageColumns].push_back(
          {g, static_cast<unsigned>(place % kStageColumns), to_fp16_bits(sum)});
    });
  }
  panel.block_start.push_back(static_cast<Index>(panel.blocks.size()));
  for (Count s = 0; s < stages.size(); ++s) {
    const auto listed = std::min<Count>(kStageColumns, columns.size() - s * kStageColumns);
    add_blocks(stages[s], static_cast<unsigned>(listed), panel.blocks);
    panel.block_start.push_back(static_cast<Index>(panel.blocks.size()));
  }
}

Panel panel_of(const Csr& matrix, const Index* rows, unsigned groups) {
  Panel panel;
  panel.columns = distinct_columns(matrix, rows, groups * kGroupRows);
  for (unsigned group = 0; group < groups; ++group)
    add_group(matrix, rows + group * kGroupRows, panel);
  const Count stages = (panel.columns.size() + kStageColumns - 1) / kStageColumns;
  panel.columns.resize(stages * kStageColumns, kNone);
  return panel;
}

void check_sizes(const Panels& panels) {
  const Count panel_rows = Count{panels.groups} * kGroupRows;
  if (panels.groups == 0 || panels.stage_start.empty() || panels.stage_start.front() != 0 ||
      panels.panels() != (panels.rows + panel_rows - 1) / panel_rows ||
      panels.row_order.size() != panels.panels() * panel_rows)
    throw input_error("panels: rows, groups and panels disagree in number");
  if (!std::is_sorted(panels.stage_start.begin(), panels.stage_start.end()) ||
      panels.columns.size() != panels.stage_start.back() * Count{kStageColumns} ||
      panels.block_start.size() != panels.starts(panels.panels()))
    throw input_error("panels: stages, columns and starts of blocks disagree in number");
  const Count blocks = panels.block_start.empty() ? 0 : panels.block_start.back();
  if (panels.blocks.size() != blocks + kReadAhead)
    throw input_error("panels: found {} blocks, expected {} and {} zeros", panels.blocks.size(),
                      blocks, kReadAhead);
}

void check_row_order(const Panels& panels) {
  std::vector<bool> taken(panels.rows, false);
  for (Count at = 0; at < panels.row_order.size(); ++at) {
    const Index row = panels.row_order[at];
    if ((row == kNone) != (at >= panels.rows) ||
        (row != kNone && (row >= panels.rows || taken[row])))
      throw input_error("panels: row {} at place {} is none, or stands twice", row, at);
    if (row != kNone) taken[row] = true;
  }
}

/// A stage's first place is taken, free ones are a panel's last.
void check_columns(const Panels& panels) {
  for (Count p = 0; p < panels.panels(); ++p) {
    const Count begin = panels.stage_start[p] * Count{kStageColumns},
                end = panels.stage_start[p + 1] * Count{kStageColumns};
    for (Count at = begin; at < end; ++at) {
      const Index column = panels.columns[at];
      const bool ends = column == kNone && at % kStageColumns != 0 && at + kStageColumns >= end;
      if (!ends && (column >= panels.cols || (at > begin && column <= panels.columns[at - 1])))
        throw input_error("panel {}: column {} at place {} is none, or does not ascend", p, column,
                          at - begin);
    }
  }
}

/// The column of S at a place of a stage that a block names.
Index column_at(const Panels& panels, Count stage, unsigned bytes) {
  return panels.columns[stage * kStageColumns + bytes / kStageRowBytes];
}

std::uint16_t half_of(const RowBlock& block, unsigned lane, unsigned i) {
  return static_cast<std::uint16_t>(block.values[lane][i / 2] >> i % 2 * 16);
}

void check_places(const Panels& panels, const RowBlock& block, Count stage) {
  for (const auto& places : block.places)
    for (const unsigned bytes : places)
      if (bytes / kStageRowBytes >= kStageColumns ||
          bytes != place_in_stage(bytes / kStageRowBytes) ||
          column_at(panels, stage, bytes) == kNone)
        throw input_error("stage {}: a block names byte {}, where no row of D stands", stage,
                          bytes);
}

void check_read_ahead(const Panels& panels) {
  const RowBlock zero = {};
  for (Count b = panels.blocks.size() - kReadAhead; b < panels.blocks.size(); ++b)
    if (std::memcmp(&panels.blocks[b], &zero, sizeof zero) != 0)
      throw input_error("panels: a block behind the last is not zero");
}

}  // namespace

Count Panels::listed() const {
  return columns.size() - static_cast<Count>(std::count(columns.begin(), columns.end(), kNone));
}

Count Panels::bytes() const {
  return (row_order.size() + stage_start.size() + columns.size() + block_start.size()) *
             sizeof(Index) +
         blocks.size() * sizeof(RowBlock);
}

Coo Panels::to_coo() const {
  Coo matrix({rows, cols}, DType::f32);
  Array<float> values;
  for_each_block(*this, [&](const RowBlock& block, Count stage, const Index* group) {
    for (unsigned lane = 0; lane < 4 * kGroupRows; ++lane)
      for (unsigned i = 0; i < kSlots; ++i) {
        const float value = from_fp16_bits(half_of(block, lane, i));
        if (value == 0) continue;
        matrix.indices[0].push_back(group[lane / 4]);
        matrix.indices[1].push_back(column_at(*this, stage, block.places[lane % 4][i]));
        values.push_back(value);
      }
  });
  matrix.values = std::move(values);
  return matrix;
}

void Panels::check() const {
  check_sizes(*this);
  check_row_order(*this);
  check_columns(*this);
  if (!std::is_sorted(block_start.begin(), block_start.end()))
    throw input_error("panels: blocks do not follow each other");
  for_each_block(*this, [this](const RowBlock& block, Count stage, const Index*) {
    check_places(*this, block, stage);
  });
  check_read_ahead(*this);
  Coo cells = to_coo();
  cells.check();
  dedupe(cells, Duplicates::error);
}

Panels to_panels(const Csr& matrix, unsigned groups) {
  matrix.check();
  const Count panel_rows = groups * kGroupRows;
  const Count count = (matrix.rows + panel_rows - 1) / panel_rows;
  Panels panels{groups, matrix.rows, matrix.cols, order_of_rows(matrix), {0}, {}, {}, {}};
  panels.row_order.resize(count * panel_rows, kNone);
  std::vector<Panel> all(count);
#pragma omp parallel for schedule(dynamic, 1)
  for (Count p = 0; p < count; ++p)
    all[p] = panel_of(matrix, panels.row_order.data() + p * panel_rows, groups);
  for (Panel& panel : all) {
    const Count before = panels.blocks.size();
    if (before + panel.blocks.size() >= kMostBlocks)
      throw input_error("S has 2^32 blocks of 16 columns and 8 rows or more");
    for (const Index start : panel.block_start)
      panels.block_start.push_back(static_cast<Index>(before + start));
    panels.columns.insert(panels.columns.end(), panel.columns.begin(), panel.columns.end());
    panels.stage_start.push_back(static_cast<Index>(panels.columns.size() / kStageColumns));
    panels.blocks.insert(panels.blocks.end(), panel.blocks.begin(), panel.blocks.end());
    panel = {};
  }
  panels.blocks.resize(panels.blocks.size() + kReadAhead);
  return panels;
}

}  // namespace retensor::tca_spmm
