#include "papers/tca_spmm/panel_tasks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retensor::tca_spmm {
namespace {

/// Cycles of a multiprocessor's shared memory, 128 bytes each: a block reads 16 rows of D and its
/// own 288 bytes; a row of D comes at half that rate, at the same time.
constexpr Count kBlockCycles = 20, kRowCycles = 2;

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

}  // namespace

unsigned groups_of_a_panel(Count rows, Count across, Count multiprocessors) {
  const Count panel_rows = kManyGroups * kGroupRows;
  const Count tasks = (rows + panel_rows - 1) / panel_rows * across;
  return 10 * tasks >= 9 * multiprocessors ? kManyGroups : kFewGroups;
}

std::vector<PanelTask> panel_tasks(const Panels& panels, Count across, Count multiprocessors) {
  std::vector<Count> work_of(panels.panels());
  for (Count p = 0; p < panels.panels(); ++p) work_of[p] = work(panels, p);
  const Count all = std::accumulate(work_of.begin(), work_of.end(), Count{1}) * across;
  const double share = static_cast<double>(all) / static_cast<double>(multiprocessors);
  std::vector<PanelTask> tasks;
  Index divided = 0;
  for (Count p = 0; p < panels.panels(); ++p) {
    const Index stages = panels.stages(p);
    const auto shares = static_cast<Count>(std::lround(static_cast<double>(work_of[p]) / share));
    const auto parts = static_cast<Index>(std::clamp<Count>(shares, 1, std::max(stages, 1u)));
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
