// Every two launches of a case are a pair of the same code: what differs is the machine's doing.
#include "experiments/driver/judge/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/measure/statistics.hpp"
#include "experiments/driver/data/bytes.hpp"
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
    if (const auto& load = row.field("cpu_load.average"); load.is_number())
      found.load = std::max(found.load, load.get<double>());
    if (noise_text(row.line()).empty())
      launches.push_back(std::move(samples));
    else
      ++found.noisy;
  }
  return found;
}

/// The ratios of all pairs, each launch after the other.
std::vector<Ratio> ratios_of(const Launched& launched) {
  std::vector<Ratio> ratios;
  for (const auto& [of, launches] : launched.by_case)
    for (std::size_t a = 0; a < launches.size(); ++a)
      for (std::size_t b = a + 1; b < launches.size(); ++b)
        ratios.push_back(
            ratio_of_medians(Launches(&launches[b], 1), Launches(&launches[a], 1), ratios.size()));
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
  const auto count = std::count_if(ratios.begin(), ratios.end(), called);
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

void check_one_machine(const std::vector<Row>& rows) {
  std::set<std::string> machines;
  for (const auto& row : rows) machines.insert(machine_label(row.device(), row.machine(), true));
  if (machines.size() > 1)
    throw InputError("calibrate: found rows of several machines, expected those of one");
}

}  // namespace

json calibrate(const std::vector<Row>& rows) {
  check_one_machine(rows);
  const auto found = launched(rows);
  const auto ratios = ratios_of(found);
  if (ratios.size() < kFewestPairs)
    throw InputError(
        fmt::format("calibrate: found {} pairs of launches without noise ({} noisy rows were "
                    "refused), expected "
                    "at least {}: more launches, or a machine at rest",
                    ratios.size(), found.noisy, kFewestPairs));
  const auto& first = rows.front();
  json made = {{"kind", "calibration"},
               {"schema", kSchema},
               {"device", first.device()},
               {"machine", first.machine()},
               {"driver", first.field("machine.driver")},
               {"finished", rows.back().finished()},
               {"cases", found.by_case.size()},
               {"pairs", ratios.size()},
               {"noisy_rows", found.noisy},
               {"highest_load", found.load},
               {"threshold", nullptr}};
  for (const auto threshold : kThresholds) {
    made["curve"].push_back(curve_point(ratios, threshold));
    const auto& point = made["curve"].back();
    if (made["threshold"].is_null() && point["false_alarms"] <= kMostFalseAlarms)
      made.update({{"threshold", threshold},
                   {"false_alarms", point["false_alarms"]},
                   {"power", point["power"]}});
  }
  return made;
}

Calibration read_calibration(const std::string& path) {
  const auto j = json::parse(read_small_file(path), nullptr, false);
  const auto pairs = j.is_object() ? field(j, "pairs") : json();
  const auto threshold = j.is_object() ? field(j, "threshold") : json();
  if (!j.is_object() || text_of(j, "kind") != "calibration" || !pairs.is_number_unsigned() ||
      !(threshold.is_number() || threshold.is_null()))
    throw InputError(path + ": found no calibration, expected a file of `retensor calibrate`");
  Calibration c{path, text_of(j, "device"), text_of(j, "machine"), {}, 0, pairs};
  if (!threshold.is_number()) return c;
  c.threshold = threshold.get<double>() / 100;
  if (const auto& share = field(j, "false_alarms"); share.is_number()) c.false_alarms = share;
  return c;
}

const Calibration* calibration_of(const std::vector<Calibration>& all, const std::string& device,
                                  const std::string& machine) {
  const Calibration* of_model = nullptr;
  for (const auto& c : all) {
    if (c.device != device) continue;
    if (c.machine == machine && !machine.empty()) return &c;
    if (c.machine.empty() || machine.empty()) of_model = &c;
  }
  return of_model;
}

std::string rule_text(const Calibration& c) {
  const auto machine = machine_label(c.device, c.machine, true);
  if (!c.threshold)
    return fmt::format(
        "{}: its calibration ({}) found no rule with few enough false alarms: no "
        "difference is called there",
        machine, c.path);
  return fmt::format(
      "{}: differences count beyond {:g}%, by its calibration ({}; {:.2g}% of {} identical pairs "
      "are called)",
      machine, 100 * *c.threshold, c.path, 100 * c.false_alarms, c.pairs);
}

}  // namespace retensor::driver
