#include "experiments/driver/run/ncu_table.hpp"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/core/message.hpp"
#include "common/core/text.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr const char* kTime = "gpu__time_duration.sum";

/// A member of the profile and the metrics whose sum it is.
struct Metric {
  const char* name;
  std::vector<std::string> metrics;
};

const std::vector<Metric>& shares() {
  static const std::vector<Metric> list = {
      {"sm_percent", {"sm__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {"l1_percent", {"l1tex__throughput.avg.pct_of_peak_sustained_active"}},
      {"l2_percent", {"lts__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {"dram_percent", {"dram__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {"tensor_percent", {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"}}};
  return list;
}

const std::vector<Metric>& totals() {
  static const std::vector<Metric> list = {
      {"seconds", {kTime}},
      {"dram_read_bytes", {"dram__bytes_read.sum"}},
      {"dram_write_bytes", {"dram__bytes_write.sum"}},
      {"dram_bytes", {"dram__bytes_read.sum", "dram__bytes_write.sum"}},
      {"l2_bytes", {"lts__t_bytes.sum"}},
      {"l2_atomic_sectors", {"lts__t_sectors_op_atom.sum", "lts__t_sectors_op_red.sum"}},
      {"tensor_instructions", {"sm__inst_executed_pipe_tensor.sum"}}};
  return list;
}

/// The fields of the CSV record that begins at `at`, which moves behind it.
std::vector<std::string> read_record(const std::string& text, std::size_t& at) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      const bool doubled = quoted && at + 1 < text.size() && text[at + 1] == '"';
      if (doubled)
        fields.back() += text[++at];
      else
        quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c == '\n' && !quoted) {
      ++at;
      break;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

/// Factor to bytes, seconds, percent or counts; nothing for a unit that is not known.
std::optional<double> factor_of(const std::string& unit) {
  static const std::map<std::string, double> known = {
      {"", 1},        {"%", 1},          {"byte", 1},       {"Kbyte", 1e3},    {"Mbyte", 1e6},
      {"Gbyte", 1e9}, {"Tbyte", 1e12},   {"ns", 1e-9},      {"us", 1e-6},      {"ms", 1e-3},
      {"s", 1},       {"nsecond", 1e-9}, {"usecond", 1e-6}, {"msecond", 1e-3}, {"second", 1},
      {"sector", 1},  {"inst", 1}};
  const auto found = known.find(unit);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> number_of(std::string text) {
  boost::erase_all(text, ",");
  boost::trim(text);
  const auto value = number_in<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

using Record = std::vector<std::string>;

KernelLaunch launch_of(const Record& names, const Record& units, const Record& values) {
  if (values.size() != names.size())
    throw input_error("a row of {} fields below {} column names in ncu's table", values.size(),
                      names.size());
  KernelLaunch launch;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k] == "Kernel Name") launch.kernel = values[k];
    if (!boost::contains(names[k], "__")) continue;  // a fact about the launch
    const auto factor = factor_of(units[k]);
    const auto value = number_of(values[k]);
    if (factor && value) launch.metrics[names[k]] = *factor * *value;
  }
  return launch;
}

using KernelLaunches = std::vector<KernelLaunch>;

bool all_have(const KernelLaunches& launches, const std::vector<std::string>& metrics) {
  return std::ranges::all_of(launches, [&](const KernelLaunch& launch) {
    return std::ranges::all_of(metrics,
                               [&](const std::string& m) { return launch.metrics.count(m) > 0; });
  });
}

double total(const KernelLaunches& launches, const std::vector<std::string>& metrics) {
  double sum = 0;
  for (const auto& launch : launches)
    for (const auto& m : metrics) sum += launch.metrics.at(m);
  return sum;
}

double weighed(const KernelLaunches& launches, const std::string& metric, bool timed) {
  double sum = 0, weights = 0;
  for (const auto& launch : launches) {
    const double weight = timed ? launch.metrics.at(kTime) : 1;
    sum += weight * launch.metrics.at(metric);
    weights += weight;
  }
  return weights > 0 ? sum / weights : 0;
}

}  // namespace

const std::vector<std::string>& ncu_metrics() {
  static const std::vector<std::string> list = [] {
    std::vector<std::string> names;
    for (const auto* members : {&shares(), &totals()})
      for (const auto& member : *members)
        for (const auto& metric : member.metrics)
          if (std::ranges::find(names, metric) == names.end()) names.push_back(metric);
    return names;
  }();
  return list;
}

std::vector<KernelLaunch> parse_ncu_csv(const std::string& text) {
  const std::string head = "\"ID\",";
  auto at = text.starts_with(head) ? 0 : text.find('\n' + head);
  if (at == std::string::npos) return {};
  if (text[at] == '\n') ++at;
  const auto names = read_record(text, at);
  Record units(names.size());
  std::vector<KernelLaunch> launches;
  while (at < text.size() && text[at] == '"') {
    const auto fields = read_record(text, at);
    if (fields.front().empty() && fields.size() == names.size())
      units = fields;
    else
      launches.push_back(launch_of(names, units, fields));
  }
  return launches;
}

json summarise_launches(const std::vector<KernelLaunch>& launches) {
  json profile = {{"launches", launches.size()}, {"missing", json::array()}};
  for (const auto& metric : ncu_metrics())
    if (!all_have(launches, {metric})) profile["missing"].push_back(metric);
  for (const auto& member : totals())
    if (all_have(launches, member.metrics)) profile[member.name] = total(launches, member.metrics);
  const bool timed = all_have(launches, {kTime});
  for (const auto& member : shares())
    if (all_have(launches, member.metrics))
      profile[member.name] = weighed(launches, member.metrics.front(), timed);
  return profile;
}

}  // namespace retensor::driver
