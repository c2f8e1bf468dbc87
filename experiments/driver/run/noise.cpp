// Of others counts what /proc/stat shows beyond this process: in a container that is the host.
#include "experiments/driver/run/noise.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/join.hpp>
#include <cmath>
#include <fstream>
#include <vector>

#include "experiments/driver/run/gpu_state.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr double kShortest = 0.2;  // seconds

constexpr double kMostSpread = 2, kLeastDrift = 1.1;
constexpr std::size_t kFewestForDrift = 8;
constexpr double kOneSided99 = 2.33;  ///< of the normal distribution
constexpr double kIdleCores = 0.5;    ///< that a machine always uses for itself
constexpr double kMostStolen = 0.1;   ///< cores

/// Correlation of each sample with the next one.
double autocorrelation(const std::vector<double>& samples) {
  double mean = 0;
  for (const auto s : samples) mean += s / static_cast<double>(samples.size());
  double products = 0, squares = 0;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    squares += (samples[k] - mean) * (samples[k] - mean);
    if (k > 0) products += (samples[k] - mean) * (samples[k - 1] - mean);
  }
  return squares > 0 ? products / squares : 0;
}

/// What independent samples stay below with 99% (Anderson, Distribution of the serial correlation
/// coefficient, 1942).
double most_by_chance(std::size_t samples) {
  const auto n = static_cast<double>(samples);
  return (kOneSided99 * std::sqrt(n - 2) - 1) / (n - 1);
}

std::optional<LoadMeter::Ticks> ticks_now() {
  std::ifstream in("/proc/stat");
  std::string cpu;
  std::array<double, 8> ticks{};  // user nice system idle iowait irq softirq steal
  if (!(in >> cpu) || cpu != "cpu") return {};
  for (auto& t : ticks)
    if (!(in >> t)) return {};
  const double busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7];
  const auto a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  return LoadMeter::Ticks{busy / a_second, ticks[7] / a_second};
}

std::string first_word(const char* path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

/// Of Intel's driver, else of the others.
std::string turbo() {
  const auto off = first_word("/sys/devices/system/cpu/intel_pstate/no_turbo");
  const auto on = first_word("/sys/devices/system/cpu/cpufreq/boost");
  if (off.empty() && on.empty()) return "unknown";
  return off == "0" || on == "1" ? "on" : "off";
}

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

json noise_of(const json& row) {
  const auto samples = numbers_in(field(row, "phases.run"));
  if (samples.empty()) return {};
  const auto [least, most] = std::ranges::minmax_element(samples);
  const double spread = *least > 0 ? *most / *least : 1;
  json noise = {{"spread", spread}, {"reasons", json::array()}};
  auto& reasons = noise["reasons"];
  if (spread > kMostSpread)
    reasons.push_back(fmt::format("samples spread {:.{}f}-fold", spread, spread < 10 ? 1 : 0));
  if (const auto count = samples.size(); count >= kFewestForDrift) {
    const double drift = autocorrelation(samples);
    noise["drift"] = drift;
    if (spread > kLeastDrift && drift > most_by_chance(count)) reasons.push_back("samples drift");
  }
  const double others = number_at(row, "cpu_load.others"), cores = number_at(row, "cpu_load.cores");
  if (others > kIdleCores && others + number_at(row, "cpu_load.own") > cores - kIdleCores)
    reasons.push_back(fmt::format("others used {:.1f} of {:g} cores", others, cores));
  if (const double stolen = number_at(row, "cpu_load.steal"); stolen > kMostStolen)
    reasons.push_back(fmt::format("the host took {:.1f} cores away", stolen));
  const auto& gpu = field(row, "gpu_state");
  if (const auto slowed_by = brakes(gpu.is_object() ? gpu : json::object()); !slowed_by.empty())
    reasons.push_back("the GPU was slowed down by " + slowed_by);
  if (const double others_there = number_at(row, "gpu_state.others"); others_there > 0)
    reasons.push_back(fmt::format("{:g} other {} on the GPU", others_there,
                                  others_there == 1 ? "process" : "processes"));
  return noise;
}

std::string noise_text(const json& row) {
  const auto noise = noise_of(row);
  if (noise.is_null()) return "";
  return boost::algorithm::join(noise["reasons"].get<std::vector<std::string>>(), ", ");
}

json governing() {
  const auto governor = first_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return {{"governor", governor.empty() ? "unknown" : governor}, {"turbo", turbo()}};
}

LoadMeter::LoadMeter() : ticks_(ticks_now()), own_(own_seconds()) {
  if (getloadavg(&average_, 1) != 1) average_ = -1;
}

json LoadMeter::load() const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  const double own = own_seconds() - own_;
  json load = {{"cores", sysconf(_SC_NPROCESSORS_ONLN)}};
  if (average_ >= 0) load["average"] = average_;
  // /proc/stat counts ticks of 10 ms on each processor: a shorter time has no share of them.
  if (passed.count() < kShortest) return load;
  load["own"] = own / passed.count();
  if (const auto now = ticks_now(); now && ticks_) {
    const double others = (now->busy - ticks_->busy - own) / passed.count();
    load["others"] = std::clamp(others, 0.0, load["cores"].get<double>());
    load["steal"] = std::max(0.0, now->steal - ticks_->steal) / passed.count();
  }
  return load;
}

}  // namespace retensor::driver
