#include <doctest/doctest.h>
#include <sched.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/device/device.hpp"
#include "common/machine/machine.hpp"

using namespace retensor;

TEST_CASE("the processor has cores, memory and a name for its vectors") {
  const auto f = cpu_facts();
  CHECK(f.cores >= 1);
  CHECK(f.sockets >= 1);
  CHECK(f.threads_per_core >= 1);
  CHECK(f.threads_used >= 1);
  CHECK(f.memory_bytes > (Count{1} << 28));
  CHECK(f.llc_bytes >= f.l2_bytes);
  CHECK((f.simd == "avx512f" || f.simd == "avx2" || f.simd == "sse2"));
  CHECK(core_clock_mhz() >= 0);
}

TEST_CASE("the processors that a thread may use, binding and places are told") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  const int here = sched_getcpu();
  CPU_ZERO(&one);
  CPU_SET(here, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const std::string pinned = cpu_facts().affinity;
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
  CHECK_MESSAGE(pinned.rfind("processors " + std::to_string(here) + ", proc_bind ", 0) == 0,
                pinned);
  CHECK(pinned.find(", places ") != std::string::npos);
  if (CPU_COUNT(&before) > 1) CHECK(cpu_facts().affinity != pinned);
}

TEST_CASE("machine facts have every field of a session line") {
  const auto facts = machine_facts();
  for (const char* key : {"cpu", "os", "memory_bytes", "numa", "gpu", "driver", "cuda"})
    CHECK_MESSAGE(facts.contains(key), key);
  const auto gpu = device::available();
  CHECK(facts["gpu"]["available"] == gpu.ok);
  if (!gpu.ok) CHECK(facts["gpu"]["reason"] == gpu.reason);
  if (!gpu.ok) CHECK_FALSE(gpu.reason.empty());
  CHECK(facts["os"]["system"] == "Linux");
}

TEST_CASE("the high-water mark sees a large block") {
  reset_peak_resident();
  const Count before = peak_resident_bytes();
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  {
    const std::vector<char> block(kBytes, 1);
    CHECK(block[kBytes - 1] == 1);
  }
  CHECK(peak_resident_bytes() >= before + kBytes / 2);
}
