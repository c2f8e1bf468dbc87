// Panels: every nonzero once at its place, lanes that meet in no bank, rows of similar length
// together, and work divided into tasks that hold each stage once.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "common/numeric/rounding.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/panel_tasks.hpp"
#include "papers/tca_spmm/format/panels.hpp"
#include "papers/tca_spmm/tests/unit/cells.hpp"

using namespace retensor;
using namespace retensor::tca_spmm;

namespace {

/// Loads of eight lanes, of four rows of D and two vectors, that share a bank.
Count conflicts(const RowBlock& block) {
  Count sum = 0;
  for (unsigned i = 0; i < 4; ++i) {
    std::set<unsigned> banks;
    for (unsigned t = 0; t < 4; ++t) banks.insert(block.places[t][i] % kStageRowBytes);
    sum += 4 - banks.size();
  }
  return sum;
}

}  // namespace

TEST_CASE(
    "vectors of a stage's rows stand in 16 bytes each, those of four neighbours in all banks") {
  std::set<unsigned> places, banks;
  for (unsigned place = 0; place < kStageColumns; ++place)
    for (unsigned v = 0; v < 8; ++v) places.insert(place_in_stage(place) ^ v * 16);
  CHECK(places.size() == kStageColumns * 8);
  CHECK(*places.rbegin() == kStageColumns * kStageRowBytes - 16);
  for (unsigned place = 5; place < 9; ++place)
    for (unsigned v : {4, 5}) banks.insert((place_in_stage(place) ^ v * 16) % 128);
  CHECK(banks.size() == 8);
}

TEST_CASE("panels hold the nonzeros of the matrix and list each column once") {
  for (const unsigned groups : {kFewGroups, kManyGroups})
    for (const Count nnz : {1, 700, 60000}) {
      const Coo matrix = uniform({300, 700}, nnz, nnz, DType::f32);
      const Panels panels = to_panels(to_csr(matrix), groups);
      CHECK(panels.panels() == (300 + 8 * groups - 1) / (8 * groups));
      panels.check();
      CHECK(cells_of(panels.to_coo()) == cells_of(matrix));
      std::set<std::pair<Count, Count>> listed;
      std::map<Count, Count> panel_of;
      for (Count at = 0; at < panels.row_order.size(); ++at)
        if (panels.row_order[at] != kNone)
          CHECK(panel_of.emplace(panels.row_order[at], at / (8 * groups)).second);
      CHECK(panel_of.size() == 300);
      for (const auto& [at, value] : cells_of(matrix))
        listed.emplace(panel_of[at.first], at.second);
      CHECK(panels.listed() == listed.size());
    }
}

TEST_CASE("nearly all loads of rows of D are without conflicts") {
  const Panels panels = to_panels(to_csr(uniform({64, 2000}, 12800, 1, DType::f32)), kFewGroups);
  Count shared = 0, loads = 0;
  for_each_block(panels, [&](const RowBlock& block, Count, const Index*) {
    shared += conflicts(block), loads += 16;
  });
  CHECK(loads > 5000);
  CHECK(shared * 10 < loads);
  RowBlock same = {};  // all of one class
  CHECK(conflicts(same) == 12);
}

TEST_CASE("rows stand by length, those of similar length in their order") {
  const std::vector<Count> lengths = {3, 100, 0, 40, 101, 41, 100, 3};
  Csr s;
  s.rows = lengths.size(), s.cols = 200;
  s.row_start = {0};
  for (const Count n : lengths) {
    for (Index c = 0; c < n; ++c) s.columns.push_back(c);
    s.row_start.push_back(s.columns.size());
  }
  s.values = Values(DType::f32, s.columns.size());
  const Panels panels = to_panels(s, kFewGroups);
  CHECK(std::vector(panels.row_order.begin(), panels.row_order.begin() + 9) ==
        std::vector<Index>{1, 4, 6, 3, 5, 0, 7, 2, kNone});
}

TEST_CASE("tasks hold each stage of each panel once; the panel of a long row is divided") {
  // One row of all columns, the others short.
  Coo matrix = uniform({1000, 5000}, 20000, 3, DType::f32);
  const Count before = matrix.nnz();
  Coo skewed({1000, 5000}, DType::f32, before + 5000);
  for (Count x = 0; x < before + 5000; ++x) {
    skewed.indices[0][x] = x < before ? matrix.indices[0][x] : 7;
    skewed.indices[1][x] = x < before ? matrix.indices[1][x] : static_cast<Index>(x - before);
    skewed.values.set(x, 1);
  }
  const Panels panels = to_panels(to_csr(skewed), kFewGroups);
  const auto tasks = panel_tasks(panels, 2, 132);
  std::set<Index> stages;
  Count parts = 0, parts_of_first = 0;
  for (const PanelTask& t : tasks) {
    if (t.panel == 0) ++parts_of_first;
    for (Index s = 0; s < t.stages; ++s) CHECK(stages.insert(t.first_stage + s).second);
    CHECK(t.starts - panels.starts(t.panel) == t.first_stage - panels.stage_start[t.panel]);
    CHECK(t.group_starts == panels.stages(t.panel) + 1);
    if (t.parts > 1) ++parts;
  }
  CHECK(stages.size() == panels.stage_start.back());
  CHECK(parts_of_first > 4);
  CHECK(parts_of_divided(tasks) == parts);
  for (const PanelTask& t : panel_tasks(panels, 1, 1)) CHECK(t.parts == 1);
}

TEST_CASE("many groups where their panels, or two parts of dense ones, keep the device busy") {
  Csr s;
  s.rows = 8192, s.cols = 8192;
  const auto groups = [&](Count nnz, Count across) {
    s.values = Values(DType::f32, nnz);
    return groups_of_a_panel(s, across, 132);
  };
  CHECK(groups(671089, 2) == kManyGroups);
  CHECK(groups(671089, 1) == kFewGroups);
  CHECK(groups(3355443, 1) == kManyGroups);
  s.rows = 4096;
  CHECK(groups(3355443, 1) == kFewGroups);
}

TEST_CASE("an empty matrix has panels without stages; equal coordinates are added up") {
  Csr s;
  s.rows = 2, s.cols = 4;
  s.row_start = {0, 0, 0};
  s.values = Values(DType::f32, 0);
  const Panels empty = to_panels(s, kFewGroups);
  CHECK(empty.panels() == 1);
  CHECK(empty.stages(0) == 0);
  CHECK(panel_tasks(empty, 1, 132).size() == 1);
  s.row_start = {0, 3, 3};
  s.columns = {1, 1, 3};
  s.values = Array<float>{1, 2, 5};
  CHECK(cells_of(to_panels(s, kFewGroups).to_coo()) ==
        Cells{{{0, 1}, to_fp16_bits(3)}, {{0, 3}, to_fp16_bits(5)}});
  s.columns[2] = 4;
  CHECK_THROWS_AS(to_panels(s, kFewGroups), InputError);
}
