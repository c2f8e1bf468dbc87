// TTV and TTM of fibers as sliced ELLPACK (format/sliced.hpp), with the factor in shared memory.
// Included by .cu files alone.
//
// A thread block keeps 1 to 32 columns of the factor. A warp takes a slice: kLanes lanes a piece of
// a fiber, each with kVectors times four columns (TTV: a lane a piece, one column). Records of a
// slice lie side by side, so that no lane passes anything on to another, and pieces of a slice are
// as long, so that none looks for where a fiber ends.
//
// Bytes: 6 a nonzero, 4 a column and fiber. Of shared memory a TTM reads 4 R for each nonzero and R
// columns, at 128 bytes a cycle and multiprocessor. Each lane of a piece reads the piece's records
// too, so that few lanes with many columns read less.
#pragma once

#include <cuda_runtime.h>

#include "common/core/types.hpp"
#include "papers/pasta/format/sliced.hpp"

namespace retensor::pasta::sliced {

/// Threads of a block, and lanes that share a slice.
inline constexpr unsigned kSliceThreads = 512, kSliceLanes = 32;
/// Bytes that shared memory gives a warp at a time.
inline constexpr unsigned kBankBytes = 128;

struct Slices {
  const Index *start, *row;
  const uint2* indices;  ///< four of 16 bits a record
  const float4* values;
  unsigned slices;
};
/// Number `at`; zeros from `end` on.
struct Record {
  uint2 indices{};
  float4 values{};

  __device__ Record() {}
  __device__ Record(const Slices& x, Index at, Index end) {
    if (at < end) indices = __ldcs(x.indices + at), values = __ldcs(x.values + at);
  }
};
/// Rows of both are `stride` elements apart.
struct Product {
  const float* factor;
  float* out;
  unsigned rows, stride;
};

__device__ inline void add_product(float& sum, float a, float b) {
  sum = fmaf(a, b, sum);
}
__device__ inline void add_product(float4& sum, float a, const float4& b) {
  sum.x = fmaf(a, b.x, sum.x), sum.y = fmaf(a, b.y, sum.y);
  sum.z = fmaf(a, b.z, sum.z), sum.w = fmaf(a, b.w, sum.w);
}
__device__ inline void add_to(float* to, float sum) {
  atomicAdd(to, sum);
}
__device__ inline void add_to(float4* to, const float4& sum) {
  float* const first = &to->x;
  atomicAdd(first, sum.x), atomicAdd(first + 1, sum.y);
  atomicAdd(first + 2, sum.z), atomicAdd(first + 3, sum.w);
}

/// kLanes lanes with kVectors Vectors each take the columns from blockIdx.y on. kAhead records are
/// loaded before those at hand are used; two of them take the registers of two blocks.
///
/// Pieces begin with different vectors of their rows, since at a time shared memory gives a row of
/// kBankBytes, or of two neighbours rows of half as much (format/sliced.hpp).
template <class Vector, unsigned kVectors, unsigned kLanes, unsigned kAhead>
__global__ void __launch_bounds__(kSliceThreads, sizeof(Vector) * kVectors > 16 ? 2 : 4 / kAhead)
    multiply_slices(const __grid_constant__ Slices x, const __grid_constant__ Product p) {
  constexpr unsigned kPieces = kSliceLanes / kLanes, kWidth = sizeof(Vector) / sizeof(float);
  constexpr unsigned kOfRow = kVectors * kLanes, kRowBytes = kOfRow * sizeof(Vector);
  extern __shared__ __align__(16) unsigned char memory[];
  const unsigned first = blockIdx.y * kOfRow * kWidth;
  for (unsigned i = threadIdx.x; i < p.rows * kOfRow; i += kSliceThreads) {
    const unsigned column = first + i % kOfRow * kWidth;
    reinterpret_cast<Vector*>(memory)[i] =
        column < p.stride ? *reinterpret_cast<const Vector*>(
                                p.factor + static_cast<Count>(i / kOfRow) * p.stride + column)
                          : Vector{};
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % kLanes, piece = threadIdx.x % kSliceLanes / kLanes;
  const unsigned turn = kRowBytes == kBankBytes ? piece : piece / 2;
  unsigned place[kVectors];  // of each vector of the lane in a row
#pragma unroll
  for (unsigned v = 0; v < kVectors; ++v) place[v] = lane * kVectors + (v + turn) % kVectors;
  const unsigned warps = gridDim.x * (kSliceThreads / kSliceLanes);
  for (unsigned s = blockIdx.x * (kSliceThreads / kSliceLanes) + threadIdx.x / kSliceLanes;
       s < x.slices; s += warps) {
    const Index end = x.start[s + 1];
    Index at = x.start[s] + piece;
    Vector sum[kVectors] = {};
    const auto add = [&](unsigned index, float value) {
#pragma unroll
      for (unsigned v = 0; v < kVectors; ++v)
        add_product(sum[v], value,
                    *reinterpret_cast<const Vector*>(memory + index * kRowBytes +
                                                     place[v] * sizeof(Vector)));
    };
    Record next[kAhead];
#pragma unroll
    for (unsigned a = 0; a < kAhead; ++a) next[a] = Record(x, at + a * kPieces, end);
    while (at < end) {
      at += kAhead * kPieces;
#pragma unroll
      for (unsigned a = 0; a < kAhead; ++a) {
        const Record now = next[a];
        next[a] = Record(x, at + a * kPieces, end);
        add(now.indices.x & 0xffff, now.values.x), add(now.indices.x >> 16, now.values.y);
        add(now.indices.y & 0xffff, now.values.z), add(now.indices.y >> 16, now.values.w);
      }
    }
    const Index row = x.row[s * kPieces + piece];
    if (row == kNoRow) continue;
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) {
      const unsigned column = first + place[v] * kWidth;
      if (column >= p.stride) continue;
      auto* const to = reinterpret_cast<Vector*>(
          p.out + static_cast<Count>(row & ~kSharedRow) * p.stride + column);
      if ((row & kSharedRow) != 0)
        add_to(to, sum[v]);
      else
        *to = sum[v];
    }
  }
}

}  // namespace retensor::pasta::sliced
