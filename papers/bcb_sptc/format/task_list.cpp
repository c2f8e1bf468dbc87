#include "papers/bcb_sptc/format/task_list.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/tensor/keys.hpp"
#include "common/tensor/positions.hpp"
#include "papers/bcb_sptc/format/bits.hpp"

namespace retensor::bcb_sptc {
namespace {

constexpr Count kNoGroup = std::numeric_limits<Count>::max();

Uint128 leading_part(const Bcb& bcb, Count block) {
  return bcb.grid.leading_part(bcb.block_index.at(block));
}
Uint128 trailing_part(const Bcb& bcb, Count block) {
  return bcb.grid.trailing_part(bcb.block_index.at(block));
}

/// The first block of each different leading part, and the end.
std::vector<Count> leading_runs(const Bcb& bcb) {
  auto runs = positions_where(bcb.blocks(), [&](Count b) {
    return b == 0 || leading_part(bcb, b) != leading_part(bcb, b - 1);
  });
  runs.push_back(bcb.blocks());
  return runs;
}

/// The rank of each block's trailing part among the different ones.
std::vector<Index> trailing_ranks(const Bcb& bcb) {
  std::vector<Uint128> parts(bcb.blocks());
#pragma omp parallel for schedule(static)
  for (Count b = 0; b < parts.size(); ++b) parts[b] = trailing_part(bcb, b);
  auto different = parts;
  sort_keys(different);
  different.erase(std::unique(different.begin(), different.end()), different.end());
  std::vector<Index> ranks(parts.size());
#pragma omp parallel for schedule(static)
  for (Count b = 0; b < parts.size(); ++b)
    ranks[b] =
        static_cast<Index>(std::ranges::lower_bound(different, parts[b]) - different.begin());
  return ranks;
}

}  // namespace

TaskList::TaskList(const Operands& operands, bool intersect, const Room& room)
    : operands_(operands),
      intersect_(intersect),
      room_(room),
      x_rows_(leading_runs(operands.x)),
      y_groups_(leading_runs(operands.y)),
      column_(trailing_ranks(operands.y)),
      mask_words_((operands.contracted() + 63) / 64) {}

void TaskList::build() {
  if (intersect_) find_contracted_cells();
  pair_blocks();
  compress();
}

void TaskList::find_contracted_cells() {
  const Index contracted = operands_.contracted(), columns = operands_.columns();
  x_mask_.assign(operands_.x.blocks() * mask_words_, 0);
  y_mask_.assign(operands_.y.blocks() * mask_words_, 0);
  const auto mark = [](std::uint64_t* mask, Index k) {
    mask[k / 64] |= std::uint64_t{1} << (k % 64);
  };
#pragma omp parallel for schedule(static)
  for (Count b = 0; b < operands_.x.blocks(); ++b)
    for_each_bit(operands_.x.bitmap_of(b),
                 [&](Index cell) { mark(&x_mask_[b * mask_words_], cell & (contracted - 1)); });
#pragma omp parallel for schedule(static)
  for (Count b = 0; b < operands_.y.blocks(); ++b)
    for_each_bit(operands_.y.bitmap_of(b),
                 [&](Index cell) { mark(&y_mask_[b * mask_words_], cell / columns); });
}

bool TaskList::shares_a_cell(Task task) const {
  const std::uint64_t* const x = &x_mask_[task.x * mask_words_];
  const std::uint64_t* const y = &y_mask_[task.y * mask_words_];
  for (Count w = 0; w < mask_words_; ++w)
    if ((x[w] & y[w]) != 0) return true;
  return false;
}

void TaskList::pair_blocks() {
  const Count blocks = operands_.x.blocks();
  group_.resize(blocks);
  first_pair_.assign(blocks + 1, 0);
  const auto contracted_part = [&](Count first) { return leading_part(operands_.y, first); };
#pragma omp parallel for schedule(static)
  for (Count b = 0; b < blocks; ++b) {
    const auto part = trailing_part(operands_.x, b);
    const auto end = y_groups_.end() - 1;
    const auto found = std::ranges::lower_bound(y_groups_.begin(), end, part, {}, contracted_part);
    const bool matches = found != end && contracted_part(*found) == part;
    group_[b] = matches ? static_cast<Count>(found - y_groups_.begin()) : kNoGroup;
    first_pair_[b + 1] = matches ? *(found + 1) - *found : 0;
  }
  std::partial_sum(first_pair_.begin(), first_pair_.end(), first_pair_.begin());
  pairs_ = first_pair_.back();
  if (tasks_.size() < pairs_) room_.require("pairs of blocks", pairs_, sizeof(Task));
  tasks_.resize(pairs_);
}

TaskList::Range TaskList::expand_row(Count row) {
  const Count begin = first_pair_[x_rows_[row]];
  Count end = begin;
  for (Count b = x_rows_[row]; b < x_rows_[row + 1]; ++b) {
    if (group_[b] == kNoGroup) continue;
    for (Count y = y_groups_[group_[b]]; y < y_groups_[group_[b] + 1]; ++y) {
      const Task task{static_cast<Index>(b), static_cast<Index>(y)};
      if (!intersect_ || shares_a_cell(task)) tasks_[end++] = task;
    }
  }
  std::sort(tasks_.data() + begin, tasks_.data() + end, [&](const Task& a, const Task& b) {
    return column_[a.y] != column_[b.y] ? column_[a.y] < column_[b.y] : a.x < b.x;
  });
  return {begin, end - begin};
}

void TaskList::compress() {
  const Count rows = x_rows_.size() - 1;
  row_tasks_.resize(rows);
  first_result_.assign(rows + 1, 0);
  const auto begins_result = [&](const Range& row, Count t) {
    return t == row.begin || column_[tasks_[t].y] != column_[tasks_[t - 1].y];
  };
  Count kept = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : kept)
  for (Count r = 0; r < rows; ++r) {
    const Range row = row_tasks_[r] = expand_row(r);
    kept += row.size;
    for (Count t = row.begin; t < row.begin + row.size; ++t)
      first_result_[r + 1] += begins_result(row, t) ? 1U : 0U;
  }
  tasks_kept_ = kept;
  std::partial_sum(first_result_.begin(), first_result_.end(), first_result_.begin());
  results_.resize(first_result_.back());
#pragma omp parallel for schedule(dynamic, 1)
  for (Count r = 0; r < rows; ++r) {
    const Range row = row_tasks_[r];
    Count result = first_result_[r];
    for (Count t = row.begin; t < row.begin + row.size; ++t) {
      if (begins_result(row, t)) results_[result++] = {t, 0};
      ++results_[result - 1].size;
    }
  }
}

}  // namespace retensor::bcb_sptc
