// Starting ncu around a worker that runs one case, and reading its log.
#include "experiments/driver/run/profiler.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "common/io/files.hpp"
#include "experiments/driver/run/child_process.hpp"
#include "experiments/driver/run/ncu_table.hpp"
#include "experiments/driver/spec/foreign.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

/// ncu replays every kernel a few times and saves and restores the memory it writes.
constexpr int kSlowdown = 10;

json no_profile(const std::string& reason) {
  return {{"reason", reason}};
}

std::string find_ncu() {
  constexpr const char* kInstalled = "/usr/local/cuda/bin/ncu";
  const auto found = found_in_path("ncu");
  return found.empty() && access(kInstalled, X_OK) == 0 ? kInstalled : found;
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
  if (!succeeded)
    return no_profile(fmt::format("no profile within {}",
                                  duration_text(std::chrono::duration<double>(limit).count())));
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
