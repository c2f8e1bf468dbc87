// Facts about the machine that every session line records.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/core/types.hpp"

namespace retensor {

struct CpuFacts {
  std::string model;
  int cores = 0, sockets = 0, threads_per_core = 0, threads_used = 0;
  Count l2_bytes = 0, llc_bytes = 0, memory_bytes = 0;
  double clock_mhz = 0, max_clock_mhz = 0;
  std::string simd;      ///< the widest of avx512f, avx2, sse2 that the processor has
  std::string affinity;  ///< processors the process may use, OMP_PROC_BIND and OMP_PLACES as seen
  std::string numa;      ///< nodes and policy as the kernel reports them
};

CpuFacts cpu_facts();
/// CPU, operating system, GPU (or why there is none), driver, CUDA: the machine object of a row
/// file.
nlohmann::json machine_facts();
/// High-water mark of the resident set in bytes, since the last reset where the kernel allows one.
Count peak_resident_bytes();
/// Sets the high-water mark back to the present size, where the kernel allows it.
void reset_peak_resident();
/// Core clock now in MHz, 0 where the kernel does not tell.
double core_clock_mhz();

}  // namespace retensor
