// Products of fragments on the tensor core with operands that the lanes of a warp fill themselves:
// PTX mma.sync for m16n8k4, m16n8k8 and m16n8k16, and ldmatrix. Included by .cu files alone.
//
// sum += A B with A 16 x K, B K x 8 and sums in single precision, by a whole warp. Lane 4 g + t
// (g < 8, t < 4) holds
//   sum         (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1);
//   fp16, bf16  two neighbours of K to a register, the lower in the low bits.
//               A: (g, 2 t), (g + 8, 2 t), for K = 16 then (g, 2 t + 8), (g + 8, 2 t + 8), each
//               with the next column; B: (2 t, g), for K = 16 then (2 t + 8, g), with the next row;
//   tf32        a number to a register, of whose 32 bits the core reads the upper 19.
//               A: (g, t), (g + 8, t), for K = 8 then (g, t + 4), (g + 8, t + 4); B: (t, g), for
//               K = 8 then (t + 4, g).
// That this is so, and how the core rounds, is what the tests of fragments on a device compare.
//
// All shapes are instructions of sm_80 and later (HMMA); Hopper's wgmma has other layouts.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

namespace retensor::device {

enum class MmaType { f16, bf16, tf32 };

// Registers of A, then of B, in the order above: six for the longer K of a type, three for the
// shorter one.
#define RETENSOR_MMA_LONG(shape_and_types)                              \
  asm volatile("mma.sync.aligned." shape_and_types                      \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) \
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
#define RETENSOR_MMA_SHORT(shape_and_types)                                                        \
  asm volatile("mma.sync.aligned." shape_and_types " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])                            \
               : "r"(a0), "r"(a1), "r"(b))

template <MmaType kType>
__device__ inline void multiply_add(float (&sum)[4], std::uint32_t a0, std::uint32_t a1,
                                    std::uint32_t a2, std::uint32_t a3, std::uint32_t b0,
                                    std::uint32_t b1) {
  if constexpr (kType == MmaType::f16)
    RETENSOR_MMA_LONG("m16n8k16.row.col.f32.f16.f16.f32");
  else if constexpr (kType == MmaType::bf16)
    RETENSOR_MMA_LONG("m16n8k16.row.col.f32.bf16.bf16.f32");
  else
    RETENSOR_MMA_LONG("m16n8k8.row.col.f32.tf32.tf32.f32");
}
template <MmaType kType>
__device__ inline void multiply_add(float (&sum)[4], std::uint32_t a0, std::uint32_t a1,
                                    std::uint32_t b) {
  if constexpr (kType == MmaType::f16)
    RETENSOR_MMA_SHORT("m16n8k8.row.col.f32.f16.f16.f32");
  else if constexpr (kType == MmaType::bf16)
    RETENSOR_MMA_SHORT("m16n8k8.row.col.f32.bf16.bf16.f32");
  else
    RETENSOR_MMA_SHORT("m16n8k4.row.col.f32.tf32.tf32.f32");
}
#undef RETENSOR_MMA_LONG
#undef RETENSOR_MMA_SHORT

/// kBlocks blocks of 8 x 8 halves from shared memory (ldmatrix, sm_75 and later); lanes 8 b to
/// 8 b + 7 name the rows (16 bytes, aligned) of block b. A lane gets row lane / 4 of each, columns
/// 2 (lane % 4) and the next: blocks in the order (rows 0, columns 0), (8, 0), (0, 8), (8, 8) are
/// A.
template <int kBlocks>
__device__ inline void load_blocks(std::uint32_t (&pair)[kBlocks], const void* row) {
  static_assert(kBlocks == 2 || kBlocks == 4);
  const auto from = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kBlocks == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(pair[0]), "=r"(pair[1])
                 : "r"(from)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(pair[0]), "=r"(pair[1]), "=r"(pair[2]), "=r"(pair[3])
                 : "r"(from)
                 : "memory");
}

}  // namespace retensor::device
