// Which candidates a trial measures, one after the other: each step looks one ahead, as rules of
// the expected improvement do (D. R. Jones, M. Schonlau, W. J. Welch: Efficient Global Optimization
// of Expensive Black-Box Functions, J. Global Optimization 13, 1998, equation 15).
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "common/advise/forecast.hpp"

namespace retensor::advise {
namespace {

/// Share of the deviations that is not common to all candidates on a problem, and the calls from
/// which on the first is tried in any case: its runs are 3% of them at most, and a surprise is
/// worth more. README.md has the regret with other numbers.
constexpr double kOfEachAlone = 0.85;
constexpr double kCallsToLook = 100;

double cumulative(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

/// Seconds by which a run is expected to be shorter than `than`, 0 where it is not: of a logarithm
/// that is normally distributed.
double expected_saving(const Estimate& run, double than) {
  const double z = (std::log(than) - run.mean) / run.deviation;
  const double mean = std::exp(run.mean + run.deviation * run.deviation / 2);
  return than * cumulative(z) - mean * cumulative(z - run.deviation);
}

/// What is expected of a run after another candidate, forecast as `other`, took `seconds`.
Estimate given(const Estimate& run, const Estimate& other, double seconds) {
  const double shared = 1 - kOfEachAlone * kOfEachAlone;
  const double surprise = (std::log(seconds) - other.mean) / other.deviation;
  return {run.mean + shared * run.deviation * surprise,
          run.deviation * std::sqrt(1 - shared * shared)};
}

/// What to try next.
struct Next {
  std::size_t place = 0;
  double gain = 0;  ///< seconds expected to be saved; 0: nothing is worth a trial
};

/// After `steps`, of which the first tells what the problem is like. What is prepared stays so.
Next next_of(const std::vector<Forecast>& forecasts, const std::vector<Step>& steps, double calls) {
  const auto& first = steps.front();
  const auto fastest = winner_of(steps);
  Next next;
  for (std::size_t k = 0; k < forecasts.size(); ++k) {
    const auto is_place = [k](const Step& step) { return step.place == k; };
    if (std::any_of(steps.begin(), steps.end(), is_place)) continue;
    if (!fastest) return {k, forecasts[k].total(calls)};  // in order: the best that is left
    const auto& at = forecasts[k];
    const auto run = first.tried.failure.empty()
                         ? given(at.run, forecasts[first.place].run, first.tried.run)
                         : at.run;
    const double gain = calls * expected_saving(run, steps[*fastest].tried.run) -
                        at.prepare_seconds() - kRunsOfTrial * std::exp(run.mean);
    if (gain > next.gain) next = {k, gain};
  }
  return next;
}

/// Seconds that a trial is expected to save: over the times that the first may turn out to have, at
/// deviations of equal share.
double gain_of_trial(const std::vector<Forecast>& forecasts, std::size_t first, double calls) {
  constexpr std::array kDeviations = {-1.83, -1.1, -0.67, -0.32, 0.0, 0.32, 0.67, 1.1, 1.83};
  const auto& at = forecasts[first];
  double gain = 0;
  for (const double z : kDeviations)
    gain +=
        next_of(forecasts, {{first, {at.prepare_seconds(), at.run_seconds(z), ""}}}, calls).gain;
  return gain / kDeviations.size() - kRunsOfTrial * at.run_seconds();
}

}  // namespace

std::vector<Step> trial(const std::vector<Forecast>& forecasts, double calls, double caution,
                        const TryOut& try_out, std::size_t most) {
  const auto first = best_of(forecasts, calls, caution);
  if (calls < kCallsToLook && gain_of_trial(forecasts, first, calls) <= 0) return {};
  std::vector<Step> steps = {{first, try_out(first)}};
  while (steps.size() < most) {
    const auto next = next_of(forecasts, steps, calls);
    if (next.gain <= 0) break;
    steps.push_back({next.place, try_out(next.place)});
  }
  return steps;
}

std::optional<std::size_t> winner_of(const std::vector<Step>& steps) {
  std::optional<std::size_t> best;
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (steps[k].tried.failure.empty() && (!best || steps[k].tried.run < steps[*best].tried.run))
      best = k;
  return best;
}

}  // namespace retensor::advise
