// Instructions of Hopper's tensor cores (sm_90a): products of a warpgroup, four warps, with both
// operands in shared memory. Included by .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace retensor::tca_spmm {

/// A matrix in shared memory with the 128-byte swizzle: groups of eight rows of 128 bytes, each
/// group 1024 bytes, aligned. `leading` and `stride` in bytes, as PTX defines them: of a matrix
/// whose rows are contiguous along k, `stride` is between groups; of one contiguous along m or n,
/// `leading` is between groups that are neighbours along m or n, `stride` along k.
__device__ inline std::uint64_t swizzled_matrix(const void* memory, unsigned leading,
                                                unsigned stride) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
  return static_cast<std::uint64_t>(address >> 4 & 0x3fff) |
         static_cast<std::uint64_t>(leading >> 4) << 16 |
         static_cast<std::uint64_t>(stride >> 4) << 32 | std::uint64_t{1} << 62;
}

/// Makes what the thread wrote to shared memory visible to the tensor cores.
__device__ inline void show_to_tensor_core() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}
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

/// sum += a b, m64n64k16: a contiguous along k, b along n. A lane of warp w has of block j of eight
/// columns what multiply_add has of rows 16 w and on.
__device__ inline void multiply_add_async(float (&sum)[8][4], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %34, 0; "
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, add, 1, 1, 0, 1; }"
      : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[0][2]), "+f"(sum[0][3]), "+f"(sum[1][0]),
        "+f"(sum[1][1]), "+f"(sum[1][2]), "+f"(sum[1][3]), "+f"(sum[2][0]), "+f"(sum[2][1]),
        "+f"(sum[2][2]), "+f"(sum[2][3]), "+f"(sum[3][0]), "+f"(sum[3][1]), "+f"(sum[3][2]),
        "+f"(sum[3][3]), "+f"(sum[4][0]), "+f"(sum[4][1]), "+f"(sum[4][2]), "+f"(sum[4][3]),
        "+f"(sum[5][0]), "+f"(sum[5][1]), "+f"(sum[5][2]), "+f"(sum[5][3]), "+f"(sum[6][0]),
        "+f"(sum[6][1]), "+f"(sum[6][2]), "+f"(sum[6][3]), "+f"(sum[7][0]), "+f"(sum[7][1]),
        "+f"(sum[7][2]), "+f"(sum[7][3])
      : "l"(a), "l"(b), "r"(1));
}
/// sum += a b, m64n128k16: a contiguous along k, b along n. A lane of warp w has of block j of
/// eight columns what multiply_add has of rows 16 w and on.
__device__ inline void multiply_add_async(float (&sum)[16][4], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %66, 0; "
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, add, 1, 1, 0, 1; }"
      : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[0][2]), "+f"(sum[0][3]), "+f"(sum[1][0]),
        "+f"(sum[1][1]), "+f"(sum[1][2]), "+f"(sum[1][3]), "+f"(sum[2][0]), "+f"(sum[2][1]),
        "+f"(sum[2][2]), "+f"(sum[2][3]), "+f"(sum[3][0]), "+f"(sum[3][1]), "+f"(sum[3][2]),
        "+f"(sum[3][3]), "+f"(sum[4][0]), "+f"(sum[4][1]), "+f"(sum[4][2]), "+f"(sum[4][3]),
        "+f"(sum[5][0]), "+f"(sum[5][1]), "+f"(sum[5][2]), "+f"(sum[5][3]), "+f"(sum[6][0]),
        "+f"(sum[6][1]), "+f"(sum[6][2]), "+f"(sum[6][3]), "+f"(sum[7][0]), "+f"(sum[7][1]),
        "+f"(sum[7][2]), "+f"(sum[7][3]), "+f"(sum[8][0]), "+f"(sum[8][1]), "+f"(sum[8][2]),
        "+f"(sum[8][3]), "+f"(sum[9][0]), "+f"(sum[9][1]), "+f"(sum[9][2]), "+f"(sum[9][3]),
        "+f"(sum[10][0]), "+f"(sum[10][1]), "+f"(sum[10][2]), "+f"(sum[10][3]), "+f"(sum[11][0]),
        "+f"(sum[11][1]), "+f"(sum[11][2]), "+f"(sum[11][3]), "+f"(sum[12][0]), "+f"(sum[12][1]),
        "+f"(sum[12][2]), "+f"(sum[12][3]), "+f"(sum[13][0]), "+f"(sum[13][1]), "+f"(sum[13][2]),
        "+f"(sum[13][3]), "+f"(sum[14][0]), "+f"(sum[14][1]), "+f"(sum[14][2]), "+f"(sum[14][3]),
        "+f"(sum[15][0]), "+f"(sum[15][1]), "+f"(sum[15][2]), "+f"(sum[15][3])
      : "l"(a), "l"(b), "r"(1));
}

}  // namespace retensor::tca_spmm
