#include "common/advise/trial.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>

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

Tried try_one(const Problem& problem, const Choice& choice) {
  Tried tried;
  try {
    const auto params = choice.method->params().resolve(cpd::params_in(choice.params));
    std::unique_ptr<Prepared> prepared;
    tried.prepare = seconds_of([&] { prepared = prepare(*choice.method, problem, params); });
    const auto timer =
        choice.method->backend() == Backend::cpu ? make_host_timer() : device::make_event_timer();
    std::array<double, kRunsOfTrial> runs{};
    for (auto& run : runs)
      run = seconds_of([&] {
        timer->start();
        prepared->run(*timer);
        timer->stop();
      });
    std::sort(runs.begin(), runs.end());
    tried.run = runs[runs.size() / 2];
  } catch (const std::exception& e) {
    tried.failure = e.what();
  }
  return tried;
}

}  // namespace

std::vector<Tried> try_out(const Problem& problem, const std::vector<Choice>& choices) {
  std::vector<Tried> tried;
  for (const auto& choice : choices) tried.push_back(try_one(problem, choice));
  return tried;
}

std::vector<Tried> settle(Advice& advice, const Problem& problem, const Wish& wish) {
  std::vector<Forecast> forecasts;
  for (const auto& choice : advice.ranked) forecasts.push_back(choice.forecast);
  if (forecasts.empty()) return {};
  const auto places = contenders(forecasts, wish.calls, advice.caution);
  if (places.size() < 2) return {};
  std::vector<Choice> choices;
  for (const auto place : places) choices.push_back(advice.ranked[place]);
  const auto tried = try_out(problem, choices);
  std::size_t best = choices.size();
  const auto total = [&](std::size_t k) { return tried[k].prepare + wish.calls * tried[k].run; };
  for (std::size_t k = 0; k < tried.size(); ++k) {
    if (!tried[k].failure.empty()) continue;
    advice.ranked[places[k]].forecast.run = {std::log(std::max(tried[k].run, 1e-9)), 0};
    advice.ranked[places[k]].forecast.prepare = {std::log(std::max(tried[k].prepare, 1e-9)), 0};
    if (best == choices.size() || total(k) < total(best)) best = k;
  }
  if (best == choices.size()) return tried;
  const auto winner = advice.ranked.begin() + static_cast<std::ptrdiff_t>(places[best]);
  std::rotate(advice.ranked.begin(), winner, winner + 1);
  return tried;
}

}  // namespace retensor::advise
