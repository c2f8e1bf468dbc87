#include "common/advise/forecast.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "common/core/error.hpp"

namespace retensor::advise {
namespace {

/// Deviations that order the candidates of a problem best (least mean of absolute differences of
/// logarithms) where its family is left out, over all operations on an H200 and on its 16 cores;
/// the offset of a candidate by the regrets. NOTES.md says what else was tried.
constexpr Kernel kRunKernel{
    0.815, {3.84, 2.358, 0.108}, {0.368, 0.361, 0.332}, {1.2, 0.08, 0.301}, 0.136};
constexpr Kernel kPrepareKernel{
    1.6, {3.84, 0.176, 1.445}, {6.1, 0.4, 0.53}, {0.117, 0.136, 0.512}, 0.3};
/// Of bytes over the tensor's, which are powers of its lengths and nonzeros nearly everywhere.
constexpr Kernel kShareKernel{1.6, {1, 2, 0.3}, {1, 2, 0.3}, {1, 2, 0.3}, 0.1};
/// Distance of problems that differ less than two variants of a stand-in do.
constexpr double kNearby = 0.25;
/// Bytes below this share of the tensor's are as good as none.
constexpr double kNoBytes = 1e-3;
/// Seconds below which a preparation does not matter to anyone.
constexpr double kNoSeconds = 1e-6;

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

double logarithm_of_share(double bytes, double tensor_bytes) {
  return std::log(bytes / std::max(1.0, tensor_bytes) + kNoBytes);
}

double bytes_of_share(const Estimate& logarithm, double tensor_bytes) {
  return std::max(0.0, std::exp(logarithm.mean) - kNoBytes) * tensor_bytes;
}

/// Root of the mean square of the differences, in scales of the aspects.
double distance(const Aspects& a, const Aspects& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double difference = (a[k] - b[k]) / kAspectScales[k];
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(a.size()));
}

Estimate moved(Estimate e, double by) {
  e.mean += by;
  return e;
}

}  // namespace

double usual_preparation(double tensor_bytes, double format_bytes, Backend backend) {
  return backend == Backend::cuda ? 1e-3 + (tensor_bytes + format_bytes) / 2e10
                                  : 1e-5 + tensor_bytes / 1e9 + format_bytes / 5e9;
}

double Forecast::run_seconds(double deviations) const {
  return std::exp(run.mean + deviations * run.deviation);
}

double Forecast::prepare_seconds(double deviations) const {
  return std::exp(prepare.mean + deviations * prepare.deviation);
}

double expected_seconds(const Estimate& logarithm) {
  return std::exp(logarithm.mean + logarithm.deviation * logarithm.deviation / 2);
}

double Forecast::total(double calls, double deviations) const {
  return prepare_seconds(deviations) + calls * run_seconds(deviations);
}

bool is_library(std::string_view method) {
  constexpr std::array<std::string_view, 3> kLibraries = {"cublas.", "cusparse", "sputnik."};
  return std::any_of(kLibraries.begin(), kLibraries.end(),
                     [&](auto id) { return method.starts_with(id); });
}

std::vector<double> weighed(const std::vector<Forecast>& forecasts, double calls, double caution) {
  const bool has_libraries = std::any_of(forecasts.begin(), forecasts.end(),
                                         [](const Forecast& f) { return f.of_library; });
  std::vector<double> totals;
  for (const auto& f : forecasts)
    totals.push_back(f.total(calls, caution) *
                     (has_libraries && !f.of_library ? kForLibraries : 1));
  return totals;
}

std::size_t best_of(const std::vector<Forecast>& forecasts, double calls, double caution) {
  if (forecasts.empty()) throw LogicError("no forecast to choose from");
  const auto totals = weighed(forecasts, calls, caution);
  return static_cast<std::size_t>(std::min_element(totals.begin(), totals.end()) - totals.begin());
}

Forecaster::Forecaster(const Experience& seen, std::size_t device, Operation operation)
    : seen_(seen),
      backend_(seen.devices.at(device).backend),
      bytes_a_second_(seen.devices[device].gbytes * 1e9) {
  std::map<std::size_t, std::set<std::string>> families;
  for (const auto& t : seen.times) {
    const auto& problem = seen.problems[t.problem];
    if (problem.device != device || problem.operation != operation) continue;
    times_.push_back(&t);
    families[t.candidate].insert(problem.family);
  }
  for (const auto& [candidate, of] : families)
    (of.size() >= kFewestFamilies ? offered_ : little_known_).push_back(candidate);
  std::map<std::string, std::size_t> numbers;
  for (const auto& c : seen.candidates)
    methods_.push_back(numbers.try_emplace(c.method, numbers.size()).first->second);
}

Place Forecaster::place_of(const Aspects& at, std::size_t candidate) const {
  return {at, methods_[candidate], candidate};
}

Place Forecaster::place_of(const SeenTimes& t) const {
  return place_of(problem_of(t).at, t.candidate);
}

template <class Value>
Regression Forecaster::fitted(const Kernel& kernel, Value value) const {
  std::vector<Place> places;
  std::vector<double> values;
  for (const auto* t : times_) {
    places.push_back(place_of(*t));
    values.push_back(value(*t));
  }
  return {std::move(places), values, kernel};
}

double Forecaster::floor_of(const Aspects& at, double format_bytes) const {
  return std::log(std::exp(at[kFloorAspect]) + format_bytes / bytes_a_second_);
}

double Forecaster::usual_of(double tensor_bytes, double format_bytes) const {
  return std::log(usual_preparation(tensor_bytes, format_bytes, backend_));
}

/// Runs beyond the floor of their bytes.
Regression Forecaster::fitted_runs() const {
  return fitted(kRunKernel, [&](const SeenTimes& t) {
    return std::log(t.run) - floor_of(problem_of(t).at, t.format_bytes);
  });
}

/// Preparations beyond what is usual for their bytes.
Regression Forecaster::fitted_preparations() const {
  return fitted(kPrepareKernel, [&](const SeenTimes& t) {
    return std::log(std::max(t.prepare, kNoSeconds)) -
           usual_of(problem_of(t).tensor_bytes, t.format_bytes);
  });
}

std::vector<Forecast> Forecaster::of(const Aspects& at, double tensor_bytes,
                                     const std::vector<std::size_t>& candidates) const {
  if (!run_) {
    run_ = std::make_unique<Regression>(fitted_runs());
    prepare_ = std::make_unique<Regression>(fitted_preparations());
  }
  std::vector<Place> places;
  for (const auto candidate : candidates) places.push_back(place_of(at, candidate));
  const auto runs = run_->at(places), preparations = prepare_->at(places);
  std::vector<Forecast> forecasts;
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const double format = format_bytes(at, tensor_bytes, candidates[k]);
    forecasts.push_back({candidates[k], moved(runs[k], floor_of(at, format)),
                         moved(preparations[k], usual_of(tensor_bytes, format)),
                         is_library(seen_.candidates[candidates[k]].method)});
  }
  return forecasts;
}

std::vector<Forecast> Forecaster::left_out() const {
  std::map<std::string, int> numbers;
  std::vector<int> groups;
  for (const auto* t : times_)
    groups.push_back(
        numbers.try_emplace(problem_of(*t).family, static_cast<int>(numbers.size())).first->second);
  const auto run = fitted_runs().left_out(groups);
  const auto prepare = fitted_preparations().left_out(groups);
  const auto share = fit(format_, &SeenTimes::format_bytes).left_out(groups);
  std::vector<Forecast> forecasts;
  for (std::size_t k = 0; k < times_.size(); ++k) {
    const auto& problem = problem_of(*times_[k]);
    const double format = bytes_of_share(share[k], problem.tensor_bytes);
    forecasts.push_back({times_[k]->candidate, moved(run[k], floor_of(problem.at, format)),
                         moved(prepare[k], usual_of(problem.tensor_bytes, format)),
                         is_library(seen_.candidates[times_[k]->candidate].method)});
  }
  return forecasts;
}

const Regression& Forecaster::fit(std::unique_ptr<Regression>& kept,
                                  double SeenTimes::*bytes) const {
  if (!kept)
    kept = std::make_unique<Regression>(fitted(kShareKernel, [&](const SeenTimes& t) {
      return logarithm_of_share(t.*bytes, problem_of(t).tensor_bytes);
    }));
  return *kept;
}

double Forecaster::format_bytes(const Aspects& at, double tensor_bytes,
                                std::size_t candidate) const {
  return bytes_of_share(fit(format_, &SeenTimes::format_bytes).at(place_of(at, candidate)),
                        tensor_bytes);
}

double Forecaster::device_bytes(const Aspects& at, double tensor_bytes,
                                std::size_t candidate) const {
  if (backend_ == Backend::cpu) return 0;
  return bytes_of_share(fit(memory_, &SeenTimes::device_bytes).at(place_of(at, candidate)),
                        tensor_bytes);
}

double Forecaster::error(std::size_t candidate) const {
  std::vector<double> errors;
  for (const auto* t : times_)
    if (t->candidate == candidate) errors.push_back(t->error);
  if (errors.empty()) throw LogicError("the error of a candidate that was never measured");
  return quantile(std::move(errors), 0.75);
}

int Forecaster::families(std::size_t candidate) const {
  std::set<std::string> of;
  for (const auto* t : times_)
    if (t->candidate == candidate) of.insert(problem_of(*t).family);
  return static_cast<int>(of.size());
}

std::vector<std::string> Forecaster::outside(const Aspects& at, std::string_view without) const {
  Aspects least, most;
  least.fill(std::numeric_limits<double>::infinity());
  most.fill(-std::numeric_limits<double>::infinity());
  for (const auto* t : times_) {
    const auto& problem = problem_of(*t);
    if (!without.empty() && problem.family == without) continue;
    for (std::size_t k = 0; k < at.size(); ++k) {
      least[k] = std::min(least[k], problem.at[k]);
      most[k] = std::max(most[k], problem.at[k]);
    }
  }
  std::vector<std::string> words;
  for (std::size_t k = 0; k < at.size(); ++k) {
    const bool is_logarithm = std::count(kPlainAspects.begin(), kPlainAspects.end(), k) == 0;
    const auto shown = [&](double x) {
      return fmt::format("{:.3g}", is_logarithm ? std::exp(x) : x);
    };
    if (at[k] < least[k] - kAspectScales[k] || at[k] > most[k] + kAspectScales[k])
      words.push_back(fmt::format("{} {}, seen {} to {}", kAspectNames[k], shown(at[k]),
                                  shown(least[k]), shown(most[k])));
  }
  return words;
}

std::vector<std::size_t> Forecaster::known_nearby(const Aspects& at) const {
  std::vector<std::size_t> candidates;
  for (const auto candidate : little_known_)
    if (std::any_of(times_.begin(), times_.end(), [&](const SeenTimes* t) {
          return t->candidate == candidate && distance(at, problem_of(*t).at) < kNearby;
        }))
      candidates.push_back(candidate);
  return candidates;
}

const SeenProblem& Forecaster::nearest(const Aspects& at) const {
  const auto near =
      std::min_element(times_.begin(), times_.end(), [&](const auto* a, const auto* b) {
        return distance(at, problem_of(*a).at) < distance(at, problem_of(*b).at);
      });
  if (near == times_.end()) throw LogicError("nothing was measured");
  return problem_of(**near);
}

}  // namespace retensor::advise
