// Which candidates a trial measures, one after the other: each step looks one ahead, as rules of
// the expected improvement do (D. R. Jones, M. Schonlau, W. J. Welch: Efficient Global Optimization
// of Expensive Black-Box Functions, J. Global Optimization 13, 1998, equation 15).
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <Eigen/Cholesky>
#include <Eigen/Dense>

#include "common/advise/forecast.hpp"

namespace retensor::advise {
namespace {

/// Share of the calls that runs of the best forecast may add in any case: they find out what nobody
/// foresaw, and its preparation is needed anyway.
constexpr double kLook = 0.03;
/// The same of any trial. With fewer calls preparations decide, which a trial adds to.
constexpr double kMostRuns = 0.1;
/// Two measurements of a run differ by so much, whatever else is known.
constexpr double kLeastDeviation = 0.14;

double cumulative(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

/// Seconds by which a run is expected to be shorter than `than`, 0 where it is not: of a logarithm
/// that is normally distributed.
double expected_saving(const Estimate& run, double than) {
  const double z = (std::log(than) - run.mean) / run.deviation;
  return than * cumulative(z) - expected_seconds(run) * cumulative(z - run.deviation);
}

/// What is expected of a run after other candidates took the seconds of their trials (C. E.
/// Rasmussen, C. K. I. Williams: Gaussian Processes for Machine Learning, 2006, equation A.6).
Estimate given(const std::vector<Forecast>& forecasts, std::size_t place,
               const std::vector<Step>& steps) {
  std::vector<const Step*> known;
  for (const auto& step : steps)
    if (step.tried.failure.empty()) known.push_back(&step);
  const auto run_of = [&](Eigen::Index k) -> const Estimate& {
    return forecasts[known[static_cast<std::size_t>(k)]->place].run;
  };
  const auto& run = forecasts[place].run;
  const auto count = static_cast<Eigen::Index>(known.size());
  Eigen::MatrixXd among(count, count);
  Eigen::VectorXd with(count), surprises(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index j = 0; j < count; ++j)
      among(i, j) =
          i == j ? run_of(i).deviation * run_of(i).deviation : covariance(run_of(i), run_of(j));
    with(i) = covariance(run, run_of(i));
    surprises(i) = std::log(known[static_cast<std::size_t>(i)]->tried.run) - run_of(i).mean;
  }
  const Eigen::VectorXd weights = among.ldlt().solve(with);
  const double left = run.deviation * run.deviation - weights.dot(with);
  return {run.mean + weights.dot(surprises),
          std::sqrt(std::max(left, kLeastDeviation * kLeastDeviation))};
}

/// What to try next.
struct Next {
  std::size_t place = 0;
  double gain = 0;  ///< seconds expected to be saved; 0: nothing is worth a trial
};

/// After `steps`. Their preparations are spent; that of the winner serves all calls.
Next next_of(const std::vector<Forecast>& forecasts, const std::vector<Step>& steps, double calls) {
  const auto winner = winner_of(steps);
  Next next;
  for (std::size_t k = 0; k < forecasts.size(); ++k) {
    const auto is_place = [k](const Step& step) { return step.place == k; };
    if (std::any_of(steps.begin(), steps.end(), is_place)) continue;
    if (!winner) return {k, forecasts[k].total(calls)};  // in order: the best that is left
    const auto run = given(forecasts, k, steps);
    const double gain = calls * expected_saving(run, steps[*winner].tried.run) -
                        expected_seconds(forecasts[k].prepare) -
                        kRunsOfTrial * expected_seconds(run);
    if (gain > next.gain) next = {k, gain};
  }
  return next;
}

/// Seconds expected of a trial that begins with a candidate and of all calls after it, over the
/// times that its run may turn out to have, at deviations of equal share.
double total_from(const std::vector<Forecast>& forecasts, std::size_t first, double calls) {
  constexpr std::array kDeviations = {-1.83, -1.1, -0.67, -0.32, 0.0, 0.32, 0.67, 1.1, 1.83};
  const auto& at = forecasts[first];
  const double prepare = expected_seconds(at.prepare);
  double total = prepare;
  for (const double z : kDeviations) {
    const double seconds = at.run_seconds(z);
    const auto next = next_of(forecasts, {{first, {prepare, seconds, ""}}}, calls);
    total += ((kRunsOfTrial + calls) * seconds - next.gain) / kDeviations.size();
  }
  return total;
}

}  // namespace

std::vector<Step> trial(const std::vector<Forecast>& forecasts, double calls, double caution,
                        const TryOut& try_out, std::size_t most) {
  if (kRunsOfTrial > kMostRuns * calls) return {};
  const auto best = best_of(forecasts, calls, caution);
  const double without =
      expected_seconds(forecasts[best].prepare) + calls * expected_seconds(forecasts[best].run);
  std::vector<double> totals;
  for (std::size_t k = 0; k < forecasts.size(); ++k)
    totals.push_back(total_from(forecasts, k, calls));
  auto first =
      static_cast<std::size_t>(std::min_element(totals.begin(), totals.end()) - totals.begin());
  if (totals[first] >= without) {
    first = best;
    if (kRunsOfTrial > kLook * calls) return {};
  }
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
