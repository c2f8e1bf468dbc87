#include "tests/contract/passes.hpp"

#include <memory>
#include <string>

#include <fmt/format.h>

#include "common/core/rng.hpp"
#include "common/device/device.hpp"
#include "common/measure/timing.hpp"
#include "common/run/all_modes.hpp"
#include "tests/contract/scenarios.hpp"

namespace retensor::contract {
namespace {

using Factors = std::vector<Matrix>;

/// New values in place.
void draw(Matrix& m, std::uint64_t seed) {
  const CounterRng rng(seed);
  for (Count k = 0; k < m.values().size(); ++k) m.values().set(k, rng.uniform(k));
}

/// One method on one tensor; returns what was wrong first.
std::string breach(const Method& method, const Problem& problem, Factors& factors) {
  const auto params = method.params().resolve({});
  const auto prepared = prepare(method, problem, params);
  Passes* const passes = prepared->passes();
  if (passes == nullptr) return "takes MTTKRP, but has no passes";
  const auto timer =
      method.backend() == Backend::cpu ? make_host_timer() : device::make_event_timer();
  timer->start();
  prepared->run(*timer);  // as a trial leaves it
  timer->stop();
  std::uint64_t seed = 100;
  for (int turn = 0; turn < 2; ++turn)
    for (int m = 0; m < problem.x().order(); ++m) {
      timer->start();
      passes->run_mode(m, *timer);
      timer->stop();
      const auto report = reference::mttkrp(problem.x(), factors, m)
                              .check(passes->mode_result(m), method.precision(problem, params));
      if (!report.ok) return fmt::format("turn {}, mode {}: {}", turn, m, report.reason);
      draw(factors[static_cast<std::size_t>(m)], seed++);
      prepared->refresh(m);
    }
  return "";
}

std::string guarded_breach(const Method& method, const Problem& problem, Factors& factors) {
  try {
    return breach(method, problem, factors);
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

Report run_passes(const std::vector<const Method*>& methods) {
  Report report;
  for (const int order : {3, 4})
    for (const DType dtype : {DType::f32, DType::f64}) {
      const auto x = unsorted_tensor(order, dtype);
      ProblemSpec spec;
      spec.operation = Operation::mttkrp_all;
      ++report.problems;
      for (const auto* method : methods) {
        const auto factors = std::make_shared<Factors>();
        for (const auto length : x->dims) {
          factors->emplace_back(length, spec.rank, dtype);
          draw(factors->back(), factors->size());
        }
        const Problem problem = Problem::with_factors(spec, x, factors);
        const std::string id(method->id());
        if (!supports(*method, problem, method->params().resolve({})).ok) {
          ++report.declined[id];
          continue;
        }
        const auto what = guarded_breach(*method, problem, *factors);
        if (what.empty())
          ++report.solved[id];
        else
          report.findings.push_back(
              {id, "", fmt::format("passes over order {}, {}", order, name(dtype)), what});
      }
    }
  return report;
}

}  // namespace retensor::contract
