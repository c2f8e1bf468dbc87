// One warp computes D = A B + C of one fragment: by PTX mma.sync for m16n8k4, m16n8k8 and m16n8k16,
// by WMMA for m16n16k8 and m16n16k16. Inputs are values of the operand type held as float, so that
// every conversion here is exact.
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "common/core/error.hpp"
#include "common/device/cuda.cuh"
#include "common/device/mma.cuh"
#include "tests/gpu/mma_device.hpp"
#include "tests/gpu/mma_layout.hpp"

namespace retensor {
namespace {

constexpr int kWarp = 32, kWarpsPerBlock = 4;

__device__ std::uint32_t pair(__half low, __half high) {
  return static_cast<std::uint32_t>(__half_as_ushort(high)) << 16 | __half_as_ushort(low);
}
__device__ std::uint32_t pair(__nv_bfloat16 low, __nv_bfloat16 high) {
  return static_cast<std::uint32_t>(__bfloat16_as_ushort(high)) << 16 | __bfloat16_as_ushort(low);
}

/// fp16 and bf16: a lane's registers and the instructions.
template <class Half>
struct HalfOperands {
  template <int kRegisters>
  static __device__ void load_a(const float* a, int k, int lane, std::uint32_t* registers) {
    for (int r = 0; r < kRegisters; ++r) {
      const Place low = half_place_a(lane, 2 * r), high = half_place_a(lane, 2 * r + 1);
      registers[r] = pair(Half(a[low.row * k + low.column]), Half(a[high.row * k + high.column]));
    }
  }
  template <int kRegisters>
  static __device__ void load_b(const float* b, int lane, std::uint32_t* registers) {
    for (int r = 0; r < kRegisters; ++r) {
      const Place low = half_place_b(lane, 2 * r), high = half_place_b(lane, 2 * r + 1);
      registers[r] = pair(Half(b[low.row * 8 + low.column]), Half(b[high.row * 8 + high.column]));
    }
  }
};

struct Fp16 : HalfOperands<__half> {
  static constexpr int kLongest = 16;
  static constexpr auto kMma = device::MmaType::f16;
};
struct Bf16 : HalfOperands<__nv_bfloat16> {
  static constexpr int kLongest = 16;
  static constexpr auto kMma = device::MmaType::bf16;
};

struct Tf32 {
  static constexpr int kLongest = 8;
  template <int kRegisters>
  static __device__ void load_a(const float* a, int k, int lane, std::uint32_t* registers) {
    for (int r = 0; r < kRegisters; ++r) {
      const Place at = tf32_place_a(lane, r);
      registers[r] = __float_as_uint(a[at.row * k + at.column]);
    }
  }
  template <int kRegisters>
  static __device__ void load_b(const float* b, int lane, std::uint32_t* registers) {
    for (int r = 0; r < kRegisters; ++r) {
      const Place at = tf32_place_b(lane, r);
      registers[r] = __float_as_uint(b[at.row * 8 + at.column]);
    }
  }
  static constexpr auto kMma = device::MmaType::tf32;
};

/// mma.sync of 16 x K by K x 8; K is the type's longest or half of it.
template <class Type, int K>
__global__ void multiply_by_mma(Count fragments, const float* a, const float* b, const float* c,
                                float* d) {
  constexpr bool longest = K == Type::kLongest;
  constexpr int in_a = longest ? 4 : 2, in_b = longest ? 2 : 1;
  const Count f = static_cast<Count>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kWarp;
  if (f >= fragments) return;  // the whole warp
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  std::uint32_t left[in_a], right[in_b];
  Type::template load_a<in_a>(a + f * 16 * K, K, lane, left);
  Type::template load_b<in_b>(b + f * K * 8, lane, right);
  float sum[4];
  for (int e = 0; e < 4; ++e) {
    const Place at = accumulator_place(lane, e);
    sum[e] = c[f * 128 + at.row * 8 + at.column];
  }
  if constexpr (longest)
    device::multiply_add<Type::kMma>(sum, left[0], left[1], left[2], left[3], right[0], right[1]);
  else
    device::multiply_add<Type::kMma>(sum, left[0], left[1], right[0]);
  for (int e = 0; e < 4; ++e) {
    const Place at = accumulator_place(lane, e);
    d[f * 128 + at.row * 8 + at.column] = sum[e];
  }
}

/// WMMA of 16 x K by K x 16; Stored is how operands lie in memory, Type what the fragment is
/// called.
template <class Type, class Stored, int K, class Sum = float>
__global__ void multiply_by_wmma(Count fragments, const float* a, const float* b, const float* c,
                                 float* d) {
  namespace wmma = nvcuda::wmma;
  constexpr int size = 16 * K;
  __shared__ __align__(32) Stored left[kWarpsPerBlock][size], right[kWarpsPerBlock][size];
  const unsigned warp = threadIdx.x / kWarp;
  const Count f = static_cast<Count>(blockIdx.x) * kWarpsPerBlock + warp;
  if (f >= fragments) return;  // the whole warp
  for (unsigned e = threadIdx.x % kWarp; e < size; e += kWarp) {
    left[warp][e] = Stored(a[f * size + e]);
    right[warp][e] = Stored(b[f * size + e]);
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, K, Type, wmma::row_major> in_a;
  wmma::fragment<wmma::matrix_b, 16, 16, K, Type, wmma::row_major> in_b;
  wmma::fragment<wmma::accumulator, 16, 16, K, Sum> sum;
  wmma::load_matrix_sync(in_a, left[warp], K);
  wmma::load_matrix_sync(in_b, right[warp], 16);
  __shared__ __align__(32) Sum sums[kWarpsPerBlock][256];
  for (unsigned e = threadIdx.x % kWarp; e < 256; e += kWarp) sums[warp][e] = Sum(c[f * 256 + e]);
  __syncwarp();
  wmma::load_matrix_sync(sum, sums[warp], 16, wmma::mem_row_major);
  wmma::mma_sync(sum, in_a, in_b, sum);
  wmma::store_matrix_sync(sums[warp], sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (unsigned e = threadIdx.x % kWarp; e < 256; e += kWarp) d[f * 256 + e] = float(sums[warp][e]);
}

using Kernel = void (*)(Count, const float*, const float*, const float*, float*);

template <class Type, class Half>
Kernel kernel_of_halves(const MmaKind& kind) {
  if (kind.n == 16) return multiply_by_wmma<Half, Half, 16>;
  return kind.k == 16 ? multiply_by_mma<Type, 16> : multiply_by_mma<Type, 8>;
}

Kernel kernel_of(const MmaKind& kind) {
  switch (kind.type) {
    case OperandType::fp16:
      return kernel_of_halves<Fp16, __half>(kind);
    case OperandType::bf16:
      return kernel_of_halves<Bf16, __nv_bfloat16>(kind);
    case OperandType::tf32:
      if (kind.n == 16) return multiply_by_wmma<nvcuda::wmma::precision::tf32, float, 8>;
      return kind.k == 8 ? multiply_by_mma<Tf32, 8> : multiply_by_mma<Tf32, 4>;
  }
  throw LogicError("no such operand type");
}

void multiply_with(Kernel kernel, const Fragments& x, std::vector<float>& d) {
  d.resize(x.c.size());
  if (x.count == 0) return;
  const device::Buffer<float> a(x.a), b(x.b), c(x.c);
  device::Buffer<float> result(x.c.size());
  RETENSOR_CUDA_LAUNCH(kernel, device::blocks_for(x.count, kWarpsPerBlock), kWarpsPerBlock * kWarp,
                       0, nullptr, x.count, a.data(), b.data(), c.data(), result.data());
  result.download(d);
}

}  // namespace

void multiply_on_device(const MmaKind& kind, const Fragments& x, std::vector<float>& d) {
  multiply_with(kernel_of(kind), x, d);
}

void multiply_in_halves_on_device(const Fragments& x, std::vector<float>& d) {
  multiply_with(multiply_by_wmma<__half, __half, 16, __half>, x, d);
}

}  // namespace retensor
