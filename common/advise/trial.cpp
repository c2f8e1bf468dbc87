#include "common/advise/trial.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>

#include <fmt/format.h>

#include "common/decompose/text_params.hpp"
#include "common/device/device.hpp"
#include "common/measure/timing.hpp"
#include "common/run/all_modes.hpp"

namespace retensor::advise {
namespace {

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Tried try_one(const Problem& problem, const Choice& choice, int count) {
  Tried tried;
  try {
    const auto params = choice.method->params().resolve(cpd::params_in(choice.params));
    std::unique_ptr<Prepared> prepared;
    tried.prepare = seconds_of([&] { prepared = prepare(*choice.method, problem, params); });
    const auto timer =
        choice.method->backend() == Backend::cpu ? make_host_timer() : device::make_event_timer();
    std::vector<double> runs(static_cast<std::size_t>(count));
    for (auto& run : runs)
      run = seconds_of([&] {
        timer->start();
        prepared->run(*timer);
        timer->stop();
      });
    std::sort(runs.begin(), runs.end());
    tried.run = runs[(runs.size() - 1) / 2];
  } catch (const std::exception& e) {
    tried.failure = e.what();
  }
  return tried;
}

std::string outcome(const Tried& tried) {
  if (!tried.failure.empty()) return tried.failure;
  return fmt::format("{:.3g} s to prepare, {:.3g} s a run", tried.prepare, tried.run);
}

}  // namespace

std::vector<Step> settle(Advice& advice, const Problem& problem, const Wish& wish) {
  std::vector<Forecast> forecasts;
  for (const auto& choice : advice.ranked) forecasts.push_back(choice.forecast);
  if (forecasts.empty()) return {};
  const auto steps = trial(forecasts, wish.calls, advice.caution, [&](std::size_t place) {
    return try_one(problem, advice.ranked[place], runs_of_trial(wish.calls));
  });
  for (const auto& [place, tried] : steps) {
    if (!tried.failure.empty()) continue;
    auto& forecast = advice.ranked[place].forecast;
    forecast.run = {std::log(std::max(tried.run, 1e-9)), 0};
    forecast.prepare = {std::log(std::max(tried.prepare, 1e-9)), 0};
  }
  const auto best = winner_of(steps, wish.calls);
  if (!best) return steps;
  const auto winner = advice.ranked.begin() + static_cast<std::ptrdiff_t>(steps[*best].place);
  std::rotate(advice.ranked.begin(), winner, winner + 1);
  return steps;
}

Settled choose_by_trial(const Registry& registry, const Problem& problem,
                        const nlohmann::json& facts, const Wish& wish, const Allowed& allowed) {
  auto advice = advise_here(registry, problem, facts, wish, allowed);
  const auto before = advice.ranked;
  Settled settled;
  std::vector<Step> steps;
  settled.seconds = seconds_of([&] { steps = settle(advice, problem, wish); });
  settled.choice = advice.ranked.front();
  for (const auto& [place, tried] : steps)
    settled.trial += fmt::format("{}{}: {}", settled.trial.empty() ? "" : "; ",
                                 in_words(before[place]), outcome(tried));
  return settled;
}

}  // namespace retensor::advise
