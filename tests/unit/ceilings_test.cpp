#include <doctest/doctest.h>

#include <map>
#include <string>

#include "common/device/device.hpp"
#include "common/machine/ceilings.hpp"

using namespace retensor;

// Sanitizers slow plain loads more than atomics.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RETENSOR_INSTRUMENTED 1
#endif
#endif

TEST_CASE("the host's ceilings are positive and ordered as physics has it") {
  std::map<std::string, Ceiling> found;
  for (const auto& c : cpu_ceilings(0.5)) {
    CHECK(found.emplace(c.what, c).second);
    CHECK_MESSAGE(c.value > 0, c.what);
    CHECK_FALSE(c.unit.empty());
    CHECK_FALSE(c.detail.empty());
    MESSAGE(c.what << " " << c.value << " " << c.unit << " (" << c.detail << ")");
  }
  for (const char* what : {"copy_dram", "copy_llc", "triad_dram", "triad_llc", "gather",
                           "gather_dram", "atomic", "atomic_dram", "scatter", "peak_f32"})
    REQUIRE_MESSAGE(found.count(what) == 1, what);
  CHECK(found["copy_dram"].value > 1);     // a slower memory would be of the last century
  CHECK(found["copy_dram"].value < 3000);  // no host has more
  CHECK(found["peak_f32"].value > 4);      // one FMA of 256 bits at 1 GHz is 16
#ifndef RETENSOR_INSTRUMENTED
  CHECK(found["atomic"].value * 128 < found["gather"].value);
#endif
}

TEST_CASE("theoretical peaks are those of Table III for the GPUs of the paper") {
  device::DeviceFacts p100;
  p100.major = 6;
  p100.sms = 56;
  p100.sm_clock_mhz = 1480;
  p100.memory_clock_mhz = 715;
  p100.memory_bus_bits = 4096;
  auto v100 = p100;
  v100.major = 7;
  v100.sms = 80;
  v100.sm_clock_mhz = 1530;
  v100.memory_clock_mhz = 877;
  const auto peak = [](const device::DeviceFacts& gpu, const std::string& what) {
    for (const auto& c : theoretical_peaks(gpu))
      if (c.what == what) return c.value;
    return 0.0;
  };
  CHECK(peak(p100, "theory_f32") == doctest::Approx(10600).epsilon(0.005));
  CHECK(peak(p100, "theory_dram") == doctest::Approx(732).epsilon(0.005));
  CHECK(peak(p100, "lanes_f32") == 3584);
  CHECK(peak(v100, "lanes_f32") == 5120);
  CHECK(peak(v100, "theory_dram") == doctest::Approx(900).epsilon(0.005));
  // 5120 lanes at the 1.53 GHz of the table make 15.7 TFLOPS; the printed 14.9 need 1.455 GHz.
  CHECK(peak(v100, "theory_f32") == doctest::Approx(15667).epsilon(0.005));
  p100.major = 99;
  p100.memory_bus_bits = 0;
  CHECK(theoretical_peaks(p100).empty());
}

TEST_CASE("without a device there are no device ceilings") {
  if (!device::available().ok) CHECK(gpu_ceilings(0.1).empty());
}

TEST_CASE("the best of a kind is kept") {
  std::vector<Ceiling> list;
  keep_best(list, {"copy", 1, "GB/s", "a"});
  keep_best(list, {"copy", 3, "GB/s", "b"});
  keep_best(list, {"copy", 2, "GB/s", "c"});
  keep_best(list, {"peak", 1, "GFLOP/s", "d"});
  REQUIRE(list.size() == 2);
  CHECK(list[0].detail == "b");
  int tries = 0;
  CHECK(best_rate(0, [&] { return std::pair(2e9, ++tries == 3 ? 0.5 : 1.0); }) ==
        doctest::Approx(4));
  CHECK(tries == 1 + kFewestTries);
}
