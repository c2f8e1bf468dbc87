#include "papers/tca_spmm/format/panel_tasks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>

namespace retensor::tca_spmm {
namespace {

/// Cycles of a multiprocessor's shared memory, 128 bytes each: a block reads 16 rows of D and its
/// own 288 bytes; a row of D comes at half that rate, at the same time.
constexpr Count kBlockCycles = 20, kRowCycles = 2;
/// Of a task's beginning and end, and of the sums of a part of a panel, assumed.
constexpr Count kTaskCycles = 2000, kSumCycles = 3000;

/// The group of most work counts for all, since its warps work alone.
Count work(const Panels& panels, Count panel) {
  const Count stages = panels.stages(panel);
  Count most = 0;
  for (unsigned group = 0; group < panels.groups; ++group) {
    const Index* const start = &panels.block_start[panels.starts(panel) + group * (stages + 1)];
    most = std::max<Count>(most, start[stages] - start[0]);
  }
  return std::max(panels.groups * most * kBlockCycles, stages * kStageColumns * kRowCycles);
}

/// When the last task ends, each taken by the multiprocessor that is free first, long ones first.
Count end_of_tasks(const std::vector<Count>& work_of, const std::vector<Index>& parts_of,
                   Count across, Count multiprocessors) {
  std::vector<Count> tasks;
  for (Count p = 0; p < work_of.size(); ++p)
    tasks.insert(tasks.end(), parts_of[p] * across,
                 work_of[p] / parts_of[p] + kTaskCycles + (parts_of[p] > 1 ? kSumCycles : 0));
  std::sort(tasks.begin(), tasks.end(), std::greater<>());
  std::priority_queue<Count, std::vector<Count>, std::greater<>> free_at(
      std::greater<>(), std::vector<Count>(multiprocessors, 0));
  Count end = 0;
  for (const Count task : tasks) {
    const Count at = free_at.top() + task;
    free_at.pop();
    free_at.push(at);
    end = std::max(end, at);
  }
  return end;
}

/// Parts of each panel: of a few sizes of parts, in shares of a multiprocessor, the one that ends
/// first.
std::vector<Index> best_parts(const Panels& panels, const std::vector<Count>& work_of, Count across,
                              Count multiprocessors) {
  std::vector<Index> best(work_of.size(), 1);
  Count best_end = end_of_tasks(work_of, best, across, multiprocessors);
  const Count all = std::accumulate(work_of.begin(), work_of.end(), Count{1}) * across;
  for (const double shares : {2.0, 1.5, 1.0, 0.75, 0.5, 0.25}) {
    const double size = shares * static_cast<double>(all) / static_cast<double>(multiprocessors);
    std::vector<Index> parts;
    for (Count p = 0; p < work_of.size(); ++p)
      parts.push_back(static_cast<Index>(
          std::clamp<Count>(static_cast<Count>(std::lround(static_cast<double>(work_of[p]) / size)),
                            1, std::max<Count>(panels.stages(p), 1))));
    const Count end = end_of_tasks(work_of, parts, across, multiprocessors);
    if (end < best_end) best = parts, best_end = end;
  }
  return best;
}

}  // namespace

unsigned groups_of_a_panel(const Csr& matrix, Count across, Count multiprocessors) {
  const Count many_rows = kManyGroups * kGroupRows, few_rows = kFewGroups * kGroupRows;
  const Count tasks = (matrix.rows + many_rows - 1) / many_rows * across;
  // Two nonzeros a column and small panel: nearly all of D is gathered for it, and half as many
  // panels in two parts each take half the gathers. On an H200, 8192 x 8192 and N = 64, that gains
  // 4 to 5% at sparsity 0.8 to 0.95 and loses 6 to 8% at 0.98 and 0.99.
  const bool divided = matrix.nnz() * few_rows >= 2 * matrix.rows * matrix.cols;
  return (divided ? 2 : 1) * tasks * 10 >= multiprocessors * 9 ? kManyGroups : kFewGroups;
}

std::vector<PanelTask> panel_tasks(const Panels& panels, Count across, Count multiprocessors) {
  std::vector<Count> work_of(panels.panels());
  for (Count p = 0; p < panels.panels(); ++p) work_of[p] = work(panels, p);
  const std::vector<Index> parts_of = best_parts(panels, work_of, across, multiprocessors);
  std::vector<PanelTask> tasks;
  Index divided = 0;
  for (Count p = 0; p < panels.panels(); ++p) {
    const Index stages = panels.stages(p);
    const Index parts = parts_of[p];
    for (Index part = 0; part < parts; ++part) {
      const auto first = static_cast<Index>(Count{stages} * part / parts);
      const auto end = static_cast<Index>(Count{stages} * (part + 1) / parts);
      tasks.push_back({static_cast<Index>(p), panels.stage_start[p] + first, end - first,
                       static_cast<Index>(panels.starts(p) + first), stages + 1, part, parts,
                       divided});
    }
    if (parts > 1) divided += parts;
  }
  const auto work_of_part = [&](const PanelTask& t) { return work_of[t.panel] / t.parts; };
  std::stable_sort(tasks.begin(), tasks.end(), [&](const PanelTask& a, const PanelTask& b) {
    return work_of_part(a) > work_of_part(b);
  });
  return tasks;
}

Count parts_of_divided(const std::vector<PanelTask>& tasks) {
  return static_cast<Count>(
      std::count_if(tasks.begin(), tasks.end(), [](const PanelTask& t) { return t.parts > 1; }));
}

}  // namespace retensor::tca_spmm
