// The contract battery over the CUDA methods of the registry, and competitors whose one copy of the
// tensor serves all modes.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/generate/generators.hpp"
#include "common/method/registry.hpp"
#include "tests/contract/checks.hpp"
#include "tests/contract/variants.hpp"

using namespace retensor;

namespace {

/// A method counts when `takes` it.
template <class F>
void check_contract(const contract::Scope& scope, F&& takes) {
  const Registry registry = all_methods();
  const auto methods = contract::methods_of(
      registry, [&](const Method& m) { return m.backend() == Backend::cuda && takes(m); });
  const auto report = contract::run_battery(methods, scope);
  contract::check(report);
  for (const auto& [id, solved] : report.solved) {
    MESSAGE(id << ": " << solved << " right answers to " << report.problems << " problems");
    CHECK_MESSAGE(solved > 0, id);
  }
}

/// BLCO adds up modes of at most 100 rows in another way: the last one is short.
Problem problem(Operation operation, int mode = 0) {
  static const auto x = std::make_shared<const Coo>(uniform({300, 200, 40}, 20000, 1, DType::f32));
  ProblemSpec spec;
  spec.operation = operation;
  spec.mode = mode;
  spec.rank = 32;
  return {spec, x};
}

std::unique_ptr<Prepared> after_two_runs(const Method& method, const Problem& p) {
  auto prepared = method.prepare(p, method.params().resolve({}));
  const auto timer = device::make_event_timer();
  for (int run = 0; run < 2; ++run) {
    timer->start();
    prepared->run(*timer);
    timer->stop();
  }
  return prepared;
}

/// Fails unless the second run's result is right.
Footprint checked_footprint(const Method& method, const Problem& p) {
  const auto prepared = after_two_runs(method, p);
  const auto report = p.oracle().check(prepared->result(), reference::Precision::of(p.dtype()));
  CHECK_MESSAGE(report.ok, method.id() << ": " << report.reason);
  return prepared->footprint();
}

}  // namespace

TEST_CASE("all") {
  check_contract({}, [](const Method&) { return true; });
}
// What a sanitiser has the time for, in parts that can run side by side. MTTKRP over all modes
// starts the kernels of MTTKRP, or others for methods that take all modes as one. CP-ALS starts no
// kernels but those of MTTKRP.
template <class F>
void check_order3(F&& takes) {
  using enum Operation;
  const contract::Scope scope{3, 3, {tew, ts, ttv, ttm, ttm_chain, mttkrp}, {16, 33}};
  check_contract(scope, [&](const Method& m) {
    const auto solves = m.operations();
    return takes(m.id()) && !m.takes_all_modes() &&
           std::find_first_of(solves.begin(), solves.end(), scope.operations.begin(),
                              scope.operations.end()) != solves.end();
  });
}
bool of_pasta(std::string_view id) {
  return id.starts_with("pasta.");
}
bool of_hlsto(std::string_view id) {
  return id.starts_with("hlsto.");
}
TEST_CASE("order3-pasta" * doctest::skip()) {
  check_order3(of_pasta);
}
TEST_CASE("order3-hlsto" * doctest::skip()) {
  check_order3(of_hlsto);
}
/// A part of it, started by hand.
TEST_CASE("order3-hlsto-half" * doctest::skip()) {
  check_contract({3, 3, {Operation::mttkrp, Operation::ttm_chain}, {16}, {"unsorted"}},
                 [](const Method& m) { return m.id() == "hlsto.cuda.half"; });
}
TEST_CASE("order3-others" * doctest::skip()) {
  check_order3([](std::string_view id) { return !of_pasta(id) && !of_hlsto(id); });
}
/// FLYCOO's methods have a test of their own.
TEST_CASE("order3-all-modes" * doctest::skip()) {
  check_contract({3, 3, {Operation::mttkrp_all}, {16, 33}}, [](const Method& m) {
    return m.takes_all_modes() && !m.id().starts_with("flycoo.");
  });
}
/// Of one tensor: a method of contraction starts dozens of kernels, most of them CUB's. Without
/// slabs, which start bcb_sptc.cuda's, and cuSPARSE, whose kernels are not ours: initcheck finds
/// that one reads what none has written.
template <class F>
void check_contractions(F&& takes) {
  check_contract({3, 3, {Operation::contraction}, {}, {"unsorted"}}, [&](const Method& m) {
    return m.operations() == std::vector{Operation::contraction} && takes(m.id());
  });
}
bool is_bcb(std::string_view id) {
  return id == "bcb_sptc.cuda";
}
TEST_CASE("order3-bcb" * doctest::skip()) {
  check_contractions(is_bcb);
}
/// Started by hand: racecheck would take minutes.
TEST_CASE("all-bcb" * doctest::skip()) {
  check_contract({1, 5, {Operation::contraction}}, [](const Method& m) { return is_bcb(m.id()); });
}
// Each method apart, so that a sanitiser can run them side by side.
TEST_CASE("order3-contraction" * doctest::skip()) {
  const Registry registry = all_methods();
  const auto others = contract::methods_of(registry, [](const Method& m) {
    return m.backend() == Backend::cuda && m.operations() == std::vector{Operation::contraction} &&
           !is_bcb(m.id()) && m.id() != "bcb_sptc.cuda.slabs" && m.id() != "cusparse_spgemm.cuda";
  });
  REQUIRE(!others.empty());
  for (const Method* m : others) SUBCASE(std::string(m->id()).c_str()) {
      check_contractions([&](std::string_view id) { return id == m->id(); });
    }
}

/// Started by hand: of one method, and what racecheck has the time for.
TEST_CASE("all-fibers" * doctest::skip()) {
  check_contract({2, 8, {Operation::mttkrp, Operation::mttkrp_all, Operation::ttm_chain}},
                 [](const Method& m) { return m.id() == "hlsto.cuda.fibers"; });
}
/// Results of 33 columns have rows that cannot be added to by four values at once.
TEST_CASE("order3-fibers" * doctest::skip()) {
  check_contract({3, 3, {Operation::mttkrp_all, Operation::ttm_chain}, {16, 33}, {"unsorted"}},
                 [](const Method& m) { return m.id() == "hlsto.cuda.fibers"; });
}
void check_khatri_rao(const contract::Scope& scope) {
  check_contract(scope, [](const Method& m) { return m.id() == "hlsto.cuda.khatri_rao"; });
}
TEST_CASE("order3-khatri-rao" * doctest::skip()) {
  check_khatri_rao({3, 3, {Operation::mttkrp}, {16, 33}});
}
TEST_CASE("unsorted-khatri-rao" * doctest::skip()) {
  check_khatri_rao({3, 3, {Operation::mttkrp}, {16}, {"unsorted"}});
}
TEST_CASE("order3-wide" * doctest::skip()) {
  check_contract({3, 3, {Operation::mttkrp_all}, {16}, {"unsorted"}},
                 [](const Method& m) { return m.id() == "flycoo.cuda.wide"; });
}

void check_memoised(const contract::Scope& scope) {
  check_contract(scope, [](const Method& m) { return m.id() == "flycoo.cuda.memoised"; });
}
TEST_CASE("all-memoised" * doctest::skip()) {
  check_memoised({4, 8, {Operation::mttkrp_all}});
}
TEST_CASE("order4-memoised" * doctest::skip()) {
  check_memoised({4, 4, {Operation::mttkrp_all}, {16}, {"unsorted"}});
}

TEST_CASE("all-chunks" * doctest::skip()) {
  check_contract({2, 8, {Operation::mttkrp_all}},
                 [](const Method& m) { return m.id() == "flycoo.cuda.chunks"; });
}
TEST_CASE("order3-chunks" * doctest::skip()) {
  check_contract({3, 4, {Operation::mttkrp_all}, {16, 33}, {"unsorted"}},
                 [](const Method& m) { return m.id() == "flycoo.cuda.chunks"; });
}

TEST_CASE("flycoo-high-orders") {
  contract::check_high_orders({"flycoo.cuda", "flycoo.cuda.copies", "flycoo.cuda.wide",
                               "flycoo.cuda.tuned", "flycoo.cuda.chunks"});
}
// Apart, for a sanitiser that has the time for one of them.
TEST_CASE("order8-flycoo" * doctest::skip()) {
  for (const char* id : {"flycoo.cuda", "flycoo.cuda.copies", "flycoo.cuda.memoised",
                         "flycoo.cuda.tuned", "flycoo.cuda.wide", "flycoo.cuda.chunks"})
    SUBCASE(id) {
      check_contract({8, 8, {Operation::mttkrp_all}, {16}, {"unsorted"}},
                     [&](const Method& m) { return m.id() == id; });
    }
}

TEST_CASE("a mode at a time with factors that change") {
  contract::check_passes(
      Backend::cuda,
      {"pasta.cuda.coo", "b_csf.cuda", "blco.cuda", "mm_csf.cuda", "f_coo.cuda", "fwc.cuda",
       "flycoo.cuda", "flycoo.cuda.tuned", "flycoo.cuda.wide", "flycoo.cuda.chunks"});
}

TEST_CASE("variants take turns") {
  const Registry registry = all_methods();
  const auto report = contract::run_variants(
      contract::methods_of(registry, [](const Method& m) { return m.backend() == Backend::cuda; }));
  contract::check(report);
  CHECK(!report.solved.empty());
}

TEST_CASE("a run over all modes keeps one copy of the tensor") {
  const Registry registry = all_methods();
  for (const char* id : {"blco.cuda", "mm_csf.cuda"}) {
    const Method& method = registry.find(id);
    REQUIRE(method.takes_all_modes());
    Count single = 0;
    for (const int mode : {0, 1, 2})
      single += checked_footprint(method, problem(Operation::mttkrp, mode)).device_bytes;
    const Problem all = problem(Operation::mttkrp_all);
    const Count together = checked_footprint(method, all).device_bytes;
    // Two copies fewer; indices and value of a nonzero take at least 8 bytes.
    CHECK_MESSAGE(together + 2 * 8 * all.x().nnz() < single, id);
  }
}
