// Operands of a tensor core in the paper's half precision (section VII.B.3) and the others of
// common/numeric. Included by .cu files alone.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <string>
#include <type_traits>

#include "common/device/cuda.cuh"
#include "common/numeric/rounding.hpp"
#include "common/numeric/stored.cuh"
#include "common/numeric/tensor_core.hpp"

namespace retensor::hlsto {

inline constexpr unsigned kFragmentSize = kFragmentEdge * kFragmentEdge;

/// Parts of an operand: two halves where it is split.
constexpr int parts_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::split_fp16 ? 2 : 1;
}

/// Part `part` of x in 16 bits, on the host; not of tf32.
inline std::uint16_t operand_bits(float x, Arithmetic arithmetic, int part) {
  if (arithmetic == Arithmetic::bf16) return to_bf16_bits(x);
  return to_fp16_bits(part == 0 ? x : x - round_fp16(x));
}

/// Calls f<arithmetic>(); throws LogicError where operands do not have 16 bits.
template <class F>
auto with_narrow_arithmetic(Arithmetic arithmetic, F&& f) {
  if (arithmetic == Arithmetic::fp16) return f.template operator()<Arithmetic::fp16>();
  if (arithmetic == Arithmetic::bf16) return f.template operator()<Arithmetic::bf16>();
  if (arithmetic == Arithmetic::split_fp16) return f.template operator()<Arithmetic::split_fp16>();
  throw LogicError("operands of 16 bits alone, found " + std::string(name(arithmetic)));
}
/// Calls f<arithmetic>().
template <class F>
auto with_arithmetic(Arithmetic arithmetic, F&& f) {
  if (arithmetic == Arithmetic::tf32) return f.template operator()<Arithmetic::tf32>();
  return with_narrow_arithmetic(arithmetic, f);
}

/// Operands of one arithmetic as WMMA has them: a 16 x 16 operand is kParts parts (two halves of a
/// split operand) of kSteps fragments along the inner dimension (two of depth 8 in tf32).
template <Arithmetic kArithmetic>
struct Core {
  static constexpr bool kIsTf32 = kArithmetic == Arithmetic::tf32;
  static constexpr int kDepth = kIsTf32 ? 8 : 16;
  static constexpr int kSteps = 16 / kDepth;
  static constexpr int kParts = parts_of(kArithmetic);
  using Element = std::conditional_t<
      kIsTf32, float, std::conditional_t<kArithmetic == Arithmetic::bf16, __nv_bfloat16, __half>>;
  using Tag = std::conditional_t<kIsTf32, nvcuda::wmma::precision::tf32, Element>;
  template <class Use, class Layout>
  struct Operand {
    nvcuda::wmma::fragment<Use, 16, 16, kDepth, Tag, Layout> part[kParts][kSteps];
  };
  using Sum = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, kDepth, float>;

  /// The part of x that part p of an operand holds.
  __device__ static Element part_of(float x, int p) {
    if constexpr (kIsTf32) {
      return nearest_tf32(x);
    } else if constexpr (kArithmetic == Arithmetic::bf16) {
      return __float2bfloat16_rn(x);
    } else {
      const __half high = __float2half_rn(x);
      return p == 0 ? high : __float2half_rn(x - __half2float(high));
    }
  }

  /// `from[p]` is the first element of part p, rows `stride` apart, the next step along the inner
  /// dimension `step` further on.
  template <class Use, class Layout>
  __device__ static void load(Operand<Use, Layout>& to, const Element* const* from, unsigned stride,
                              unsigned step) {
#pragma unroll
    for (int p = 0; p < kParts; ++p)
#pragma unroll
      for (int s = 0; s < kSteps; ++s)
        nvcuda::wmma::load_matrix_sync(to.part[p][s], from[p] + s * step, stride);
  }

  template <class A, class B>
  __device__ static void multiply_add(const A& a, const B& b, Sum& c) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      if constexpr (kParts == 2) {
        nvcuda::wmma::mma_sync(c, a.part[1][s], b.part[0][s], c);
        nvcuda::wmma::mma_sync(c, a.part[0][s], b.part[1][s], c);
      }
      nvcuda::wmma::mma_sync(c, a.part[0][s], b.part[0][s], c);
    }
  }

  /// A sum in row-major order, by a whole warp; the lanes have to meet before they read it.
  __device__ static void store(float* to, const Sum& sum) {
    nvcuda::wmma::store_matrix_sync(to, sum, kFragmentEdge, nvcuda::wmma::mem_row_major);
  }
  /// The parts of a sum as an operand, by way of `through`; likewise.
  __device__ static void store_operand(Element* const* to, float* through, const Sum& sum) {
    store(through, sum);
    __syncwarp();
    for (unsigned e = threadIdx.x % 32; e < kFragmentSize; e += 32)
      for (int k = 0; k < kParts; ++k) to[k][e] = part_of(through[e], k);
  }
  /// The result as this core adds to it.
  __device__ static float* result(float* out) {
    return out;
  }
};

/// Half precision with sums in half precision too, the type of the products that Algorithm 1 stores
/// (lines 4 and 23); the elements of the result are of the type `Result`, float or __half.
template <class Result>
struct HalfCore : Core<Arithmetic::fp16> {
  using Sum = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, __half>;

  template <class A, class B>
  __device__ static void multiply_add(const A& a, const B& b, Sum& c) {
    nvcuda::wmma::mma_sync(c, a.part[0][0], b.part[0][0], c);
  }

  /// Widened where it stands: every half is a float.
  __device__ static void store(float* to, const Sum& sum) {
    constexpr unsigned kOfLane = kFragmentSize / 32;
    auto* const halves = reinterpret_cast<__half*>(to);
    nvcuda::wmma::store_matrix_sync(halves, sum, kFragmentEdge, nvcuda::wmma::mem_row_major);
    __syncwarp();
    float own[kOfLane];
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned k = 0; k < kOfLane; ++k) own[k] = __half2float(halves[k * 32 + lane]);
    __syncwarp();
#pragma unroll
    for (unsigned k = 0; k < kOfLane; ++k) to[k * 32 + lane] = own[k];
  }
  __device__ static void store_operand(Element* const* to, float*, const Sum& sum) {
    nvcuda::wmma::store_matrix_sync(to[0], sum, kFragmentEdge, nvcuda::wmma::mem_row_major);
  }
  __device__ static Result* result(float* out) {
    return reinterpret_cast<Result*>(out);
  }
};

}  // namespace retensor::hlsto
