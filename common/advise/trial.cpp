#include "common/advise/trial.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

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

/// Prepares a choice and leaves it in `prepared` after some runs.
Tried try_one(const Problem& problem, const Choice& choice, int count,
              std::unique_ptr<Prepared>& prepared) {
  Tried tried;
  try {
    const auto params = choice.method->params().resolve(cpd::params_in(choice.params));
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

/// What was tried, by the choices in the order before it.
std::string text_of(const std::vector<Step>& steps, const std::vector<Choice>& before) {
  std::string text;
  for (const auto& [place, tried] : steps)
    text +=
        fmt::format("{}{}: {}", text.empty() ? "" : "; ", in_words(before[place]), outcome(tried));
  return text;
}

}  // namespace

Outcome settle(Advice& advice, const Problem& problem, const Wish& wish) {
  std::vector<Forecast> forecasts;
  for (const auto& choice : advice.ranked) forecasts.push_back(choice.forecast);
  Outcome done;
  if (forecasts.empty()) return done;
  double shortest = std::numeric_limits<double>::infinity();
  done.steps = trial(forecasts, wish.calls, advice.caution, [&](std::size_t place) {
    std::unique_ptr<Prepared> prepared;
    const auto tried = try_one(problem, advice.ranked[place], kRunsOfTrial, prepared);
    if (tried.failure.empty() && tried.run < shortest) {
      shortest = tried.run;
      done.winner = std::move(prepared);
    }
    return tried;
  });
  for (const auto& [place, tried] : done.steps) {
    if (!tried.failure.empty()) continue;
    auto& forecast = advice.ranked[place].forecast;
    forecast.run = {std::log(std::max(tried.run, 1e-9)), 0};
    forecast.prepare = {std::log(std::max(tried.prepare, 1e-9)), 0};
  }
  if (const auto best = winner_of(done.steps)) {
    const auto winner =
        advice.ranked.begin() + static_cast<std::ptrdiff_t>(done.steps[*best].place);
    std::rotate(advice.ranked.begin(), winner, winner + 1);
  }
  return done;
}

Settled choose_by_trial(const Registry& registry, const Problem& problem,
                        const nlohmann::json& facts, const Wish& wish, const Allowed& allowed) {
  const Planned planned(advise_here(registry, problem, facts, wish, allowed), wish, true);
  planned.settle(problem);
  return {planned.choice(), planned.trial_seconds(), planned.trial_text()};
}

Support Planned::supports(const Problem& problem, const Params&) const {
  return retensor::supports(*choice().method, problem, params_of_choice());
}

std::unique_ptr<Prepared> Planned::prepare(const Problem& problem, const Params&) const {
  if (auto winner = settle(problem)) return winner;
  return retensor::prepare(*choice().method, problem, params_of_choice());
}

reference::Precision Planned::precision(const Problem& problem, const Params&) const {
  return choice().method->precision(problem, params_of_choice());
}

std::unique_ptr<Prepared> Planned::settle(const Problem& problem) const {
  if (!std::exchange(trial_, false)) return nullptr;
  const auto before = advice_.ranked;
  Outcome done;
  seconds_ = seconds_of([&] { done = advise::settle(advice_, problem, wish_); });
  text_ = text_of(done.steps, before);
  return std::move(done.winner);
}

Params Planned::params_of_choice() const {
  return choice().method->params().resolve(cpd::params_in(choice().params));
}

}  // namespace retensor::advise
