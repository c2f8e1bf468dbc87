// Every two launches of a case are a pair of the same code: what differs is the machine's doing.
#include "experiments/driver/judge/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/rng.hpp"
#include "common/core/text.hpp"
#include "common/measure/statistics.hpp"
#include "experiments/driver/run/noise.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr double kMostFalseAlarms = 0.01;
constexpr std::size_t kFewestPairs = 100;
/// Smallest change that counts, in percent.
constexpr std::array<double, 12> kThresholds = {0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50};
constexpr std::array<double, 4> kSlowdowns = {1, 2, 5, 10};
constexpr std::array<std::size_t, 4> kLaunches = {1, 3, 5, 9};
constexpr std::size_t kDraws = 66;  ///< of groups of launches, for a case
/// Of the normal distribution: 99% of pairs lie within the threshold, intervals hold 95%.
constexpr double kTwoSided99 = 2.576, kTwoSided95 = 1.96;

/// Samples of the launches of a case that are not noisy.
struct Launched {
  std::map<std::string, std::vector<std::vector<double>>> by_case;
  std::size_t noisy = 0;
  double load = 0;  ///< the highest load average
};

Launched launched(const std::vector<Row>& rows) {
  Launched found;
  for (const auto& row : rows) {
    auto samples = numbers_in(row.field("phases.run"));
    if (!row.ok() || samples.empty()) continue;
    auto c = row.row_case();
    c.erase("launch");
    auto& launches = found.by_case[c.dump()];
    found.load = std::max(found.load, row.number("cpu_load.average"));
    if (noise_text(row.line()).empty())
      launches.push_back(std::move(samples));
    else
      ++found.noisy;
  }
  return found;
}

using LaunchTimes = std::vector<std::vector<double>>;

/// The ratios of all pairs, each launch after the other.
void add_pairs(const LaunchTimes& launches, std::vector<Ratio>& ratios) {
  for (std::size_t a = 0; a < launches.size(); ++a)
    for (std::size_t b = a + 1; b < launches.size(); ++b)
      ratios.push_back(
          ratio_of_medians(Launches(&launches[b], 1), Launches(&launches[a], 1), ratios.size()));
}

/// Ratios of sides of `size` launches each, which are drawn without repetition.
void add_groups(LaunchTimes launches, std::size_t size, std::vector<Ratio>& ratios) {
  for (std::size_t draw = 0; draw < kDraws && launches.size() >= 2 * size; ++draw) {
    const CounterRng rng(draw, ratios.size());
    for (std::size_t k = 0; k < 2 * size; ++k)
      std::swap(launches[k], launches[k + rng.below(k, launches.size() - k)]);
    const Launches all(launches);
    ratios.push_back(
        ratio_of_medians(all.subspan(size, size), all.subspan(0, size), ratios.size()));
  }
}

/// Of the launches of each case from `begin` to `end`, shares of them in the order of time.
std::vector<Ratio> ratios_of(const Launched& launched, std::size_t size, double begin, double end) {
  std::vector<Ratio> ratios;
  for (const auto& of_case : launched.by_case) {
    const auto& launches = of_case.second;
    const auto at = [&, count = static_cast<double>(launches.size())](double share) {
      return launches.begin() + static_cast<std::ptrdiff_t>(share * count);
    };
    const LaunchTimes some(at(begin), at(end));
    if (size == 1)
      add_pairs(some, ratios);
    else
      add_groups(some, size, ratios);
  }
  return ratios;
}

/// compare's rule for a pair whose second side takes `slowdown` percent longer. Scaling samples
/// scales a ratio of medians and its interval.
bool is_called_slower(const Ratio& ratio, double slowdown, double threshold) {
  const double factor = 1 + slowdown / 100;
  return factor * ratio.ci_low > 1 && factor * ratio.value > 1 + threshold / 100;
}

bool is_called(const Ratio& ratio, double threshold) {
  const bool faster = ratio.ci_high < 1 && ratio.value < 1 - threshold / 100;
  return faster || is_called_slower(ratio, 0, threshold);
}

template <class Called>
double share(const std::vector<Ratio>& ratios, const Called& called) {
  const auto count = std::ranges::count_if(ratios, called);
  return static_cast<double>(count) / static_cast<double>(ratios.size());
}

json curve_point(const std::vector<Ratio>& ratios, double threshold) {
  json point = {
      {"threshold", threshold},
      {"false_alarms", share(ratios, [&](const Ratio& r) { return is_called(r, threshold); })}};
  for (const auto slowdown : kSlowdowns)
    point["power"][fmt::format("{:g}%", slowdown)] =
        share(ratios, [&](const Ratio& r) { return is_called_slower(r, slowdown, threshold); });
  return point;
}

/// The least threshold with few enough false alarms, in percent.
std::optional<double> least_threshold(const std::vector<Ratio>& ratios) {
  for (const auto threshold : kThresholds)
    if (share(ratios, [&](const Ratio& r) { return is_called(r, threshold); }) <= kMostFalseAlarms)
      return threshold;
  return std::nullopt;
}

/// The halves tell whether the machine was the same one all the time: the rule has to hold in each.
/// Nothing where a half has too few launches for two sides.
std::optional<json> rule_of(const Launched& found, std::size_t launches) {
  const auto ratios = ratios_of(found, launches, 0, 1);
  json rule = {{"launches", launches}, {"pairs", ratios.size()}};
  auto threshold = least_threshold(ratios);
  for (const auto half : {0.0, 0.5}) {
    const auto part = ratios_of(found, launches, half, half + 0.5);
    if (part.empty()) return std::nullopt;
    const auto own = least_threshold(part);
    rule["halves"].push_back(own ? json(*own) : json());
    threshold = own && threshold ? std::optional(std::max(*own, *threshold)) : std::nullopt;
  }
  rule["threshold"] = threshold ? json(*threshold) : json();
  for (const auto each : kThresholds) {
    rule["curve"].push_back(curve_point(ratios, each));
    const auto& point = rule["curve"].back();
    if (threshold && *threshold == each)
      rule.update({{"false_alarms", point["false_alarms"]}, {"power", point["power"]}});
  }
  return rule;
}

void check_one_machine(const std::vector<Row>& rows) {
  std::set<std::string> machines;
  for (const auto& row : rows) machines.insert(machine_label(row.device(), row.machine(), true));
  if (machines.size() > 1)
    throw input_error("calibrate: found rows of several machines, expected those of one");
}

}  // namespace

json calibrate(const std::vector<Row>& rows) {
  check_one_machine(rows);
  const auto found = launched(rows);
  std::size_t pairs = 0;
  for (const auto& [name, launches] : found.by_case)
    pairs += launches.size() * (launches.size() - 1) / 2;  // of 0 it is 0
  if (pairs < kFewestPairs)
    throw input_error(
        "calibrate: found {} pairs of launches without noise ({} noisy rows were "
        "refused), expected "
        "at least {}: more launches, or a machine at rest",
        pairs, found.noisy, kFewestPairs);
  const auto& first = rows.front();
  json made = {{"kind", "calibration"},
               {"schema", kSchema},
               {"device", first.device()},
               {"machine", first.machine()},
               {"driver", first.field("machine.driver")},
               {"finished", rows.back().finished()},
               {"cases", found.by_case.size()},
               {"noisy_rows", found.noisy},
               {"highest_load", found.load}};
  for (const auto launches : kLaunches)
    if (auto rule = rule_of(found, launches)) made["rules"].push_back(std::move(*rule));
  if (!made.contains("rules"))
    throw input_error(
        "calibrate: found fewer than four launches of each case, expected two in each half: the "
        "rule has to hold in both");
  return made;
}

namespace {

CalibratedRule rule_in(const json& j, const std::string& path) {
  const auto& pairs = field(j, "pairs");
  const auto& threshold = field(j, "threshold");
  if (!j.is_object() || !pairs.is_number_unsigned() ||
      !(threshold.is_number() || threshold.is_null()))
    throw InputError(path + ": found no calibration, expected a file of `retensor calibrate`");
  CalibratedRule rule{j.value("launches", std::size_t{1}), {}, 0, pairs};
  if (!threshold.is_number()) return rule;
  rule.threshold = threshold.get<double>() / 100;
  if (const auto& share = field(j, "false_alarms"); share.is_number()) rule.false_alarms = share;
  return rule;
}

std::string rule_words(const CalibratedRule& rule) {
  const auto sides = "with " + sides_text(rule.launches);
  if (!rule.threshold) return sides + " never";
  return fmt::format("{} beyond {:g}% ({:.2g}% of {} identical pairs are called)", sides,
                     100 * *rule.threshold, 100 * rule.false_alarms, rule.pairs);
}

}  // namespace

std::string sides_text(std::size_t launches) {
  return fmt::format("{} launch{} a side", launches, launches == 1 ? "" : "es");
}

Calibration read_calibration(const std::string& path) {
  const auto j = json::parse(read_small_file(path), nullptr, false);
  if (!j.is_object() || text_of(j, "kind") != "calibration")
    throw InputError(path + ": found no calibration, expected a file of `retensor calibrate`");
  Calibration c{path, text_of(j, "device"), text_of(j, "machine"), {}};
  // Older files hold the rule of one launch alone.
  for (const auto& rule : j.value("rules", json::array({j})))
    c.rules.push_back(rule_in(rule, path));
  if (c.rules.empty() || c.rules.front().launches != 1)
    throw InputError(path + ": found no rule for one launch, expected one");
  return c;
}

const CalibratedRule& Calibration::rule(std::size_t launches) const {
  const auto* best = &rules.front();
  for (const auto& one : rules)
    if (one.launches <= launches) best = &one;
  return *best;
}

std::optional<double> Calibration::between_launches() const {
  const auto& threshold = rules.front().threshold;
  if (!threshold) return std::nullopt;
  return std::log1p(*threshold) * kTwoSided95 / (kTwoSided99 * std::sqrt(2.0));
}

const Calibration* calibration_of(const std::vector<Calibration>& all, const std::string& device,
                                  const std::string& machine) {
  const Calibration* of_model = nullptr;
  for (const auto& c : all) {
    if (c.device != device) continue;
    if (c.machine == machine && !machine.empty()) return &c;
    if (of_model == nullptr && (c.machine.empty() || machine.empty())) of_model = &c;
  }
  return of_model;
}

std::string rule_text(const Calibration& c) {
  return fmt::format("{}: differences count, by its calibration ({}): {}",
                     machine_label(c.device, c.machine, true), c.path,
                     joined(transformed(c.rules, rule_words), ", "));
}

}  // namespace retensor::driver
