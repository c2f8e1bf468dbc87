// The contract battery over the CUDA methods of the registry.
#include <doctest/doctest.h>

#include "common/measure/registry.hpp"
#include "tests/contract/battery.hpp"
#include "tests/contract/passes.hpp"

using namespace retensor;

namespace {

/// A method counts when `takes` it.
template <class F>
void check_contract(const contract::Scope& scope, F&& takes) {
  const Registry registry = all_methods();
  std::vector<const Method*> methods;
  for (const auto& method : registry.methods())
    if (method->backend() == Backend::cuda && takes(*method)) methods.push_back(method.get());
  const auto report = contract::run_battery(methods, scope);
  for (const auto& finding : report.findings) FAIL_CHECK(contract::text(finding));
  for (const auto& [id, solved] : report.solved) {
    MESSAGE(id << ": " << solved << " right answers to " << report.problems << " problems");
    CHECK_MESSAGE(solved > 0, id);
  }
}

}  // namespace

TEST_CASE("all") {
  check_contract({}, [](const Method&) { return true; });
}
// What a sanitiser has the time for. MTTKRP over all modes starts other kernels than MTTKRP for the
// methods alone that take all modes as one. CP-ALS starts no kernels but those of MTTKRP.
TEST_CASE("order3" * doctest::skip()) {
  using enum Operation;
  check_contract({3, 3, {tew, ts, ttv, ttm, mttkrp}, {16, 33}}, [](const Method& m) {
    return !m.takes_all_modes() && !m.id().starts_with("cpd.");
  });
}
TEST_CASE("order3-all-modes" * doctest::skip()) {
  check_contract({3, 3, {Operation::mttkrp_all}, {16, 33}},
                 [](const Method& m) { return m.takes_all_modes(); });
}

TEST_CASE("a mode at a time with factors that change") {
  const Registry registry = all_methods();
  std::vector<const Method*> methods;
  for (const auto& method : registry.methods())
    if (method->backend() == Backend::cuda) methods.push_back(method.get());
  const auto report = contract::run_passes(methods);
  for (const auto& finding : report.findings) FAIL_CHECK(contract::text(finding));
  for (const char* id : {"pasta.cuda.coo", "flycoo.cuda", "flycoo.cuda.tuned"})
    CHECK_MESSAGE(report.solved.count(id) == 1, id);
  for (const auto& [id, solved] : report.solved) CHECK_MESSAGE(solved == report.problems, id);
}
