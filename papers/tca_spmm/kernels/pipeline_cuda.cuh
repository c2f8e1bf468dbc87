// Barriers in shared memory (mbarrier, Ampere and later) between warps that fill buffers and warps
// that read them. Included by .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace retensor::tca_spmm {

using Barrier = std::uint64_t;  ///< in shared memory; its phases end when `arrivals` have come

__device__ inline std::uint32_t shared_place(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

__device__ inline void make_barrier(Barrier* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;"
               :
               : "r"(shared_place(barrier)), "r"(arrivals)
               : "memory");
}
__device__ inline void arrive(Barrier* barrier) {
  asm volatile("{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0];}"
               :
               : "r"(shared_place(barrier))
               : "memory");
}
/// Arrives when all copies that the thread began have ended.
__device__ inline void arrive_after_copies(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];"
               :
               : "r"(shared_place(barrier))
               : "memory");
}
/// Waits for the end of the phase of that parity, 0 for the first; that before the first has ended.
__device__ inline void wait_for(Barrier* barrier, unsigned parity) {
  std::uint32_t ended = 0;
  while (ended == 0)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
#else
    asm volatile(
        "{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
#endif
        : "=r"(ended)
        : "r"(shared_place(barrier)), "r"(parity)
        : "memory");
}

/// A position in a ring of buffers: the buffer, and the parity of the round.
struct RingPlace {
  unsigned slot = 0, parity = 0;
  __device__ void advance(unsigned slots) {
    if (++slot == slots) slot = 0, parity ^= 1;
  }
};

}  // namespace retensor::tca_spmm
