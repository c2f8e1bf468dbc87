#include "experiments/driver/run/bench/problems.hpp"

#include <fmt/format.h>
#include <stdexcept>

#include "common/advise/trial.hpp"
#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/decompose/text_params.hpp"
#include "common/io/files.hpp"
#include "experiments/driver/run/bench/bench.hpp"
#include "experiments/driver/run/currency.hpp"
#include "experiments/driver/run/labels.hpp"
#include "experiments/driver/run/worker.hpp"
#include "experiments/driver/spec/methods.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Everything that the oracle depends on, the code that computes it included.
std::string problem_key(const Case& c, const json& data) {
  return sha256_hex(problem_of(driver::to_json(c, data)).dump() + provenance().common);
}

/// An oracle that can't be kept (full disk) costs time after a death and nothing else.
void keep(const reference::Expected& oracle, const fs::path& path) {
  try {
    make_folder(path.parent_path());
    oracle.save(path.string());
  } catch (const std::runtime_error&) {
    return;  // computed again when next needed
  }
}

}  // namespace

PosedProblem& PosedProblems::pose(const Case& c, const std::shared_ptr<const Coo>& tensor,
                                  const json& data) {
  const auto key = problem_key(c, data);
  if (auto known = before_.extract(key)) now_.insert(std::move(known));
  auto& posed = now_[key];
  if (!posed.problem) posed.problem = std::make_shared<const Problem>(c.problem, tensor);
  posed.oracle = fs::path(oracle_folder(cache_dir_, data["sha256"])) / key;
  return posed;
}

void PosedProblem::provide_oracle() {
  if (has_oracle) return;
  oracle_seconds = timed([&] {
    try {
      problem->set_oracle(reference::Expected::load(oracle.string()));
    } catch (const Error&) {
      // Missing or damaged: computed again and written anew.
      keep(problem->oracle(), oracle);
    }
  });
  has_oracle = true;
}

std::string oracle_folder(const std::string& cache_dir, const std::string& data_sha256) {
  return (fs::path(cache_dir) / "oracle" / data_sha256).string();
}

json choose_planned(const Registry& methods, Case c, const std::shared_ptr<const Coo>& tensor,
                    const json& facts) {
  const auto asked = method_of_spec(methods, kAutoMethod).params().resolve(c.params);
  advise::Wish wish{static_cast<double>(asked.integer("calls"))};
  if (const auto error = asked.real("error"); error > 0) wish.error = error;
  const auto& machine = asked.word("machine");
  if (const auto usable = device::available(); machine == "device" && !usable.ok)
    throw input_error("machine: device: {}", usable.reason);
  const auto allowed = [&](const Method& method) {
    return machine == "any" || (machine == "cpu") == (method.backend() == Backend::cpu);
  };
  const auto settled =
      asked.flag("trial")
          ? advise::choose_by_trial(methods, Problem(c.problem, tensor), facts, wish, allowed)
          : advise::Settled{
                advise::choose(methods, Problem::outline(c.problem, tensor), facts, wish, allowed)};
  const auto& choice = settled.choice;
  const auto params = choice.method->params().resolve(cpd::params_in(choice.params));
  c.method = choice.method->id();
  c.params = {params.all().begin(), params.all().end()};
  json executed = {{"chosen_by", name_of_auto({asked.all().begin(), asked.all().end()})},
                   {"expected_prepare", fmt::format("{:.3g} s", choice.forecast.prepare_seconds())},
                   {"expected_run", fmt::format("{:.3g} s", choice.forecast.run_seconds())},
                   {"trial", settled.trial.empty() ? "none" : settled.trial},
                   {"trial_time", fmt::format("{:.3g} s", settled.seconds)}};
  return {{"case", driver::to_json(c, json::object())}, {"executed", executed}};
}

}  // namespace retensor::driver
