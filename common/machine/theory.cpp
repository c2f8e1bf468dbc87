// Peaks that follow from the facts of a device (PASTA section V.A.1 computes its Table III so).
#include <fmt/format.h>

#include "common/machine/ceilings.hpp"

namespace retensor {
namespace {

/// Single-precision lanes of a multiprocessor by compute capability (CUDA programming guide, table
/// of arithmetic throughput); 0 for a generation that is not listed here.
int lanes_per_sm(int major, int minor) {
  if (major < 6 || major > 12 || major == 11) return 0;
  return major == 7 || (major <= 8 && minor == 0) ? 64 : 128;
}

}  // namespace

std::vector<Ceiling> theoretical_peaks(const device::DeviceFacts& gpu) {
  constexpr double kMega = 1e6, kGiga = 1e9;
  std::vector<Ceiling> peaks;
  const int lanes = gpu.sms * lanes_per_sm(gpu.major, gpu.minor);
  if (lanes > 0)
    peaks.push_back({"lanes_f32", static_cast<double>(lanes), "lanes",
                     fmt::format("{} multiprocessors, compute capability {}.{}", gpu.sms, gpu.major,
                                 gpu.minor)});
  if (lanes > 0 && gpu.sm_clock_mhz > 0)
    peaks.push_back({"theory_f32", 2 * lanes * gpu.sm_clock_mhz * kMega / kGiga, "GFLOP/s",
                     fmt::format("{} lanes, {:g} MHz", lanes, gpu.sm_clock_mhz)});
  if (gpu.memory_clock_mhz > 0 && gpu.memory_bus_bits > 0)
    peaks.push_back({"theory_dram",
                     2 * gpu.memory_clock_mhz * kMega * gpu.memory_bus_bits / 8 / kGiga, "GB/s",
                     fmt::format("{} bits, {:g} MHz", gpu.memory_bus_bits, gpu.memory_clock_mhz)});
  return peaks;
}

}  // namespace retensor
