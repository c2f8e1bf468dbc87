#include "tests/contract/variants.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "common/device/device.hpp"
#include "common/measure/timing.hpp"
#include "common/run/all_modes.hpp"
#include "tests/contract/scenarios.hpp"

namespace retensor::contract {
namespace {

/// One setting of a method, ready to run.
struct Variant {
  Params params;
  std::unique_ptr<Prepared> prepared;
};

class Turns {
 public:
  Turns(const Method& method, const Problem& problem)
      : method_(method),
        problem_(problem),
        timer_(method.backend() == Backend::cpu ? make_host_timer() : device::make_event_timer()) {
    for (const auto& params : settings(method))
      if (supports(method, problem, params).ok)
        variants_.push_back({params, prepare(method, problem, params)});
  }

  /// What the default gets wrong after another variant was prepared, or the other after the
  /// default; empty: nothing.
  std::string breach() {
    for (std::size_t k = 1; k < variants_.size(); ++k)
      for (const auto& [last, other] : {std::pair{k, std::size_t{0}}, {std::size_t{0}, k}}) {
        auto& latest = variants_[last];
        latest.prepared = prepare(method_, problem_, latest.params);
        if (const auto what = wrong(variants_[other]); !what.empty())
          return fmt::format("{} after a preparation with {}: {}",
                             describe(variants_[other].params), describe(latest.params), what);
      }
    return "";
  }

  std::size_t count() const { return variants_.size(); }

 private:
  std::string wrong(Variant& variant) {
    try {
      timer_->start();
      variant.prepared->run(*timer_);
      timer_->stop();
      const auto report = problem_.oracle().check(variant.prepared->result(),
                                                  method_.precision(problem_, variant.params));
      return report.ok ? "" : report.reason;
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  const Method& method_;
  const Problem& problem_;
  const std::unique_ptr<StageTimer> timer_;
  std::vector<Variant> variants_;
};

}  // namespace

Report run_variants(const std::vector<const Method*>& methods) {
  Report report;
  for (const auto operation : {Operation::mttkrp, Operation::mttkrp_all, Operation::ttm,
                               Operation::ttm_chain, Operation::contraction, Operation::spmm}) {
    ProblemSpec spec;
    spec.operation = operation;
    if (operation == Operation::contraction) spec.variant = "abc,vwc->abvw";
    const Problem problem(spec, unsorted_tensor(operation == Operation::spmm ? 2 : 3, DType::f32));
    ++report.problems;
    for (const auto* method : methods) {
      if (!supports(*method, problem, method->params().resolve({})).ok) continue;
      const std::string id(method->id());
      Turns turns(*method, problem);
      if (const auto what = turns.breach(); !what.empty())
        report.findings.push_back({id, "", std::string(name(operation)), what});
      report.solved[id] += static_cast<int>(turns.count());
    }
  }
  return report;
}

}  // namespace retensor::contract
