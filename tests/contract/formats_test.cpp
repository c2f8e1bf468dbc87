// The formats of common/ keep the contract of format_battery.hpp, and the battery finds what breaks
// it.
#include <doctest/doctest.h>

#include "common/baselines/b_csf/format.hpp"
#include "common/baselines/blco/format.hpp"
#include "common/baselines/f_coo/format.hpp"
#include "common/baselines/mm_csf/format.hpp"
#include "common/formats/csf.hpp"
#include "common/formats/hicoo.hpp"
#include "common/tensor/csr.hpp"
#include "common/tensor/semi_sparse.hpp"
#include "tests/contract/format_battery.hpp"

namespace retensor::contract {

void arrays(Coo& x, Arrays& each) {
  each(x.indices, x.values);
}
void arrays(SemiSparseCoo& x, Arrays& each) {
  each.beside(x.dense_modes);
  each(x.indices, x.values);
}
void arrays(Csr& s, Arrays& each) {
  each(s.row_start, s.columns);
  each.length_of(s.values);
}
void arrays(Csf& f, Arrays& each) {
  each.beside(f.modes);
  each(f.index, f.start, f.values);
}
void arrays(b_csf::BCsf& f, Arrays& each) {
  arrays(f.csf, each);
  each(f.shares);
}
void arrays(mm_csf::MmCsf& f, Arrays& each) {
  for (Csf& tree : f.trees) arrays(tree, each);
}
void arrays(Hicoo& h, Arrays& each) {
  each.beside(h.blocked, h.plain, h.dense);
  each(h.block_start, h.block_index, h.element, h.plain_index, h.values);
}
void arrays(blco::Blco& f, Arrays& each) {
  each.beside(f.width, f.shift);
  each(f.key, f.values, f.block_start, f.base);
}
void arrays(f_coo::FCoo& f, Arrays& each) {
  each(f.others, f.values, f.start, f.part_start, f.part_segment, f.row);
}

namespace {

std::vector<int> reversed_modes(const Coo& x) {
  auto modes = natural_order(x.order());
  std::reverse(modes.begin(), modes.end());
  return modes;
}

/// Formats that break a clause each.
struct OneByteMore : Coo {
  Count bytes() const { return Coo::bytes() + 1; }
};
struct OneNonzeroMore : Coo {
  Count nnz() const { return Coo::nnz() + 1; }
};
struct OneModeMore : Coo {
  int order() const { return Coo::order() + 1; }
};
struct Blind : Coo {
  void check() const {}
};

/// COO with a fault.
template <class Fault>
Format faulty(const Fault& fault, int highest_order = kMaxOrder) {
  const auto convert = [fault](Coo x) {
    if (x.nnz() > 0) fault(x);
    return x;
  };
  return format("faulty", {.highest_order = highest_order}, convert);
}

}  // namespace
}  // namespace retensor::contract

using namespace retensor;
using contract::FormatBattery;

TEST_CASE("the formats of common/ keep the contract") {
  using namespace contract;
  const FormatTraits any{}, matrix{.lowest_order = 2, .highest_order = 2},
      fibers{.lowest_order = 2}, blocks{.sums = true, .zeros = true};
  check_formats({
      format("COO", any, [](const Coo& x) { return x; }),
      format("sCOO", blocks, [](const Coo& x) { return to_semi_sparse(x, {x.order() - 1}); }),
      format("CSR", matrix, [](const Coo& x) { return to_csr(x); }),
      format("CSF", any, [](const Coo& x) { return to_csf(x); }),
      format("CSF, levels reversed, fibers cut", any,
             [](const Coo& x) {
               return to_csf(x, {reversed_modes(x), 3});
             }),
      format("CSF, fibers of one", any,
             [](const Coo& x) {
               return to_csf(x, {{}, 1});
             }),
      format("B-CSF", fibers, [](const Coo& x) { return b_csf::to_b_csf(x, 0); }),
      format("B-CSF, last mode, cut", fibers,
             [](const Coo& x) {
               return b_csf::to_b_csf(x, x.order() - 1, {3, 2});
             }),
      format("MM-CSF", fibers, [](const Coo& x) { return mm_csf::to_mm_csf(x); }),
      format("MM-CSF, cut", fibers, [](const Coo& x) { return mm_csf::to_mm_csf(x, 2); }),
      format("HiCOO", any, [](const Coo& x) { return to_hicoo(x); }),
      format("HiCOO, edge 2, first mode first", any,
             [](const Coo& x) {
               return to_hicoo(x, {1, {}, 0});
             }),
      format("gHiCOO", any,
             [](const Coo& x) {
               return to_hicoo(x, {3, {x.order() - 1}});
             }),
      format("sHiCOO", blocks, [](const Coo& x) { return to_hicoo(to_semi_sparse(x, {0}), 2); }),
      format("BLCO", any, [](const Coo& x) { return blco::to_blco(x); }),
      format("F-COO", fibers, [](const Coo& x) { return f_coo::to_f_coo(x, 0, 8); }),
      format("F-COO, last mode", fibers,
             [](const Coo& x) { return f_coo::to_f_coo(x, x.order() - 1, 7); }),
  });
}

TEST_CASE("the battery finds each planted fault") {
  using namespace contract;
  const auto of = []<class F>(F) {
    return format("planted", {}, [](const Coo& x) { return F{x}; });
  };
  const std::vector<Format> planted = {
      of(OneByteMore{}),
      of(OneNonzeroMore{}),
      of(OneModeMore{}),
      faulty([](Coo& x) { x = Coo(x.dims, x.dtype()); }),
      faulty([](Coo& x) { x.indices.back().back() = 0; }),
      faulty([](Coo& x) { x.values.set(0, -1); }),
      faulty([](Coo& x) { ++x.dims.front(); }),
      faulty([](Coo& x) { x.values = x.values.cast(DType::f32); }),
      faulty([](Coo& x) { x.indices.front().front() = static_cast<Index>(x.dims.front()); }),
      faulty([](Coo& x) { dedupe(x, Duplicates::sum); }),
      faulty([](Coo& x) { dedupe(x, Duplicates::error); }),
      faulty([](Coo&) {}, 7),
      faulty([](Coo& x) { x.order() == 8 ? throw InputError("") : 0; }, 7),
      faulty([](Coo& x) { x.order() == 8 ? throw LogicError("8") : 0; }, 7)};
  for (std::size_t k = 0; k < planted.size(); ++k) {
    CAPTURE(k);
    CHECK_FALSE(FormatBattery(planted[k]).breaches().empty());
  }
  CHECK(FormatBattery(of(Coo{})).unnoticed().empty());
  CHECK_FALSE(FormatBattery(of(Blind{})).unnoticed().empty());
}
