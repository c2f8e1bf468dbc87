// The contract battery over the CUDA methods of the registry.
#include <doctest/doctest.h>

#include "common/measure/registry.hpp"
#include "tests/contract/battery.hpp"

using namespace retensor;

namespace {

void check_contract(const contract::Scope& scope) {
  const Registry registry = all_methods();
  std::vector<const Method*> methods;
  for (const auto& method : registry.methods())
    if (method->backend() == Backend::cuda) methods.push_back(method.get());
  const auto report = contract::run_battery(methods, scope);
  for (const auto& finding : report.findings) FAIL_CHECK(contract::text(finding));
  for (const auto& [id, solved] : report.solved) {
    MESSAGE(id << ": " << solved << " right answers to " << report.problems << " problems");
    CHECK_MESSAGE(solved > 0, id);
  }
}

}  // namespace

TEST_CASE("all") {
  check_contract({});
}
TEST_CASE("order3" * doctest::skip()) {
  check_contract({3, 3, {}});
}
