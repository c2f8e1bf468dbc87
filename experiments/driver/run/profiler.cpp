// Starting ncu around a worker that runs one case, and reading its log.
#include "experiments/driver/run/profiler.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "common/core/error.hpp"
#include "common/io/files.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/run/child_process.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;

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
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

using Record = std::vector<std::string>;

KernelLaunch launch_of(const Record& names, const Record& units, const Record& values) {
  if (values.size() != names.size())
    throw InputError(fmt::format("a row of {} fields below {} column names in ncu's table",
                                 values.size(), names.size()));
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
  return std::all_of(launches.begin(), launches.end(), [&](const KernelLaunch& launch) {
    return std::all_of(metrics.begin(), metrics.end(),
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
          if (std::find(names.begin(), names.end(), metric) == names.end()) names.push_back(metric);
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

namespace {

/// ncu replays every kernel a few times and saves and restores the memory it writes.
constexpr int kSlowdown = 10;

json no_profile(const std::string& reason) {
  return {{"reason", reason}};
}

std::string find_ncu() {
  std::vector<std::string> folders;
  boost::split(folders, environment("PATH"), boost::is_any_of(":"));
  folders.emplace_back("/usr/local/cuda/bin");
  for (const auto& folder : folders)
    if (const auto file = folder + "/ncu"; !folder.empty() && access(file.c_str(), X_OK) == 0)
      return file;
  return "";
}

std::string text_in(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What ncu calls errors, on one line.
std::string errors_in(const std::string& log) {
  constexpr std::string_view kMark = "==ERROR==";
  std::vector<std::string> errors;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kMark)) errors.push_back(boost::trim_copy(line.substr(kMark.size())));
  return boost::join(errors, " ");
}

/// Takes out the metrics that the errors name; true when there were any.
bool drop_refused(std::vector<std::string>& metrics, const std::string& errors) {
  const auto refused = [&](const std::string& m) {
    return boost::contains(errors, m.substr(0, m.find('.')));
  };
  return std::erase_if(metrics, refused) > 0;
}

/// Whether the child succeeded, nothing when it did not end in time; then it is killed.
std::optional<bool> wait_for(ChildProcess& child, milliseconds limit, StopSignals& stop) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (const auto status = child.ended()) return WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
    if (std::chrono::steady_clock::now() >= end) return std::nullopt;
    pollfd signals{stop.descriptor(), POLLIN, 0};
    poll(&signals, 1, 20);
    stop.update();
    if (stop.at_once()) throw StoppedAtOnce("stopped at once by the second signal");
  }
}

}  // namespace

Profiler::Profiler(WorkerSetup setup, StopSignals& stop)
    : setup_(std::move(setup)), stop_(stop), ncu_(find_ncu()), metrics_(ncu_metrics()) {
  setup_.memory_limit = 0;  // ncu's own needs are not the case's
}

json Profiler::profile(const Case& c, const json& row, milliseconds timeout) {
  if (!is_gpu_method(c.method)) return {{"note", "a CPU method has no GPU counters"}};
  if (const auto status = status_of(row); status != Status::ok)
    return no_profile(fmt::format("no result to profile ({})", name(status)));
  if (ncu_.empty()) return no_profile("Nsight Compute (ncu) is not on the PATH");
  try {
    auto profile = measure(c, timeout * kSlowdown);
    if (!profile.contains("dram_bytes")) return profile;
    const double model = row.at("work").at("bytes");
    if (model > 0) profile["dram_over_model"] = profile["dram_bytes"].get<double>() / model;
    return profile;
  } catch (const StoppedAtOnce&) {
    throw;
  } catch (const Error& e) {
    return no_profile(e.what());
  }
}

std::vector<std::string> Profiler::command(const Case& c, const fs::path& folder) const {
  std::vector<std::string> argv = {"ncu",
                                   "--profile-from-start",
                                   "off",
                                   "--clock-control",
                                   "none",
                                   "--cache-control",
                                   c.cache == Cache::warm ? "none" : "all",
                                   "--csv",
                                   "--page",
                                   "raw",
                                   "--print-units",
                                   "base",
                                   "--metrics",
                                   boost::join(metrics_, ","),
                                   "--log-file",
                                   folder / "log",
                                   own_program()};
  auto worker = worker_command_line(setup_);
  argv.insert(argv.end(), worker.begin() + 1, worker.end());
  argv.insert(argv.end(), {"--profiled", folder / "request"});
  return argv;
}

json Profiler::measure(const Case& c, milliseconds limit) {
  const ScratchFolder scratch;
  std::ofstream(scratch.path() / "request")
      << json{{"case", driver::to_json(c, json::object())},
              {"limit", std::chrono::ceil<std::chrono::seconds>(limit).count()}};
  ChildProcess ncu(ncu_, command(c, scratch.path()));
  const auto succeeded = wait_for(ncu, limit, stop_);
  if (!succeeded) return no_profile(fmt::format("no profile within {} ms", limit.count()));
  const auto log = text_in(scratch.path() / "log");
  const auto launches = parse_ncu_csv(log);
  const auto errors = errors_in(log);
  if (*succeeded && errors.empty() && !launches.empty()) {
    auto profile = summarise_launches(launches);
    profile["cache"] = driver::name(c.cache);
    return profile;
  }
  const auto words = ncu.last_words();
  if (drop_refused(metrics_, errors + words)) return measure(c, limit);
  if (*succeeded && errors.empty()) return no_profile("ncu saw no kernel in the run");
  if (errors.empty() && words.empty()) return no_profile("ncu ended without a profile");
  return no_profile(
      fmt::format("ncu: {}{}{}", errors, errors.empty() || words.empty() ? "" : "; ", words));
}

}  // namespace retensor::driver
