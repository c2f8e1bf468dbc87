#include "common/advise/trial.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "common/core/text.hpp"
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

double seconds_of_run(Prepared& prepared, StageTimer& timer) {
  return seconds_of([&] {
    timer.start();
    prepared.run(timer);
    timer.stop();
  });
}

std::unique_ptr<StageTimer> timer_for(const Method& method) {
  return method.backend() == Backend::cpu ? make_host_timer() : device::make_event_timer();
}

/// Tries choices on one problem; the best so far stays prepared.
class Tries {
 public:
  explicit Tries(const Problem& problem) : problem_(problem) {}

  Tried operator()(const Choice& choice) {
    Tried tried;
    try {
      std::unique_ptr<Prepared> prepared;
      const auto& method = *choice.method;
      const auto params = method.params().resolve(cpd::params_in(choice.params));
      tried.prepare = seconds_of([&] { prepared = prepare(method, problem_, params); });
      const auto timer = timer_for(method);
      tried.run = seconds_of_run(*prepared, *timer);
      for (int run = 1; run < kRunsOfTrial; ++run)
        tried.run = std::min(tried.run, seconds_of_run(*prepared, *timer));
      if (tried.run < shortest_) {
        shortest_ = tried.run;
        best_ = std::move(prepared);
      }
    } catch (const std::exception& e) {
      tried.failure = e.what();
    }
    return tried;
  }

  /// Null where all failed.
  std::unique_ptr<Prepared> best() { return std::move(best_); }

 private:
  const Problem& problem_;
  std::unique_ptr<Prepared> best_;
  double shortest_ = std::numeric_limits<double>::infinity();
};

std::string outcome(const Tried& tried) {
  if (!tried.failure.empty()) return tried.failure;
  return fmt::format("{} to prepare, {} a run", duration_text(tried.prepare),
                     duration_text(tried.run));
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
  Tries tries(problem);
  done.steps = trial(forecasts, wish.calls, advice.caution,
                     [&](std::size_t place) { return tries(advice.ranked[place]); });
  done.winner = tries.best();
  done.text = text_of(done.steps, advice.ranked);
  for (const auto& [place, tried] : done.steps) {
    if (!tried.failure.empty()) continue;
    advice.ranked[place].measured = true;
    auto& forecast = advice.ranked[place].forecast;
    forecast.run = {std::log(std::max(tried.run, 1e-9)), 0};
    forecast.prepare = {std::log(std::max(tried.prepare, 1e-9)), 0};
  }
  if (const auto best = winner_of(done.steps)) {
    const auto winner =
        advice.ranked.begin() + static_cast<std::ptrdiff_t>(done.steps[*best].place);
    std::rotate(advice.ranked.begin(), winner, winner + 1);
    // Those that were tried too, by what was measured; forecasts keep their order below.
    std::stable_sort(advice.ranked.begin() + 1, advice.ranked.end(),
                     [&](const Choice& a, const Choice& b) {
                       if (!a.measured || !b.measured) return a.measured && !b.measured;
                       return a.forecast.total(wish.calls) < b.forecast.total(wish.calls);
                     });
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
  Outcome done;
  seconds_ = seconds_of([&] { done = advise::settle(advice_, problem, wish_); });
  text_ = done.text;
  return std::move(done.winner);
}

Params Planned::params_of_choice() const {
  return choice().method->params().resolve(cpd::params_in(choice().params));
}

}  // namespace retensor::advise
