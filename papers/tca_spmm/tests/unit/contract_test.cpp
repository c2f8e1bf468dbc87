// The forms of S keep the contract of all formats.
#include <doctest/doctest.h>

#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/operands.hpp"
#include "papers/tca_spmm/format/panel_tasks.hpp"
#include "papers/tca_spmm/format/panels.hpp"
#include "papers/tca_spmm/format/plan.hpp"
#include "papers/tca_spmm/format/tiles.hpp"
#include "tests/contract/format_battery.hpp"

namespace retensor::contract {

void arrays(tca_spmm::HalfCsr& s, Arrays& each) {
  each(s.row_start, s.columns, s.values);
}
void arrays(tca_spmm::Tiles& t, Arrays& each) {
  each(t.tile_start, t.tile_column, t.word_start, t.words);
}
void arrays(tca_spmm::Panels& p, Arrays& each) {
  each(p.row_order, p.stage_start, p.columns, p.block_start, p.blocks);
}

namespace {

/// S with the plan of its rows: those that have warps.
struct Planned : tca_spmm::HalfCsr {
  tca_spmm::Plan plan;

  Count bytes() const { return HalfCsr::bytes() + plan.bytes(); }
  void check() const {
    HalfCsr::check();
    plan.check(row_start);
  }
};

Planned planned(const Coo& x, const tca_spmm::PlanOptions& options) {
  Planned p{tca_spmm::to_half_csr(to_csr(x)), {}};
  p.plan = tca_spmm::make_plan(p.row_start, 64, options);
  return p;
}

}  // namespace

void arrays(Planned& p, Arrays& each) {
  arrays(static_cast<tca_spmm::HalfCsr&>(p), each);
  each(p.plan.row_id_for_each_warp, p.plan.warpid_within_row, p.plan.num_warps_per_row);
}

}  // namespace retensor::contract

TEST_CASE("the forms of S keep the contract of formats") {
  using namespace retensor;
  using namespace retensor::contract;
  using namespace retensor::tca_spmm;
  const FormatTraits listed{.lowest_order = 2, .highest_order = 2, .doubles = false},
      summed{.lowest_order = 2, .highest_order = 2, .doubles = false, .sums = true};
  check_formats({
      format("CSR in halves", listed, [](const Coo& x) { return to_half_csr(to_csr(x)); }),
      format("plan", listed, [](const Coo& x) { return planned(x, {}); }),
      format("plan, by class", listed,
             [](const Coo& x) { return planned(x, {.packing = Packing::by_class}); }),
      format("tiles", summed, [](const Coo& x) { return to_tiles(to_csr(x)); }),
      format("panels", summed, [](const Coo& x) { return to_panels(to_csr(x), kFewGroups); }),
      format("large panels", summed,
             [](const Coo& x) { return to_panels(to_csr(x), kManyGroups); }),
  });
}
