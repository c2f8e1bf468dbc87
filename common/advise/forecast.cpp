#include "common/advise/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "common/core/error.hpp"

namespace retensor::advise {
namespace {

/// Deviations that maximise the likelihood of times that were left out, a family at a time, over
/// all operations on an H200 and on its 16 cores (README.md).
constexpr Kernel kRunKernel{
    0.625, {3.84, 0.48, 0.312}, {0.625, 0.614, 0.195}, {0.768, 0.08, 0.512}, 0.08};
constexpr Kernel kPrepareKernel{
    1.6, {3.84, 0.3, 0.5}, {6.1, 0.4, 0.312}, {0.117, 0.08, 0.512}, 0.3};
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

Estimate moved(Estimate e, double by) {
  return {e.mean + by, e.deviation};
}

}  // namespace

double usual_preparation(double tensor_bytes, Backend backend) {
  return backend == Backend::cuda ? 1e-3 + tensor_bytes / 2e10 : 1e-5 + tensor_bytes / 1e9;
}

double Forecast::run_seconds(double deviations) const {
  return std::exp(run.mean + deviations * run.deviation);
}

double Forecast::prepare_seconds(double deviations) const {
  return std::exp(prepare.mean + deviations * prepare.deviation);
}

double Forecast::total(double calls, double deviations) const {
  return prepare_seconds(deviations) + calls * run_seconds(deviations);
}

std::size_t best_of(const std::vector<Forecast>& forecasts, double calls, double caution) {
  if (forecasts.empty()) throw LogicError("no forecast to choose from");
  const auto best = std::min_element(forecasts.begin(), forecasts.end(),
                                     [&](const Forecast& a, const Forecast& b) {
                                       return a.total(calls, caution) < b.total(calls, caution);
                                     });
  return static_cast<std::size_t>(best - forecasts.begin());
}

std::vector<std::size_t> contenders(const std::vector<Forecast>& forecasts, double calls,
                                    double caution, std::size_t most) {
  const auto first = best_of(forecasts, calls, caution);
  const double expected = forecasts[first].total(calls), worst = forecasts[first].total(calls, 1);
  std::vector<std::size_t> order(forecasts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t k) {
    const auto& f = forecasts[k];
    const double trial = f.total(kRunsOfTrial);
    const double saved = worst - f.total(calls, -1);  // where it is lucky and the best is not
    return k == first || saved <= trial || trial > 0.25 * expected;
  });
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return forecasts[a].total(calls, caution) < forecasts[b].total(calls, caution);
  });
  order.insert(order.begin(), first);
  order.resize(std::min(order.size(), most));
  return order;
}

Forecaster::Forecaster(const Experience& seen, std::size_t device, Operation operation)
    : seen_(seen), backend_(seen.devices.at(device).backend) {
  std::map<std::size_t, std::set<std::string>> families;
  for (const auto& t : seen.times) {
    const auto& problem = seen.problems[t.problem];
    if (problem.device != device || problem.operation != operation) continue;
    times_.push_back(&t);
    families[t.candidate].insert(problem.family);
  }
  for (const auto& [candidate, of] : families)
    if (of.size() >= kFewestFamilies) offered_.push_back(candidate);
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

namespace {

double floor_of(const Aspects& at) {
  return at[1];  // "seconds of the compulsory bytes"
}

}  // namespace

std::vector<Forecast> Forecaster::of(const Aspects& at, double tensor_bytes,
                                     const std::vector<std::size_t>& candidates) const {
  const double usual = std::log(usual_preparation(tensor_bytes, backend_));
  if (!run_) {
    run_ = std::make_unique<Regression>(fitted(kRunKernel, [&](const SeenTimes& t) {
      return std::log(t.run) - floor_of(problem_of(t).at);
    }));
    prepare_ = std::make_unique<Regression>(fitted(kPrepareKernel, [&](const SeenTimes& t) {
      return std::log(std::max(t.prepare, kNoSeconds)) -
             std::log(usual_preparation(problem_of(t).tensor_bytes, backend_));
    }));
  }
  std::vector<Forecast> forecasts;
  for (const auto candidate : candidates) {
    const auto place = place_of(at, candidate);
    forecasts.push_back(
        {candidate, moved(run_->at(place), floor_of(at)), moved(prepare_->at(place), usual)});
  }
  return forecasts;
}

std::vector<Forecast> Forecaster::left_out() const {
  std::map<std::string, int> numbers;
  std::vector<int> groups;
  for (const auto* t : times_)
    groups.push_back(
        numbers.try_emplace(problem_of(*t).family, static_cast<int>(numbers.size())).first->second);
  const auto run = fitted(kRunKernel, [&](const SeenTimes& t) {
                     return std::log(t.run) - floor_of(problem_of(t).at);
                   }).left_out(groups);
  const auto usual = [&](const SeenTimes& t) {
    return std::log(usual_preparation(problem_of(t).tensor_bytes, backend_));
  };
  const auto prepare = fitted(kPrepareKernel, [&](const SeenTimes& t) {
                         return std::log(std::max(t.prepare, kNoSeconds)) - usual(t);
                       }).left_out(groups);
  std::vector<Forecast> forecasts;
  for (std::size_t k = 0; k < times_.size(); ++k)
    forecasts.push_back({times_[k]->candidate, moved(run[k], floor_of(problem_of(*times_[k]).at)),
                         moved(prepare[k], usual(*times_[k]))});
  return forecasts;
}

const Regression& Forecaster::fit(std::unique_ptr<Regression>& kept,
                                  double SeenTimes::*bytes) const {
  if (!kept)
    kept = std::make_unique<Regression>(fitted(kPrepareKernel, [&](const SeenTimes& t) {
      return logarithm_of_share(t.*bytes, problem_of(t).tensor_bytes);
    }));
  return *kept;
}

double Forecaster::format_bytes(const Aspects& at, double tensor_bytes,
                                std::size_t candidate) const {
  const auto share = fit(format_, &SeenTimes::format_bytes).at(place_of(at, candidate));
  return std::max(0.0, std::exp(share.mean) - kNoBytes) * tensor_bytes;
}

double Forecaster::device_bytes(const Aspects& at, double tensor_bytes,
                                std::size_t candidate) const {
  if (backend_ == Backend::cpu) return 0;
  const auto share = fit(memory_, &SeenTimes::device_bytes).at(place_of(at, candidate));
  return std::max(0.0, std::exp(share.mean) - kNoBytes) * tensor_bytes;
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

std::vector<std::string> Forecaster::outside(const Aspects& at) const {
  std::vector<std::string> words;
  for (std::size_t k = 0; k < at.size(); ++k) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const auto* t : times_) {
      least = std::min(least, problem_of(*t).at[k]);
      most = std::max(most, problem_of(*t).at[k]);
    }
    const bool plain = std::string_view(kAspects[k].name) == "order" || kAspects[k].scale < 1;
    const auto shown = [&](double x) { return fmt::format("{:.3g}", plain ? x : std::exp(x)); };
    if (at[k] < least - kAspects[k].scale || at[k] > most + kAspects[k].scale)
      words.push_back(fmt::format("{} {}, seen {} to {}", kAspects[k].name, shown(at[k]),
                                  shown(least), shown(most)));
  }
  return words;
}

const SeenProblem& Forecaster::nearest(const Aspects& at) const {
  const auto distance = [&](const SeenTimes* t) {
    double sum = 0;
    for (std::size_t k = 0; k < at.size(); ++k) {
      const double d = (at[k] - problem_of(*t).at[k]) / kAspects[k].scale;
      sum += d * d;
    }
    return sum;
  };
  const auto near =
      std::min_element(times_.begin(), times_.end(),
                       [&](const auto* a, const auto* b) { return distance(a) < distance(b); });
  if (near == times_.end()) throw LogicError("nothing was measured");
  return problem_of(**near);
}

}  // namespace retensor::advise
