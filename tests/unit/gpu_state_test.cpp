// The GPU's management library, played by functions of this program: what is read of it, which
// samples are taken again, and a clock that is locked.
#include <doctest/doctest.h>

#include <unistd.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/driver/run/bench/precision.hpp"
#include "experiments/driver/run/gpu_state.hpp"
#include "tests/support/complaint.hpp"

using namespace retensor;
using namespace retensor::driver;
using nlohmann::json;
using test::contains;

namespace {

constexpr unsigned long long kHeat = 0x20, kPowerCap = 0x4;

struct Played {
  unsigned long long reasons = 0;
  unsigned long long heat_ns = 0;
  unsigned watts = 300, locked_mhz = 0;
  int lock_status = 0;
  std::vector<unsigned> processes = std::vector<unsigned>(65);  // more than there is room for
};
Played played;

struct PlayedTime {
  unsigned long long reference_us, violation_ns;
};

/// A measurement of three samples; `before` is called with the number of the attempt.
Watched watch(const std::function<void(int)>& before) {
  const GpuState gpu("", "");
  int attempt = 0;
  const auto measure = [&](const TimingOptions&) {
    before(attempt++);
    Measurement m;
    m.status = "ok";
    m.samples = {1.0 * attempt, 1.0 * attempt, 1.0 * attempt};
    return std::vector{m};
  };
  return measure_watched(measure, {}, {}, {true}, [&]() -> const GpuState& { return gpu; });
}

}  // namespace

extern "C" {
int cuInit(unsigned) {
  return 0;
}
int cuDeviceGet(int* device, int) {
  return *device = 0;
}
int cuDeviceGetUuid(unsigned char* bytes, int) {
  for (unsigned char k = 0; k < 16; ++k) bytes[k] = k;
  return 0;
}
int nvmlInit_v2() {
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &played;
  return std::string(uuid) == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f" ? 0 : 6;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 1000 * played.watts;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) {
  *bits = played.reasons;
  return 0;
}
int nvmlDeviceGetViolationStatus(void*, int policy, void* time) {
  constexpr int kThermal = 1;
  static_cast<PlayedTime*>(time)->violation_ns = policy == kThermal ? played.heat_ns : 0;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void* processes) {
  struct Process {
    unsigned pid;
    unsigned long long memory;
    unsigned instance, computing;
  };
  const auto room = std::exchange(*count, static_cast<unsigned>(played.processes.size()));
  if (room < *count) return 7;
  auto* next = static_cast<Process*>(processes);
  for (const auto pid : played.processes) *next++ = {pid, 0, 0, 0};
  return 0;
}
int nvmlDeviceSetGpuLockedClocks(void*, unsigned least, unsigned most) {
  if (played.lock_status == 0 && least == most) played.locked_mhz = least;
  return played.lock_status;
}
int nvmlDeviceResetGpuLockedClocks(void*) {
  played.locked_mhz = 0;
  return 0;
}
}

TEST_CASE("what the library tells is read, and what it lacks is left out") {
  played = {.reasons = kHeat | kPowerCap};
  const GpuState gpu("", "");  // this program
  const auto state = gpu.now();
  CHECK(state["power_w"] == 300);
  CHECK(state["reasons"] == json{"power cap", "heat"});
  CHECK(state["others"] == 65);
  CHECK(!state.contains("temperature_c"));
  CHECK(gpu.uuid() == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
}

TEST_CASE("this process and the one that waits for it are no others") {
  const auto own = static_cast<unsigned>(getpid()), parent = static_cast<unsigned>(getppid());
  const GpuState gpu("", "");
  for (const auto& [processes, others] : std::map<std::vector<unsigned>, int>{
           {{own, parent}, 0}, {{parent}, 0}, {{own, parent, own + parent}, 1}}) {
    played = {.processes = processes};
    CHECK(gpu.now()["others"] == others);
  }
}

TEST_CASE("without the library its absence is said") {
  const GpuState none("libno-such-library.so.1", "");
  CHECK(none.now() == json{{"absent", "no NVML: libno-such-library.so.1 can't be loaded"}});
  const LockedClock lock(none, 1000);
  CHECK(contains(lock.refusal(), "can't be loaded"));
}

TEST_CASE("samples of a hot GPU are taken again, and the first ones are kept") {
  played = {};
  const auto once = watch([](int attempt) {
    if (attempt == 0) played.heat_ns = 5000000;
  });
  REQUIRE(once.states.front()["repeated"].size() == 1);
  CHECK(once.states.front()["repeated"][0] == json{{"slowed_by", "heat"}, {"median", 1.0}});
  CHECK(once.measured.front().samples.front() == 2.0);

  played = {};
  const auto always = watch([](int) { played.heat_ns += 1000; });
  CHECK(always.states.front()["repeated"].size() == 2);
  CHECK(always.measured.front().samples.front() == 3.0);
  CHECK(brakes(always.states.front()) == "heat");

  played = {};
  const auto capped = watch([](int) { played.reasons = kPowerCap; });
  CHECK(!capped.states.front().contains("repeated"));
  CHECK(capped.states.front()["reasons"] == json{"power cap"});
}

TEST_CASE("a clock is locked as long as it is asked for, where the user may") {
  played = {};
  const GpuState gpu("", "");
  {
    const LockedClock lock(gpu, 1500);
    CHECK(lock.refusal().empty());
    CHECK(played.locked_mhz == 1500);
  }
  CHECK(played.locked_mhz == 0);
  played.lock_status = 4;
  played.locked_mhz = 7;  // of somebody else
  {
    const LockedClock lock(gpu, 1500);
    CHECK(lock.refusal() == "NVML lets only root do that");
  }
  CHECK(played.locked_mhz == 7);
}
