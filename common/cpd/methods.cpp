// cpd.cpu.als and cpd.cuda.als: parameters, checkpoints and facts around the sweeps of als.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "common/core/stage_log.hpp"
#include "common/cpd/als.hpp"
#include "common/cpd/checkpoint.hpp"
#include "common/cpd/text_params.hpp"
#include "common/measure/all_modes.hpp"
#include "common/measure/registry.hpp"

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

using Choices = std::vector<std::shared_ptr<const Method>>;

/// What the parameter `mttkrp` chooses from. Those that have no MTTKRP decline.
Choices methods_of(const Registry& registry, Backend backend) {
  Choices choices = registry.methods();
  std::erase_if(choices, [&](const auto& method) { return method->backend() != backend; });
  return choices;
}

const Method& chosen(const Choices& choices, const Params& params) {
  return **std::find_if(choices.begin(), choices.end(),
                        [&](const auto& method) { return method->id() == params.word("mttkrp"); });
}

Problem passes_of(const Problem& problem) {
  return mttkrp_problem(problem, {std::shared_ptr<void>(), &problem.dense()});
}

Params params_of(const Method& mttkrp, const Params& params) {
  return mttkrp.params().resolve(params_in(params.word("mttkrp_params")));
}

Support supports_als(const Problem& problem, const Params& params, const Method& mttkrp) {
  if (problem.x().order() < 2) return Support::no("a first-order tensor is its own model");
  Support support = retensor::supports(mttkrp, passes_of(problem), params_of(mttkrp, params));
  if (!support.ok && !support.reason.empty())
    support.reason = fmt::format("{}: {}", mttkrp.id(), support.reason);
  return support;
}

std::unique_ptr<Prepared> prepare_als(const Problem& problem, const Params& params,
                                      const Method& mttkrp) {
  return std::make_unique<AlsRun>(problem, mttkrp, params);
}

ParamSchema als_params(const Choices& choices, const std::string& mttkrp) {
  std::vector<std::string> ids;
  for (const auto& method : choices) ids.emplace_back(method->id());
  return {
      param("mttkrp", mttkrp, "the method whose MTTKRP is used").words(std::move(ids)),
      param("mttkrp_params", "",
            "its parameters, name=value with blanks between them; those left out have defaults"),
      param("checkpoint", "",
            "file that a run cut short goes on from; removed when a run ends; empty: none"),
      param("checkpoint_every", 10,
            fmt::format("sweeps between checkpoints, or more, so that a run has at most {}",
                        kMostCheckpoints))
          .range(1, 1000000)};
}

MethodSpec make_als(std::string id, ParamSchema params, const Choices& choices) {
  return {.id = std::move(id),
          .summary = "CP-ALS with the MTTKRP of any method (Kolda and Bader 2009, Fig. 3.3)",
          .operations = {Operation::cpd},
          .supports =
              [choices](const Problem& problem, const Params& given) {
                return supports_als(problem, given, chosen(choices, given));
              },
          .prepare =
              [choices](const Problem& problem, const Params& given) {
                return prepare_als(problem, given, chosen(choices, given));
              },
          .precision =
              [choices](const Problem& problem, const Params& given) {
                const Method& mttkrp = chosen(choices, given);
                return mttkrp.precision(passes_of(problem), params_of(mttkrp, given));
              },
          .params = std::move(params)};
}

MethodSpec make_als_cpu(const Registry& registry, const std::string& mttkrp) {
  const auto choices = methods_of(registry, Backend::cpu);
  return make_als("cpd.cpu.als", als_params(choices, mttkrp), choices);
}

MethodSpec make_als_cuda(const Registry& registry, const std::string& mttkrp) {
  const auto choices = methods_of(registry, Backend::cuda);
  const auto solve =
      param("solve", "host", "where systems are solved and Gram matrices made: host, device")
          .words({"host", "device"});
  return make_als("cpd.cuda.als", als_params(choices, mttkrp).with({solve}), choices);
}

}  // namespace
}  // namespace cpd

/// The method whose MTTKRP each backend's takes by default is the caller's to name.
void register_cpd(Registry& registry, const std::string& cpu_mttkrp,
                  const std::string& cuda_mttkrp) {
  registry.add(cpd::make_als_cpu(registry, cpu_mttkrp));
  registry.add(cpd::make_als_cuda(registry, cuda_mttkrp));
}

}  // namespace retensor
