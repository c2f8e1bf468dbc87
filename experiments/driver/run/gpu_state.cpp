// NVML and the CUDA driver by their documented C interfaces; no header of theirs is needed to
// build.
#include "experiments/driver/run/gpu_state.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "common/core/text.hpp"

namespace retensor::driver {
using nlohmann::json;

/// A shared library, kept until the process ends: drivers do not like to be unloaded.
class DriverLibrary {
 public:
  explicit DriverLibrary(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW)) {}
  explicit operator bool() const { return handle_ != nullptr; }
  /// Calls a function; -1 where the library lacks it.
  template <class... Args>
  int call(const char* name, Args... args) const {
    void* const found = handle_ == nullptr ? nullptr : dlsym(handle_, name);
    return found == nullptr ? -1 : reinterpret_cast<int (*)(Args...)>(found)(args...);
  }

 private:
  void* handle_;
};

namespace {

constexpr int kDone = 0;            // NVML_SUCCESS, CUDA_SUCCESS
constexpr int kNoPermission = 4;    // NVML_ERROR_NO_PERMISSION
constexpr int kTooSmall = 7;        // NVML_ERROR_INSUFFICIENT_SIZE
constexpr unsigned kSensorGpu = 0;  // NVML_TEMPERATURE_GPU
constexpr unsigned kClockSm = 1, kClockMemory = 2;
constexpr double kMilli = 1e-3, kNano = 1e-9;

/// nvmlClocksEventReasons: bits that say why clocks are not higher.
constexpr std::array<std::pair<unsigned long long, const char*>, 9> kReasons = {
    {{0x1, "idle"},
     {0x2, "clocks set by the user"},
     {0x4, "power cap"},
     {0x8, "hardware slowdown"},
     {0x10, "sync boost"},
     {0x20, "heat"},
     {0x40, "heat (hardware)"},
     {0x80, "power brake"},
     {0x100, "display clocks"}}};
/// nvmlPerfPolicyType_t: what takes time that nvmlDeviceGetViolationStatus counts.
constexpr std::array<std::pair<int, const char*>, 4> kPolicies = {
    {{0, "power cap"}, {1, "heat"}, {4, "board limit"}, {5, "reliability"}}};

struct Violation {
  unsigned long long reference_us, violation_ns;
};
struct Process {  // nvmlProcessInfo_t of the calls that end in _v3
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

/// UUID of the CUDA driver's device 0, in the words of NVML; empty where there is none.
std::string uuid_of_device(const DriverLibrary& cuda) {
  std::array<unsigned char, 16> bytes{};
  int device = 0;
  if (cuda.call("cuInit", 0U) != kDone || cuda.call("cuDeviceGet", &device, 0) != kDone ||
      cuda.call("cuDeviceGetUuid", bytes.data(), device) != kDone)
    return "";
  std::string text = "GPU-";
  for (std::size_t k = 0; k < bytes.size(); ++k)
    text += fmt::format("{}{:02x}", k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "", bytes[k]);
  return text;
}

json slowed(const json& before, const json& after) {
  json times = json::object();
  for (const auto& [cause, total] : after.items())
    if (const double passed = total.get<double>() - before.value(cause, 0.0); passed > 0)
      times[cause] = passed;
  return times;
}

}  // namespace

struct GpuState::Library {
  DriverLibrary nvml;
  void* device = nullptr;  // nvmlDevice_t

  /// A number that one call gives; `scale` makes it the unit of the member.
  template <class T = unsigned, class... Args>
  void put(json& into, const char* member, double scale, const char* call, Args... args) const {
    T value{};
    if (nvml.call(call, device, args..., &value) == kDone)
      into[member] = scale * static_cast<double>(value);
  }
  void put_reasons(json& into) const;
  void put_slowed(json& into) const;
  void put_others(json& into) const;
};

void GpuState::Library::put_reasons(json& into) const {
  unsigned long long bits = 0;
  if (nvml.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &bits) != kDone) return;
  into["reasons"] = json::array();
  for (const auto& [bit, reason] : kReasons)
    if ((bits & bit) != 0) into["reasons"].push_back(reason);
}

void GpuState::Library::put_slowed(json& into) const {
  for (const auto& [policy, cause] : kPolicies) {
    Violation time{};
    if (nvml.call("nvmlDeviceGetViolationStatus", device, policy, static_cast<void*>(&time)) ==
        kDone)
      into["slowed_s"][cause] = kNano * static_cast<double>(time.violation_ns);
  }
}

void GpuState::Library::put_others(json& into) const {
  std::array<Process, 64> processes{};
  auto count = static_cast<unsigned>(processes.size());
  const int status = nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count,
                               static_cast<void*>(processes.data()));
  if (status == kTooSmall) into["others"] = count;
  if (status != kDone) return;
  // The program that started this one to measure may have asked the GPU for its facts, and waits.
  const auto own = static_cast<unsigned>(getpid()), waits = static_cast<unsigned>(getppid());
  into["others"] = std::count_if(
      processes.begin(), processes.begin() + count,
      [&](const Process& process) { return process.pid != own && process.pid != waits; });
}

GpuState::GpuState(const std::string& nvml, const std::string& cuda)
    : library_(std::make_unique<Library>(Library{DriverLibrary(nvml)})),
      uuid_(uuid_of_device(DriverLibrary(cuda))) {
  if (!library_->nvml)
    absence_ = "no NVML: " + nvml + " can't be loaded";
  else if (const int status = library_->nvml.call("nvmlInit_v2"); status != kDone)
    absence_ = fmt::format("NVML does not start: status {}", status);
  else if (uuid_.empty())
    absence_ = "the CUDA driver names no device";
  else if (library_->nvml.call("nvmlDeviceGetHandleByUUID", uuid_.c_str(), &library_->device) !=
           kDone)
    absence_ = "NVML does not know the device that CUDA uses";
}

GpuState::~GpuState() = default;

json GpuState::now() const {
  if (!absence_.empty()) return {{"absent", absence_}};
  const auto& l = *library_;
  json state = json::object();
  l.put(state, "power_w", kMilli, "nvmlDeviceGetPowerUsage");
  l.put(state, "limit_w", kMilli, "nvmlDeviceGetEnforcedPowerLimit");
  l.put<unsigned long long>(state, "energy_j", kMilli, "nvmlDeviceGetTotalEnergyConsumption");
  l.put(state, "temperature_c", 1, "nvmlDeviceGetTemperature", kSensorGpu);
  l.put(state, "sm_mhz", 1, "nvmlDeviceGetClockInfo", kClockSm);
  l.put(state, "memory_mhz", 1, "nvmlDeviceGetClockInfo", kClockMemory);
  l.put(state, "most_sm_mhz", 1, "nvmlDeviceGetMaxClockInfo", kClockSm);
  l.put_reasons(state);
  l.put_slowed(state);
  l.put_others(state);
  return state;
}

LockedClock::LockedClock(const GpuState& gpu, unsigned mhz) : gpu_(gpu), refusal_(gpu.absence()) {
  if (!refusal_.empty()) return;
  const int status =
      gpu.library_->nvml.call("nvmlDeviceSetGpuLockedClocks", gpu.library_->device, mhz, mhz);
  if (status == kNoPermission)
    refusal_ = "NVML lets only root do that";
  else if (status != kDone)
    refusal_ = fmt::format("NVML refuses {} MHz: status {}", mhz, status);
}

LockedClock::~LockedClock() {
  if (refusal_.empty())
    gpu_.library_->nvml.call("nvmlDeviceResetGpuLockedClocks", gpu_.library_->device);
}

json between(const json& before, const json& after, double seconds) {
  if (after.contains("absent")) return after;
  json state = json::object();
  for (const auto* member : {"temperature_c", "sm_mhz", "reasons"})
    if (after.contains(member)) state[member] = after[member];
  if (before.contains("others") && after.contains("others"))
    state["others"] = std::max(before["others"].get<int>(), after["others"].get<int>());
  if (before.contains("energy_j") && after.contains("energy_j") && seconds > 0)
    state["power_w"] =
        (after["energy_j"].get<double>() - before["energy_j"].get<double>()) / seconds;
  if (after.contains("slowed_s"))
    state["slowed_s"] = slowed(before.value("slowed_s", json::object()), after["slowed_s"]);
  return state;
}

std::string brakes(const json& between) {
  constexpr std::array<const char*, 4> kSlowing = {"heat", "heat (hardware)", "hardware slowdown",
                                                   "power brake"};
  std::vector<std::string> causes;
  const auto met = between.value("slowed_s", json::object());
  const auto reasons = between.value("reasons", json::array());
  for (const auto* cause : kSlowing)
    if (met.contains(cause) || std::count(reasons.begin(), reasons.end(), json(cause)) > 0)
      causes.emplace_back(cause);
  return joined(causes, ", ");
}

}  // namespace retensor::driver
