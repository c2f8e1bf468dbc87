// cpd.cpu.als and cpd.cuda.als: parameters, checkpoints and facts around the sweeps of als.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/stage_log.hpp"
#include "common/cpd/als.hpp"
#include "common/cpd/checkpoint.hpp"
#include "common/cpd/text_params.hpp"
#include "common/method/registry.hpp"
#include "common/run/all_modes.hpp"

namespace retensor {
namespace cpd {
namespace {

/// The numbers with blanks between them.
std::string text_of(const std::vector<double>& numbers) {
  std::string text;
  for (const double x : numbers) text += fmt::format("{}{:.9g}", text.empty() ? "" : " ", x);
  return text;
}

/// A run enters two stages for each checkpoint, and for the first and the last time its file is
/// touched; a timer has entries for no more.
constexpr std::size_t kMostCheckpoints = (StageLog::kCapacity - 5) / 2;

/// Sweeps between checkpoints: those stated, or more where the run could write too many.
std::size_t checkpoint_distance(const Problem& problem, const Params& params) {
  const auto sweeps = static_cast<std::size_t>(problem.spec().max_sweeps);
  return std::max(static_cast<std::size_t>(params.integer("checkpoint_every")),
                  (sweeps + kMostCheckpoints - 1) / kMostCheckpoints);
}

/// Where the dense part runs: parameter `solve` of the device's method.
std::unique_ptr<Updates> updates_of(const Problem& problem, Backend backend, const Params& params) {
  if (backend == Backend::cpu || params.word("solve") == "host")
    return host_updates(longest_mode(problem), problem.rank());
  return device_updates(longest_mode(problem), problem.rank(), problem.dtype());
}

class AlsRun : public Prepared {
 public:
  AlsRun(const Problem& problem, const Method& mttkrp, const Params& params)
      : problem_(problem),
        als_(problem, mttkrp, params_in(params.word("mttkrp_params")),
             updates_of(problem, mttkrp.backend(), params)),
        mttkrp_(mttkrp.id()),
        checkpoint_(params.word("checkpoint")),
        every_(checkpoint_distance(problem, params)) {
    if (!checkpoint_.empty()) identity_ = identity_of(problem);
  }

  /// The stages sweeps and, with a file, checkpoint. Results of passes are allocated as they are
  /// fetched.
  void run(StageTimer& timer) override {
    resumed_ = 0;
    timer.stage("sweeps");
    als_.restart();
    if (!checkpoint_.empty()) at_checkpoint(timer, [this] { resume(); });
    while (!als_.finished()) {
      als_.sweep(timer);
      if (is_due())
        at_checkpoint(timer, [this] { save_checkpoint(checkpoint_, identity_, als_.model()); });
    }
    // The next run begins anew.
    if (!checkpoint_.empty())
      at_checkpoint(timer, [this] { std::filesystem::remove(checkpoint_); });
  }

  Result result() override { return als_.model(); }

  Executed executed() const override {
    Executed facts;
    for (const auto& [key, value] : als_.mttkrp().executed()) facts["mttkrp_" + key] = value;
    const auto& fit = als_.model().fit;
    facts["kernel"] = "CP-ALS";
    facts["mttkrp"] = mttkrp_;
    facts["sweeps"] = std::to_string(sweeps());
    facts["fit"] = fit.empty() ? "none" : fmt::format("{:.9g}", fit.back());
    facts["true_fit"] = fit.empty() ? "none" : fmt::format("{:.9g}", als_.true_fit());
    facts["fit_curve"] = text_of(fit);
    facts["stopped_by"] = als_.converged() ? "tolerance" : "max_sweeps";
    facts["resumed_after"] = fmt::format("{} sweeps", resumed_);
    if (!checkpoint_.empty()) facts["checkpoint_every"] = fmt::format("{} sweeps", every_);
    return facts;
  }

  Footprint footprint() const override { return als_.mttkrp().footprint(); }

  /// The model's, for the sweeps that the last run made.
  Work work() const override {
    const Work all = work_model(problem_);
    const double share =
        static_cast<double>(sweeps() - resumed_) / static_cast<double>(problem_.spec().max_sweeps);
    return {share * all.flops, share * all.bytes, share * all.compulsory_bytes,
            share * all.atomics};
  }

 private:
  std::size_t sweeps() const { return als_.model().fit.size(); }
  bool is_due() const { return !checkpoint_.empty() && sweeps() % every_ == 0 && !als_.finished(); }

  template <class F>
  static void at_checkpoint(StageTimer& timer, F&& f) {
    timer.stage("checkpoint");
    f();
    timer.stage("sweeps");
  }

  void resume() {
    if (const auto model = load_checkpoint(checkpoint_, identity_, problem_)) {
      als_.resume(*model);
      resumed_ = sweeps();
    }
  }

  const Problem& problem_;
  Als als_;
  const std::string mttkrp_, checkpoint_;
  const std::size_t every_;
  Identity identity_;
  std::size_t resumed_ = 0;  // sweeps that the last run took from a checkpoint
};

/// The sweeps of als.hpp with the MTTKRP of a method that runs on the same backend, which the
/// parameter `mttkrp` names.
class AlsMethod : public Method {
 public:
  AlsMethod(Backend backend, Registry (*methods)())
      : id_(fmt::format("cpd.{}.als", name(backend))), backend_(backend), methods_(methods) {}

  std::string_view id() const override { return id_; }
  std::string_view summary() const override {
    return "CP-ALS with the MTTKRP of any method (Kolda and Bader 2009, Fig. 3.3)";
  }
  Backend backend() const override { return backend_; }
  std::vector<Operation> operations() const override { return {Operation::cpd}; }

  ParamSchema params() const override {
    const ParamSchema shared{
        param("mttkrp", standard(), "the method whose MTTKRP is used").words(choices()),
        param("mttkrp_params", "",
              "its parameters, name=value with blanks between them; those left out have defaults"),
        param("checkpoint", "",
              "file that a run cut short goes on from; removed when a run ends; empty: none"),
        param("checkpoint_every", 10,
              fmt::format("sweeps between checkpoints, or more, so that a run has at most {}",
                          kMostCheckpoints))
            .range(1, 1000000)};
    if (backend_ == Backend::cpu) return shared;
    return shared.with(
        {param("solve", "host", "where systems are solved and Gram matrices made: host, device")
             .words({"host", "device"})});
  }

  Support supports(const Problem& problem, const Params& params) const override {
    if (problem.operation() != Operation::cpd)
      return Support::no(fmt::format("{} is no decomposition", name(problem.operation())));
    if (problem.x().order() < 2) return Support::no("a first-order tensor is its own model");
    const Registry all = methods_();
    const Method& method = all.find(params.word("mttkrp"));
    const Problem passes = mttkrp_problem(problem, {std::shared_ptr<void>(), &problem.dense()});
    Support support = retensor::supports(method, passes, params_of(method, params));
    if (!support.ok && !support.reason.empty())
      support.reason = fmt::format("{}: {}", method.id(), support.reason);
    return support;
  }

  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    const Registry all = methods_();
    return std::make_unique<AlsRun>(problem, all.find(params.word("mttkrp")), params);
  }

  reference::Precision precision(const Problem& problem, const Params& params) const override {
    const Registry all = methods_();
    const Method& method = all.find(params.word("mttkrp"));
    const Problem passes = mttkrp_problem(problem, {std::shared_ptr<void>(), &problem.dense()});
    return method.precision(passes, params_of(method, params));
  }

 private:
  static Params params_of(const Method& mttkrp, const Params& params) {
    return mttkrp.params().resolve(params_in(params.word("mttkrp_params")));
  }

  std::string standard() const {
    const Registry all = methods_();
    for (const auto& method : all.methods())
      if (method->backend() == backend_ && method->is_default_of_passes())
        return std::string(method->id());
    throw LogicError(fmt::format("no method of {} is the default of passes", name(backend_)));
  }

  /// Every other method of the backend; those that have no MTTKRP decline.
  std::vector<std::string> choices() const {
    std::vector<std::string> ids;
    const Registry all = methods_();
    for (const auto& method : all.methods())
      if (method->backend() == backend_ && method->id() != id_) ids.emplace_back(method->id());
    return ids;
  }

  const std::string id_;
  const Backend backend_;
  Registry (*const methods_)();
};

}  // namespace

std::unique_ptr<Method> make_als(Backend backend, Registry (*methods)()) {
  return std::make_unique<AlsMethod>(backend, methods);
}

}  // namespace cpd

void register_cpd(Registry& registry) {
  for (const auto backend : {Backend::cpu, Backend::cuda})
    registry.add(cpd::make_als(backend, all_methods));
}

}  // namespace retensor
