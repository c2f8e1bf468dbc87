// What host code may ask about the GPU without CUDA headers. In a build without CUDA every
// question is answered by `available().ok == false`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/core/stage_timer.hpp"
#include "common/core/types.hpp"

namespace retensor::device {

struct Availability {
  bool ok = false;
  std::string reason;  ///< built without CUDA, no driver, no device, architecture not compiled in
};
Availability available();

/// What bounds the launches on a device, all of which the driver tells: sizes of thread blocks
/// follow from it. A plain value, so that a choice can be tried with the limits of any chip.
struct Limits {
  int sms = 0;                 ///< multiprocessors
  Count shared_per_sm = 0;     ///< bytes of shared memory
  Count shared_per_block = 0;  ///< at most, where a kernel asks for it
  Count shared_reserved = 0;   ///< that a block takes besides its own
  Count registers_per_sm = 0, threads_per_sm = 0;
};

struct DeviceFacts : Limits {
  std::string name;
  int major = 0, minor = 0;
  Count memory_bytes = 0, l2_bytes = 0;
  double sm_clock_mhz = 0, memory_clock_mhz = 0;
  int memory_bus_bits = 0;
  std::string driver, runtime;
};
/// Throws DeviceError when no device is available.
DeviceFacts facts();

struct Memory {
  Count free_bytes = 0, total_bytes = 0;
};
Memory memory();

/// CUDA events on a stream of its own; preallocated, at most 64 stages per run.
std::unique_ptr<StageTimer> make_event_timer();
/// Writes a buffer of twice the L2 so that the next run starts cold.
void flush_cache();
/// Current SM clock in MHz from a timed in-kernel cycle count.
double sm_clock_mhz();

/// The error that every later CUDA call of this process meets too, such as an illegal address in a
/// kernel; empty while the device works. Initialises the device.
std::string fault();

/// A profiler that waits for its start (ncu --profile-from-start off) sees the kernels launched
/// while this lives.
class ProfiledRange {
 public:
  ProfiledRange();
  ~ProfiledRange();
  ProfiledRange(const ProfiledRange&) = delete;
  ProfiledRange& operator=(const ProfiledRange&) = delete;
};

/// Sorts keys ascending and returns the permutation (position p takes old element result[p]) by
/// CUB's radix sort on the device.
std::vector<Count> sort_permutation(const std::vector<std::uint64_t>& keys);
std::vector<Count> sort_permutation(const std::vector<Uint128>& keys);

}  // namespace retensor::device
