// Instructions of Hopper (sm_90a): products of a warpgroup, four warps, with the left operand in
// registers; barriers that count bytes; the copy engine; thread blocks of a cluster. Included by
// .cu files alone.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "papers/tca_spmm/kernels/pipeline_cuda.cuh"

namespace retensor::tca_spmm {

/// An address in the window of shared memory.
using SharedPlace = std::uint32_t;

/// Makes barriers that the thread made visible to the copy engine.
__device__ inline void show_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}
/// Arrives and announces bytes of the copy engine, without which the phase does not end.
__device__ inline void arrive_for(Barrier* barrier, unsigned bytes) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }"
               :
               : "r"(shared_place(barrier)), "r"(bytes)
               : "memory");
}
/// Copies `bytes`, a multiple of 16, from global to shared memory.
__device__ inline void copy_bulk(void* to, const void* from, unsigned bytes, Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :
      : "r"(shared_place(to)), "l"(from), "r"(bytes), "r"(shared_place(barrier))
      : "memory");
}
/// Copies the box of a map in global memory or among the parameters that begins at (row, column).
__device__ inline void copy_box(void* to, const CUtensorMap& map, unsigned row, unsigned column,
                                Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %2}], [%4];"
      :
      : "r"(shared_place(to)), "l"(&map), "r"(row), "r"(column), "r"(shared_place(barrier))
      : "memory");
}

/// A matrix in shared memory with the 128-byte swizzle: groups of eight rows of 128 bytes, each
/// group 1024 bytes, aligned. `leading` and `stride` in bytes, as PTX defines them for one that is
/// contiguous along n: `leading` is between groups that are neighbours along n, `stride` along k.
__device__ inline std::uint64_t swizzled_matrix(const void* memory, unsigned leading,
                                                unsigned stride) {
  return static_cast<std::uint64_t>(shared_place(memory) >> 4 & 0x3fff) |
         static_cast<std::uint64_t>(leading >> 4) << 16 |
         static_cast<std::uint64_t>(stride >> 4) << 32 | std::uint64_t{1} << 62;
}

/// Orders what the warpgroup did with the registers of a product before the product.
__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}
/// Ends a group of the warpgroup's products.
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}
/// Waits for all groups but the latest kLeft.
template <int kLeft>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(kLeft) : "memory");
}

// The sums of block j of eight columns, and of eight such blocks, as operands.
#define RETENSOR_BLOCK(j) "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
#define RETENSOR_BLOCKS(j)                                                                \
  RETENSOR_BLOCK(j), RETENSOR_BLOCK(j + 1), RETENSOR_BLOCK(j + 2), RETENSOR_BLOCK(j + 3), \
      RETENSOR_BLOCK(j + 4), RETENSOR_BLOCK(j + 5), RETENSOR_BLOCK(j + 6), RETENSOR_BLOCK(j + 7)

/// sum += a b, m64n64k16: b contiguous along n, warp w of the group has rows 16 w and on of a. A
/// lane has of a and, in block j of eight columns, of sum what it has in multiply_add.
__device__ inline void multiply_add_async(float (&sum)[8][4], const std::uint32_t (&a)[4],
                                          std::uint64_t b) {
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %37, 0; "
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, add, 1, 1, 1; }"
      : RETENSOR_BLOCKS(0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(1));
}
/// The same, m64n128k16.
__device__ inline void multiply_add_async(float (&sum)[16][4], const std::uint32_t (&a)[4],
                                          std::uint64_t b) {
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %69, 0; "
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, add, 1, 1, 1; }"
      : RETENSOR_BLOCKS(0), RETENSOR_BLOCKS(8)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(1));
}
#undef RETENSOR_BLOCKS
#undef RETENSOR_BLOCK

/// If `word` has a bit of kBits, the 32 bits at `at`, which moves on by 4; zero if not.
template <std::uint32_t kBits>
__device__ inline std::uint32_t take_stored(std::uint32_t word, SharedPlace& at) {
  std::uint32_t value;
  asm volatile(
      "{ .reg .pred stored; .reg .b32 bits; and.b32 bits, %2, %3; setp.ne.u32 stored, bits, 0; "
      "mov.b32 %0, 0; @stored ld.shared.b32 %0, [%1]; @stored add.u32 %1, %1, 4; }"
      : "=&r"(value), "+r"(at)
      : "r"(word), "n"(kBits)
      : "memory");
  return value;
}

/// The warpgroup takes more registers a thread, or leaves some; all its warps at one place.
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(kRegisters));
}
template <int kRegisters>
__device__ inline void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(kRegisters));
}

/// Waits for all threads of the cluster's thread blocks and shows what each wrote to the others.
__device__ inline void meet_cluster() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" : : : "memory");
}
/// Writes to the shared memory of thread block `rank` of the cluster, at the place that `to` has in
/// the own one.
__device__ inline void store_remote(float4* to, unsigned rank, const float (&v)[4]) {
  asm volatile(
      "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
      "st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5}; }"
      :
      : "r"(shared_place(to)), "r"(rank), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
      : "memory");
}

}  // namespace retensor::tca_spmm
