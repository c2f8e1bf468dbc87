// Assertions that the contract tests of the host and of the gpu suite share.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

#include "common/method/registry.hpp"
#include "tests/contract/battery.hpp"
#include "tests/contract/passes.hpp"

namespace retensor::contract {

/// The methods of the registry, which owns them, that `takes` takes.
template <class Takes>
std::vector<const Method*> methods_of(const Registry& registry, const Takes& takes) {
  std::vector<const Method*> methods;
  for (const auto& method : registry.methods())
    if (takes(*method)) methods.push_back(method.get());
  return methods;
}

/// Fails for each finding.
inline void check(const Report& report) {
  for (const auto& finding : report.findings) FAIL_CHECK(text(finding));
}

/// The methods `ids` solve MTTKRP over all modes of tensors of each order from 6 on.
inline void check_high_orders(std::initializer_list<const char*> ids) {
  const Registry registry = all_methods();
  std::vector<const Method*> methods;
  for (const char* id : ids) methods.push_back(&registry.find(id));
  for (int order = 6; order <= kMaxOrder; ++order) {
    const Report report = run_battery(methods, {order, order, {Operation::mttkrp_all}, {16}});
    check(report);
    for (const auto& method : report.solved) {
      MESSAGE(method.first << ": " << method.second << " right answers to " << report.problems
                           << " problems of order " << order);
      CHECK_MESSAGE(method.second > 0, method.first);
    }
  }
}

/// Passes over all modes are right with every method of the backend that takes them, and `ids` do.
inline void check_passes(Backend backend, std::initializer_list<const char*> ids) {
  const Registry registry = all_methods();
  Report report =
      run_passes(methods_of(registry, [&](const Method& m) { return m.backend() == backend; }));
  check(report);
  for (const char* id : ids) CHECK_MESSAGE(report.solved.count(id) == 1, id);
  for (const auto& method : report.solved)
    CHECK_MESSAGE(method.second + report.declined[method.first] == report.problems, method.first);
}

}  // namespace retensor::contract
