// Measured ceilings of a machine: what the rooflines are drawn with (PASTA section V.B, after the
// Empirical Roofline Tool: several micro-kernels, sizes and thread counts, the best kept).
#pragma once

#include <string>
#include <vector>

#include "common/core/types.hpp"
#include "common/device/device.hpp"

namespace retensor {

/// `what`: copy_dram, copy_llc, triad_dram, triad_llc, gather, gather_dram, atomic, atomic_dram,
/// scatter, peak_f32, mma_f16. `unit`: GB/s, GFLOP/s or Grows/s. gather and atomic work on rows of
/// 128 bytes, the best over tables of all sizes, with _dram in a table several times the last-level
/// cache; on a device gather_<KiB> is the rate for a table of that size; scatter moves records of
/// 16 bytes. `detail` names kernel, size and threads of the best value. lanes_f32, theory_dram and
/// theory_f32 are computed, see theoretical_peaks.
struct Ceiling {
  std::string what;
  double value = 0;
  std::string unit;
  std::string detail;
};

/// Takes about `seconds` in total.
std::vector<Ceiling> cpu_ceilings(double seconds = 3.0);
/// Empty when no device can be used.
std::vector<Ceiling> gpu_ceilings(double seconds = 3.0);

/// lanes_f32, theory_f32 and theory_dram as PASTA's Table III has them: a multiply-add a cycle in
/// every single-precision lane, two transfers a memory clock over the whole bus. Without what the
/// facts do not tell; a host's kernel tells neither its vector units nor its memory channels.
std::vector<Ceiling> theoretical_peaks(const device::DeviceFacts& gpu);

}  // namespace retensor
