// Measured ceilings of a machine: what the rooflines are drawn with (PASTA section V.B, after the
// Empirical Roofline Tool: several micro-kernels, sizes and thread counts, the best kept).
//
// What the ceilings of host and device share: a probe is tried several times and its best rate
// kept, and of several probes of the same kind the best.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/core/types.hpp"
#include "common/device/device.hpp"

namespace retensor {

/// `what`: copy_dram, copy_llc, triad_dram, triad_llc, gather, gather_dram, atomic, atomic_dram,
/// scatter, peak_f32, mma_f16. `unit`: GB/s, GFLOP/s or Grows/s. gather and atomic work on rows of
/// 128 bytes, the best over tables of all sizes, with _dram in a table of four times the last-level
/// cache, but of 1 GiB and an eighth of the memory at most; on a device gather_<KiB> is the rate
/// for a table of that size; scatter moves records of 16 bytes. `detail` names kernel, size and
/// threads of the best value. lanes_f32, theory_dram and theory_f32 are computed, see
/// theoretical_peaks.
struct Ceiling {
  std::string what;
  double value = 0;
  std::string unit;
  std::string detail;
};

/// Takes about `seconds`, and longer where the last-level cache is large: a pass over several times
/// its size is not cut short.
std::vector<Ceiling> cpu_ceilings(double seconds = 3.0);
/// Takes about `seconds`; empty when no device can be used.
std::vector<Ceiling> gpu_ceilings(double seconds = 3.0);

/// lanes_f32, theory_f32 and theory_dram as PASTA's Table III has them: a multiply-add a cycle in
/// every single-precision lane, two transfers a memory clock over the whole bus. Without what the
/// facts do not tell; a host's kernel tells neither its vector units nor its memory channels.
std::vector<Ceiling> theoretical_peaks(const device::DeviceFacts& gpu);

/// Fewest tries of a probe, however long one takes.
inline constexpr int kFewestTries = 3;

/// Best of repeated tries in units of 1e9 a second. `attempt()` returns {amount, seconds}; a first
/// one is not counted. Tries until `budget` seconds are spent.
template <class Attempt>
double best_rate(double budget, Attempt&& attempt) {
  attempt();
  double best = 0, spent = 0;
  for (int tries = 0; tries < kFewestTries || spent < budget; ++tries) {
    const auto [amount, seconds] = attempt();
    best = std::max(best, 1e-9 * amount / seconds);
    spent += seconds;
  }
  return best;
}

/// Enters `c` unless a better value of the same kind stands in the list.
inline void keep_best(std::vector<Ceiling>& list, Ceiling c) {
  const auto at = std::find_if(list.begin(), list.end(),
                               [&c](const Ceiling& other) { return other.what == c.what; });
  if (at == list.end())
    list.push_back(std::move(c));
  else if (at->value < c.value)
    *at = std::move(c);
}

}  // namespace retensor
