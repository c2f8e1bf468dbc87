// cpd.cpu.als and cpd.cuda.als: parameters, checkpoints and facts around the sweeps of als.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/core/message.hpp"
#include "common/core/stage_log.hpp"
#include "common/decompose/als.hpp"
#include "common/decompose/checkpoint.hpp"
#include "common/decompose/text_params.hpp"
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

/// Where the sweeps run: parameter `solve` of the device's method.
Place place_of(Backend backend, const Params& params) {
  return backend == Backend::cuda && params.word("solve") == "device" ? Place::device : Place::host;
}

class AlsRun : public Prepared {
 public:
  AlsRun(const Problem& problem, const Method& mttkrp, const Params& params)
      : problem_(problem),
        als_(problem, mttkrp, params_in(params.word("mttkrp_params")),
             place_of(mttkrp.backend(), params)),
        mttkrp_(mttkrp.id()),
        checkpoint_(params.word("checkpoint")),
        at_once_(static_cast<std::size_t>(params.integer("check_every"))),
        every_(checkpoint_distance(problem, params)) {
    if (!checkpoint_.empty()) identity_ = identity_of(problem);
  }

  /// The stages start, sweeps and, with a file, checkpoint.
  void run(StageTimer& timer) override {
    resumed_ = 0;
    timer.stage("start");
    als_.restart();
    timer.stage("sweeps");
    if (!checkpoint_.empty()) at_checkpoint(timer, [this] { resume(); });
    Between between{.at_once = at_once_, .every = every_, .save = {}, .progress = {}};
    if (!checkpoint_.empty())
      between.save = [&] {
        at_checkpoint(timer, [this] { save_checkpoint(checkpoint_, identity_, als_.model()); });
      };
    sweep_to_end(als_, timer, between);
    // The next run begins anew.
    if (!checkpoint_.empty())
      at_checkpoint(timer, [this] { std::filesystem::remove(checkpoint_); });
  }

  Result result() override { return als_.model(); }

  Executed executed() const override {
    Executed facts;
    for (const auto& [key, value] : als_.mttkrp().executed()) facts["mttkrp_" + key] = value;
    const auto& fit = als_.fit();
    facts["kernel"] = "CP-ALS";
    facts["mttkrp"] = mttkrp_;
    facts["solve"] = als_.place() == Place::device ? "on the device" : "on the host";
    facts["check_every"] = fmt::format("{} sweeps", at_once_);
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
  std::size_t sweeps() const { return als_.fit().size(); }

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
  const std::size_t at_once_;  // sweeps between looks at the tolerance
  const std::size_t every_;
  Identity identity_;
  std::size_t resumed_ = 0;  // sweeps that the last run took from a checkpoint
};

/// The MTTKRP of a decomposition: parameters `mttkrp` and `mttkrp_params`.
struct Mttkrp {
  const Method& method;
  Problem problem;
  Params params;
};
using Methods = std::map<std::string, const Method*>;
Mttkrp mttkrp_of(const Methods& methods, const Problem& problem, const Params& params) {
  const Method& method = *methods.at(params.word("mttkrp"));
  return {method, mttkrp_problem(problem, {std::shared_ptr<void>(), &problem.dense()}),
          method.params().resolve(params_in(params.word("mttkrp_params")))};
}

ParamSchema als_params(Backend backend, const std::string& standard,
                       const std::vector<std::string>& choices) {
  const ParamSchema shared{
      param("mttkrp", standard, "the method whose MTTKRP is used").words(choices),
      param("mttkrp_params", "",
            "its parameters, name=value with blanks between them; those left out have defaults"),
      param("checkpoint", "",
            "file from which an interrupted run continues; removed when a run ends; empty: none"),
      param("checkpoint_every", 10,
            fmt::format("sweeps between checkpoints, or more, so that a run has at most {}",
                        kMostCheckpoints))
          .range(1, 1000000),
      param("check_every", 1,
            "sweeps between checks of the tolerance; more than 1 saves waiting for the device, but "
            "a run may end that many sweeps later")
          .range(1, 1000000)};
  if (backend == Backend::cpu) return shared;
  return shared.with(
      {param("solve", "device",
             "where factors lie and systems are solved: host, device; methods that keep their "
             "factors to themselves take the host")
           .words({"host", "device"})});
}

/// The sweeps of als.hpp with the MTTKRP of a method that runs on the same backend: of any that the
/// registry, which lives as long, has so far.
MethodSpec make_als(Backend backend, const Registry& registry) {
  const auto solves_mttkrp = [](const Method& method) {
    const auto all = method.operations();
    return std::any_of(all.begin(), all.end(), [](Operation operation) {
      return operation == Operation::mttkrp || operation == Operation::mttkrp_all;
    });
  };
  Methods methods;
  std::vector<std::string> ids;
  std::string standard;
  for (const auto& method : registry.methods()) {
    if (method->backend() != backend || !solves_mttkrp(*method)) continue;
    ids.emplace_back(method->id());
    methods.emplace(method->id(), method.get());
    if (method->is_default_of_passes()) standard = ids.back();
  }
  if (standard.empty())
    throw logic_error("no method of {} is the default of passes", name(backend));
  const auto has_model = [](const Problem& problem, const Params&) {
    return problem.x().order() > 1 ? Support::yes()
                                   : Support::no("a tensor of order 1 is its own model");
  };
  const auto has_mttkrp = [methods](const Problem& problem, const Params& params) {
    const Mttkrp passes = mttkrp_of(methods, problem, params);
    Support support = supports(passes.method, passes.problem, passes.params);
    if (!support.ok && !support.reason.empty())
      support.reason = fmt::format("{}: {}", passes.method.id(), support.reason);
    return support;
  };
  return {
      .id = fmt::format("cpd.{}.als", name(backend)),
      .summary = "CP-ALS with the MTTKRP of any method (Kolda and Bader 2009, Fig. 3.3)",
      .operations = {Operation::cpd},
      .conditions = {has_model, has_mttkrp},
      .precision =
          [methods](const Problem& problem, const Params& params) {
            const Mttkrp passes = mttkrp_of(methods, problem, params);
            return passes.method.precision(passes.problem, passes.params);
          },
      .prepare = [methods](const Problem& problem,
                           const Params& params) -> std::unique_ptr<Prepared> {
        return std::make_unique<AlsRun>(problem, *methods.at(params.word("mttkrp")), params);
      },
      .params = als_params(backend, standard, ids),
      .bytes_per_nonzero = 70,  // of FLYCOO, whose MTTKRP is the default
  };
}

}  // namespace
}  // namespace cpd

void register_decompose(Registry& registry) {
  for (const auto backend : {Backend::cpu, Backend::cuda})
    registry.add(cpd::make_als(backend, registry));
}

}  // namespace retensor
