// How panels are divided over the multiprocessors of a device.
#pragma once

#include <vector>

#include "papers/tca_spmm/format/panels.hpp"

namespace retensor::tca_spmm {

/// Of a panel: many share gathered rows of D better, few make more panels.
inline constexpr unsigned kFewGroups = 8, kManyGroups = 16;

/// Some stages of a panel, which a thread block takes.
struct PanelTask {
  Index panel = 0, first_stage = 0, stages = 0;
  Index starts = 0;           ///< place in block_start of group 0 and the task's first stage
  Index group_starts = 0;     ///< entries of a group in block_start
  Index part = 0, parts = 1;  ///< of the panel
  Index sums = 0;             ///< place of the panel's first part among those of all divided panels
};

/// kManyGroups where such panels of `matrix`, or two parts of each where it is dense, times
/// `across` blocks of columns of D keep `multiprocessors` busy.
unsigned groups_of_a_panel(const Csr& matrix, Count across, Count multiprocessors);

/// Tasks for each of `across` blocks of columns, those of most work first. Panels are divided where
/// that lets the device end earlier.
std::vector<PanelTask> panel_tasks(const Panels& panels, Count across, Count multiprocessors);
/// Parts of the panels that have more than one.
Count parts_of_divided(const std::vector<PanelTask>& tasks);

}  // namespace retensor::tca_spmm
