#include "experiments/driver/run/bench/choose.hpp"

#include <fmt/format.h>

#include "common/advise/trial.hpp"
#include "common/core/error.hpp"
#include "common/decompose/text_params.hpp"
#include "experiments/driver/spec/auto_method.hpp"

namespace retensor::driver {
using nlohmann::json;

json choose_planned(const Registry& methods, Case c, const std::shared_ptr<const Coo>& tensor,
                    const json& facts) {
  const auto asked = method_of_spec(methods, kAutoMethod).params().resolve(c.params);
  advise::Wish wish{static_cast<double>(asked.integer("calls"))};
  if (const auto error = asked.real("error"); error > 0) wish.error = error;
  const auto& machine = asked.word("machine");
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
