// Machine facts from /proc and /sys of Linux. A fact that the kernel does not tell (virtual
// machines and sandboxes hide some) stays 0 or empty.
#include "common/machine/machine.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <omp.h>
#include <boost/algorithm/string.hpp>
#include <nlohmann/json.hpp>

#include "common/core/build_info.hpp"
#include "common/core/text.hpp"
#include "common/device/device.hpp"

namespace retensor {

// What a row's session tells of both.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CpuFacts, model, cores, sockets, threads_per_core, threads_used,
                                   l2_bytes, llc_bytes, clock_mhz, max_clock_mhz, simd, affinity)
namespace device {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceFacts, name, sms, memory_bytes, l2_bytes, shared_per_sm,
                                   shared_per_block, sm_clock_mhz, memory_clock_mhz,
                                   memory_bus_bits)
}  // namespace device

namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

double first_number(const std::string& path) {
  std::ifstream in(path);
  double x = 0;
  return in >> x ? x : 0;
}

/// "key<separator>value" of one line; an empty key when there is no separator.
std::pair<std::string, std::string> split(const std::string& line, char separator) {
  const auto at = line.find(separator);
  if (at == std::string::npos) return {};
  const auto trimmed = [](const std::string& text) {
    return boost::trim_copy_if(text, boost::is_any_of(" \t\""));
  };
  return {trimmed(line.substr(0, at)), trimmed(line.substr(at + 1))};
}

using Fields = std::map<std::string, std::string>;

/// One map per logical processor of /proc/cpuinfo.
std::vector<Fields> processors() {
  std::ifstream in("/proc/cpuinfo");
  std::vector<Fields> all;
  for (std::string line; std::getline(in, line);) {
    const auto [key, value] = split(line, ':');
    if (key == "processor") all.emplace_back();
    if (!key.empty() && !all.empty()) all.back()[key] = value;
  }
  return all;
}

std::string word(const Fields& fields, const std::string& key) {
  const auto at = fields.find(key);
  return at == fields.end() ? std::string() : at->second;
}

void count_cores(const std::vector<Fields>& cpus, CpuFacts& facts) {
  std::set<std::string> sockets, cores;
  for (const auto& cpu : cpus) {
    sockets.insert(word(cpu, "physical id"));
    cores.insert(word(cpu, "physical id") + "/" + word(cpu, "core id"));
  }
  const bool told = !cpus.empty() && cpus.front().count("core id") != 0;
  const int logical = std::max<int>(1, static_cast<int>(cpus.size()));
  facts.sockets = std::max<int>(1, static_cast<int>(sockets.size()));
  facts.cores = told ? static_cast<int>(cores.size()) : logical;
  facts.threads_per_core = std::max(1, logical / facts.cores);
}

/// Bytes of a sysfs cache size such as "32768K".
Count cache_bytes(const std::string& text) {
  char* end = nullptr;
  const Count n = std::strtoull(text.c_str(), &end, 10);
  return n << (*end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0);
}

/// Sizes by level over all processors; caches that processors share count once.
std::map<int, std::map<std::string, Count>> caches(int logical) {
  std::map<int, std::map<std::string, Count>> levels;
  for (int cpu = 0; cpu < logical; ++cpu)
    for (int k = 0;; ++k) {
      const auto dir = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, k);
      const auto type = first_line(dir + "type");
      if (type.empty()) break;
      if (type == "Instruction") continue;
      const auto level = static_cast<int>(first_number(dir + "level"));
      levels[level][first_line(dir + "shared_cpu_list")] = cache_bytes(first_line(dir + "size"));
    }
  return levels;
}

Count positive_sysconf(int key) {
  const long value = sysconf(key);
  return value > 0 ? static_cast<Count>(value) : 0;
}

void measure_caches(int logical, CpuFacts& facts) {
  const auto levels = caches(logical);
  if (const auto l2 = levels.find(2); l2 != levels.end())
    facts.l2_bytes = l2->second.begin()->second;
  if (!levels.empty())
    for (const auto& [sharers, bytes] : levels.rbegin()->second) facts.llc_bytes += bytes;
  if (facts.l2_bytes == 0) facts.l2_bytes = positive_sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (facts.llc_bytes == 0)
    facts.llc_bytes = std::max(positive_sysconf(_SC_LEVEL3_CACHE_SIZE), facts.l2_bytes);
}

std::string widest_simd() {
  if (__builtin_cpu_supports("avx512f")) return "avx512f";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  return "sse2";
}

/// "0-3,8" for 0 1 2 3 8.
std::string ranges(const std::vector<int>& ascending) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    const int first = ascending[i];
    while (i + 1 < ascending.size() && ascending[i + 1] == ascending[i] + 1) ++i;
    runs.push_back(first == ascending[i] ? fmt::format("{}", first)
                                         : fmt::format("{}-{}", first, ascending[i]));
  }
  return joined(runs, ",");
}

std::string usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> usable;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) usable.push_back(cpu);
  return usable.empty() ? "unknown" : ranges(usable);
}

/// What OpenMP made of OMP_PLACES: "{0},{1}", or none.
std::string places() {
  std::vector<std::string> all;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(omp_get_place_num_procs(place));
    omp_get_place_proc_ids(place, ids.data());
    std::sort(ids.begin(), ids.end());
    all.push_back(fmt::format("{{{}}}", ranges(ids)));
  }
  return all.empty() ? "none" : joined(all, ",");
}

std::string affinity() {
  constexpr std::array<const char*, 5> kBind = {"false", "true", "master", "close", "spread"};
  const auto bind = static_cast<std::size_t>(omp_get_proc_bind());
  return fmt::format("processors {}, proc_bind {}, places {}", usable_processors(),
                     bind < kBind.size() ? kBind[bind] : "unknown", places());
}

std::string numa() {
  const auto nodes = first_line("/sys/devices/system/node/online");
  int policy = -1;
  const long rc = syscall(SYS_get_mempolicy, &policy, nullptr, 0UL, nullptr, 0UL);
  constexpr std::array<const char*, 6> kPolicies = {"default",    "preferred", "bind",
                                                    "interleave", "local",     "preferred many"};
  const auto at = static_cast<std::size_t>(policy);
  return fmt::format("nodes {}, policy {}", nodes.empty() ? "unknown" : nodes,
                     rc == 0 && at < kPolicies.size() ? kPolicies[at] : "unknown");
}

nlohmann::json os_json() {
  utsname u{};
  uname(&u);
  std::ifstream in("/etc/os-release");
  std::string distribution;
  for (std::string line; std::getline(in, line);)
    if (const auto [key, value] = split(line, '='); key == "PRETTY_NAME") distribution = value;
  return {{"system", u.sysname},
          {"release", u.release},
          {"machine", u.machine},
          {"distribution", distribution}};
}

/// Device, driver and CUDA, or why there is none.
nlohmann::json device_json() {
  if (const auto gpu = device::available(); !gpu.ok)
    return {{"cuda", build_info().cuda},
            {"driver", ""},
            {"gpu", {{"available", false}, {"reason", gpu.reason}}}};
  const auto f = device::facts();
  nlohmann::json gpu = f;
  gpu.update({{"available", true}, {"compute_capability", fmt::format("{}.{}", f.major, f.minor)}});
  return {{"cuda", f.runtime}, {"driver", f.driver}, {"gpu", gpu}};
}

/// A "VmHWM:  1234 kB" line of /proc/self/status in bytes, 0 when absent.
Count status_bytes(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (const auto [k, value] = split(line, ':'); k == key)
      return std::strtoull(value.c_str(), nullptr, 10) * 1024;
  return 0;
}

}  // namespace

CpuFacts cpu_facts() {
  CpuFacts facts;
  const auto cpus = processors();
  if (!cpus.empty()) facts.model = word(cpus.front(), "model name");
  count_cores(cpus, facts);
  measure_caches(static_cast<int>(cpus.size()), facts);
  facts.threads_used = omp_get_max_threads();
  facts.memory_bytes = positive_sysconf(_SC_PHYS_PAGES) * positive_sysconf(_SC_PAGESIZE);
  facts.clock_mhz = core_clock_mhz();
  facts.max_clock_mhz =
      first_number("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq") / 1000;
  facts.simd = widest_simd();
  facts.affinity = affinity();
  facts.numa = numa();
  return facts;
}

nlohmann::json machine_facts() {
  const auto cpu = cpu_facts();
  auto facts = device_json();
  facts["cpu"] = cpu;
  facts["os"] = os_json();
  facts["memory_bytes"] = cpu.memory_bytes;
  facts["numa"] = cpu.numa;
  return facts;
}

Count peak_resident_bytes() {
  if (const Count bytes = status_bytes("VmHWM"); bytes > 0) return bytes;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<Count>(usage.ru_maxrss) * 1024;
}

void reset_peak_resident() {
  // Code 5 resets the high-water mark to the present size (proc(5)).
  std::ofstream("/proc/self/clear_refs") << "5\n";
}

double core_clock_mhz() {
  // The core that runs the caller has just run the timed code; idle cores say nothing about it.
  const int cpu = std::max(0, sched_getcpu());
  const double khz =
      first_number(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu));
  if (khz > 0) return khz / 1000;
  const auto cpus = processors();
  const auto at = static_cast<std::size_t>(cpu);
  return at < cpus.size() ? std::strtod(word(cpus[at], "cpu MHz").c_str(), nullptr) : 0;
}

}  // namespace retensor
