// Sparse times dense matrix by rows on CUDA cores, after Gale, Zaharia, Young and Elsen, "Sparse
// GPU Kernels for Deep Learning" (SC 2020), whose code is Sputnik.
//
// A warp takes four rows of S and 64 columns of D, eight lanes a row. A row's nonzeros come in
// steps of 64 (32 in single precision), 16 bytes a load: the first step begins at the aligned place
// before the row, and what is not of the row gets the value zero and the row's first column. They
// pass through shared memory; then each lane walks over them and adds products with 16 bytes (in
// single precision 2 x 16) of a row of D in registers, in single precision. Rows of a warp are of
// similar length, the longest first.
//
// Deviations: four warps a block that share nothing, where the original has one, since a
// multiprocessor holds 32 blocks but 64 warps; the nonzeros of the next step are loaded while those
// at hand are multiplied.
#pragma once

#include <type_traits>

#include "common/core/types.hpp"
#include "papers/tca_spmm/ptx.cuh"

namespace retensor::sputnik {

using tca_spmm::kWarpSize;
using tca_spmm::kWholeWarp;

inline constexpr unsigned kWarps = 4;  ///< of a thread block
inline constexpr unsigned kRowLanes = 8;
inline constexpr unsigned kWarpRows = kWarpSize / kRowLanes;
inline constexpr unsigned kColumns = 64;  ///< of D, that a warp takes

/// `columns` and `values` are followed by a step of entries that may be read.
struct DeviceRows {
  const Index* order = nullptr;  ///< of rows
  const Count* row_start = nullptr;
  const Index* columns = nullptr;
  const void* values = nullptr;
  const void* dense = nullptr;
  void* out = nullptr;
  Count dense_stride = 0, out_stride = 0;  ///< elements
  unsigned rows = 0;
  bool half_output = false;
};

/// What depends on the type of the operands: bits of a half, or a float.
template <class T>
struct Lane {
  static constexpr unsigned kVector = 16 / sizeof(T);     ///< elements of 16 bytes
  static constexpr unsigned kStep = kRowLanes * kVector;  ///< nonzeros
  static constexpr unsigned kVectors = kColumns / kRowLanes / kVector;
  static constexpr unsigned kAhead = kVector / 4;  ///< loads of columns of S
};

__device__ inline void unpack(const uint4& v, float (&to)[8]) {
  const std::uint32_t pairs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    const float2 pair = tca_spmm::to_floats(pairs[p]);
    to[2 * p] = pair.x, to[2 * p + 1] = pair.y;
  }
}
__device__ inline void unpack(const float4& v, float (&to)[4]) {
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
template <int kWidth>
__device__ inline void add_products(float (&sum)[kWidth], float s, const float (&d)[kWidth]) {
#pragma unroll
  for (int e = 0; e < kWidth; ++e) sum[e] = fmaf(s, d[e], sum[e]);
}

template <class T>
class RowWalk {
  using L = Lane<T>;
  using Vector = std::conditional_t<std::is_same_v<T, float>, float4, uint4>;
  /// Entries of one lane.
  struct Ahead {
    uint4 columns[L::kAhead];
    Vector values;
  };

 public:
  /// `columns`, `values`: kStep entries of shared memory, the row's own.
  __device__ RowWalk(const DeviceRows& p, Index row, bool exists, Index* columns, T* values)
      : p_(p), row_(row), lane_(threadIdx.x % kRowLanes), columns_(columns), values_(values) {
    if (!exists) return;
    begin_ = p.row_start[row], end_ = p.row_start[row + Count{1}];
    at_ = begin_ / L::kVector * L::kVector;
    if (begin_ < end_) first_column_ = p.columns[begin_];
  }
  __device__ unsigned steps() const {
    return begin_ < end_ ? static_cast<unsigned>((end_ - at_ + L::kStep - 1) / L::kStep) : 0;
  }

  /// `steps`: of the warp's longest row.
  __device__ void run(unsigned steps) {
    Ahead ahead = load();
    for (unsigned step = 0; step < steps; ++step) {
      keep(ahead);
      const Count left = end_ > at_ ? end_ - at_ : 0;
      at_ += L::kStep;
      __syncwarp();
      if (step + 1 < steps) ahead = load();
      multiply(left < L::kStep ? static_cast<unsigned>(left) : L::kStep);
      __syncwarp();
    }
  }

  __device__ void store() const {
#pragma unroll
    for (unsigned v = 0; v < L::kVectors; ++v) {
      const Count column = column_of(v);
      if (column >= p_.out_stride) continue;
      const Count to = row_ * p_.out_stride + column;
#pragma unroll
      for (unsigned e = 0; e < L::kVector; e += 4) put(to + e, sums_[v] + e);
    }
  }

 private:
  __device__ Count column_of(unsigned v) const {
    return Count{blockIdx.y} * kColumns + (v * kRowLanes + lane_) * L::kVector;
  }
  __device__ void put(Count to, const float* sum) const {
    if (p_.half_output)
      *reinterpret_cast<uint2*>(static_cast<std::uint16_t*>(p_.out) + to) = make_uint2(
          tca_spmm::to_half_pair(sum[0], sum[1]), tca_spmm::to_half_pair(sum[2], sum[3]));
    else
      *reinterpret_cast<float4*>(static_cast<float*>(p_.out) + to) =
          make_float4(sum[0], sum[1], sum[2], sum[3]);
  }

  __device__ Ahead load() const {
    Ahead a = {};
    const Count at = at_ + lane_ * L::kVector;
    if (at >= end_) return a;
#pragma unroll
    for (unsigned q = 0; q < L::kAhead; ++q)
      a.columns[q] = __ldg(reinterpret_cast<const uint4*>(p_.columns + at) + q);
    a.values = __ldg(reinterpret_cast<const Vector*>(static_cast<const T*>(p_.values) + at));
    return a;
  }
  /// Entries to shared memory, those of other rows without effect.
  __device__ void keep(const Ahead& a) {
    const unsigned place = lane_ * L::kVector;
#pragma unroll
    for (unsigned q = 0; q < L::kAhead; ++q)
      reinterpret_cast<uint4*>(columns_ + place)[q] = a.columns[q];
    *reinterpret_cast<Vector*>(values_ + place) = a.values;
    if (at_ >= begin_ && at_ + L::kStep <= end_) return;
#pragma unroll
    for (unsigned e = 0; e < L::kVector; ++e)
      if (const Count at = at_ + place + e; at < begin_ || at >= end_)
        columns_[place + e] = first_column_, values_[place + e] = T{0};
  }

  /// The first `count` entries of the step, as many rows of D at a time as a vector has elements.
  __device__ void multiply(unsigned count) {
    for (unsigned t = 0; t < count; t += L::kVector) {
      Vector d[L::kVector][L::kVectors];
#pragma unroll
      for (unsigned q = 0; q < L::kVector; q += 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(columns_ + t + q);
        load_row(four.x, d[q]), load_row(four.y, d[q + 1]);
        load_row(four.z, d[q + 2]), load_row(four.w, d[q + 3]);
      }
      float s[L::kVector];
      unpack(*reinterpret_cast<const Vector*>(values_ + t), s);
#pragma unroll
      for (unsigned q = 0; q < L::kVector; ++q)
#pragma unroll
        for (unsigned v = 0; v < L::kVectors; ++v) {
          float part[L::kVector];
          unpack(d[q][v], part);
          add_products(sums_[v], s[q], part);
        }
    }
  }
  /// The lane's part of a row of D.
  __device__ void load_row(Index row, Vector (&part)[L::kVectors]) const {
    const T* const from = static_cast<const T*>(p_.dense) + row * p_.dense_stride;
#pragma unroll
    for (unsigned v = 0; v < L::kVectors; ++v)
      part[v] = column_of(v) < p_.dense_stride
                    ? __ldg(reinterpret_cast<const Vector*>(from + column_of(v)))
                    : Vector{};
  }

  const DeviceRows& p_;
  const Index row_;
  const unsigned lane_;
  Index* const columns_;
  T* const values_;
  Count begin_ = 0, end_ = 0, at_ = 0;  // of the row; where the step begins
  Index first_column_ = 0;
  float sums_[L::kVectors][L::kVector] = {};
};

template <class T>
__global__ void __launch_bounds__(kWarps* kWarpSize) multiply_rows(const DeviceRows p) {
  using L = Lane<T>;
  constexpr unsigned kBlockRows = kWarps * kWarpRows;
  __shared__ __align__(16) Index columns[kBlockRows][L::kStep];
  __shared__ __align__(16) T values[kBlockRows][L::kStep];
  const unsigned place = threadIdx.x / kRowLanes, at = blockIdx.x * kBlockRows + place;
  const bool exists = at < p.rows;
  RowWalk<T> walk(p, exists ? p.order[at] : 0, exists, columns[place], values[place]);
  unsigned steps = walk.steps();
#pragma unroll
  for (unsigned distance = kRowLanes; distance < kWarpSize; distance *= 2)
    steps = max(steps, __shfl_xor_sync(kWholeWarp, steps, distance));
  walk.run(steps);
  if (exists) walk.store();
}

}  // namespace retensor::sputnik
