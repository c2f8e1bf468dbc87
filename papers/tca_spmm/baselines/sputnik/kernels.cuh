// Sparse times dense matrix by rows on CUDA cores, after Gale, Zaharia, Young and Elsen, "Sparse
// GPU Kernels for Deep Learning" (SC 2020), whose code is Sputnik.
//
// A warp takes four rows of S and 64 columns of D, eight lanes a row. A row's nonzeros come in
// steps of 64 (32 in single precision), 16 bytes a load: the first step begins at the aligned place
// before the row, and what is not of the row gets the value zero and the row's first column. They
// pass through shared memory, their columns as places in D; then each lane walks over them and adds
// products with 16 bytes (in single precision 2 x 16) of a row of D in registers, in single
// precision. Columns of S have 16 bits where they fit. Rows of a warp are of similar length, the
// longest first.
//
// Deviations: four warps a block that share nothing, where the original has one, since a
// multiprocessor holds 32 blocks but 64 warps; the nonzeros of the next step are loaded while those
// at hand are multiplied, and so are, with kRowsAhead, the rows of D of the next eight (four)
// nonzeros, which takes twice the registers and leaves room for half as many warps.
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

/// A row of S and its nonzeros: one load where an order of rows and their begins would be two, the
/// second at the address that the first gives.
struct Row {
  Count begin, end;
  Index number;
};

/// `columns` and `values` are followed by a step of entries that may be read.
struct DeviceRows {
  const Row* rows = nullptr;  ///< as thread blocks take them
  const void* columns = nullptr;
  const void* values = nullptr;
  const void* dense = nullptr;
  void* out = nullptr;
  Count dense_stride = 0, out_stride = 0;  ///< elements
  Index dense_vectors = 0;                 ///< of 16 bytes in a row of D; all rows have below 2^32
  unsigned row_count = 0;
  bool half_output = false;
};

/// What depends on the type of the operands: bits of a half, or a float.
template <class T>
struct Lane {
  static constexpr unsigned kVector = 16 / sizeof(T);     ///< elements of 16 bytes
  static constexpr unsigned kStep = kRowLanes * kVector;  ///< nonzeros
  static constexpr unsigned kVectors = kColumns / kRowLanes / kVector;
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

/// C: type of S's columns.
template <class T, class C, bool kRowsAhead>
class RowWalk {
  using L = Lane<T>;
  using Vector = std::conditional_t<std::is_same_v<T, float>, float4, uint4>;
  struct alignas(sizeof(C) * L::kVector < 16 ? 8 : 16) Columns {
    C at[L::kVector];
  };
  /// Of one lane.
  struct Entries {
    Columns columns;
    Vector values;
  };
  /// The lane's parts of kVector rows of D.
  struct Rows {
    Vector part[L::kVector][L::kVectors];
  };

 public:
  /// `places`, `values`: 2 kStep entries of shared memory, the row's own.
  __device__ RowWalk(const DeviceRows& p, Row row, Index* places, T* values)
      : p_(p),
        row_(row.number),
        lane_(threadIdx.x % kRowLanes),
        places_(places),
        values_(values),
        begin_(row.begin),
        end_(row.end),
        first_(row.begin / L::kVector * L::kVector) {
#pragma unroll
    for (unsigned v = 0; v < L::kVectors; ++v) {
      // A lane beyond D's columns reads others, and stores nothing.
      const Count column = column_of(v) < p.dense_stride ? column_of(v) : 0;
      dense_[v] = reinterpret_cast<const Vector*>(static_cast<const T*>(p.dense) + column);
    }
    if (begin_ < end_) first_place_ = static_cast<const C*>(p.columns)[begin_] * p.dense_vectors;
  }
  /// Of kVector entries each.
  __device__ unsigned groups() const {
    return begin_ < end_ ? static_cast<unsigned>((end_ - first_ + L::kVector - 1) / L::kVector) : 0;
  }

  /// `groups`: of the warp's longest row.
  __device__ void run(unsigned groups) {
    Entries next = load(0);
    keep(0, next);
    next = load(1);
    __syncwarp();
    if constexpr (kRowsAhead)
      run_ahead(groups, next);
    else
      run_in_turn(groups, next);
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

  __device__ void run_in_turn(unsigned groups, Entries& next) {
    for (unsigned g = 0; g < groups; ++g) {
      keep_next_step(g, groups, next);
      Rows rows;
      load_rows(g, rows);
      multiply(g, rows);
    }
  }
  /// Rows of D of a group are loaded before those of the group before it are used.
  __device__ void run_ahead(unsigned groups, Entries& next) {
    Rows even, odd;
    if (groups > 0) load_rows(0, even);
    for (unsigned g = 0; g < groups; g += 2) {
      keep_next_step(g, groups, next);
      if (g + 1 < groups) load_rows(g + 1, odd);
      __syncwarp();  // what is loaded ahead stays ahead
      multiply(g, even);
      if (g + 1 >= groups) break;
      if (g + 2 < groups) load_rows(g + 2, even);
      __syncwarp();
      multiply(g + 1, odd);
    }
  }
  /// Where group g begins a step and a further one follows.
  __device__ void keep_next_step(unsigned g, unsigned groups, Entries& next) {
    if (g % kRowLanes != 0 || g + kRowLanes >= groups) return;
    const unsigned step = g / kRowLanes + 1;
    __syncwarp();
    keep(step, next);
    next = load(step + 1);
    __syncwarp();
  }

  __device__ Entries load(unsigned step) const {
    Entries a = {};
    const Count at = first_ + Count{step} * L::kStep + lane_ * L::kVector;
    if (at >= end_) return a;
    a.columns = *reinterpret_cast<const Columns*>(static_cast<const C*>(p_.columns) + at);
    a.values = __ldg(reinterpret_cast<const Vector*>(static_cast<const T*>(p_.values) + at));
    return a;
  }
  /// Entries to shared memory, those of other rows without effect.
  __device__ void keep(unsigned step, const Entries& a) {
    const unsigned place = step % 2 * L::kStep + lane_ * L::kVector;
#pragma unroll
    for (unsigned e = 0; e < L::kVector; e += 4) {
      const auto at = [&](unsigned k) { return a.columns.at[e + k] * p_.dense_vectors; };
      *reinterpret_cast<uint4*>(places_ + place + e) = make_uint4(at(0), at(1), at(2), at(3));
    }
    *reinterpret_cast<Vector*>(values_ + place) = a.values;
    const Count at = first_ + Count{step} * L::kStep + lane_ * L::kVector;
    if (at >= begin_ && at + L::kVector <= end_) return;
#pragma unroll
    for (unsigned e = 0; e < L::kVector; ++e)
      if (at + e < begin_ || at + e >= end_)
        places_[place + e] = first_place_, values_[place + e] = T{0};
  }

  /// The lane's parts of the rows of D of a group.
  __device__ void load_rows(unsigned group, Rows& rows) const {
    const Index* const places = places_ + group % (2 * kRowLanes) * L::kVector;
#pragma unroll
    for (unsigned q = 0; q < L::kVector; q += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(places + q);
      load_row(four.x, rows.part[q]), load_row(four.y, rows.part[q + 1]);
      load_row(four.z, rows.part[q + 2]), load_row(four.w, rows.part[q + 3]);
    }
  }
  __device__ void load_row(Index place, Vector (&part)[L::kVectors]) const {
#pragma unroll
    for (unsigned v = 0; v < L::kVectors; ++v) part[v] = __ldg(dense_[v] + place);
  }
  __device__ void multiply(unsigned group, const Rows& rows) {
    float s[L::kVector];
    unpack(*reinterpret_cast<const Vector*>(values_ + group % (2 * kRowLanes) * L::kVector), s);
#pragma unroll
    for (unsigned q = 0; q < L::kVector; ++q)
#pragma unroll
      for (unsigned v = 0; v < L::kVectors; ++v) {
        float part[L::kVector];
        unpack(rows.part[q][v], part);
        add_products(sums_[v], s[q], part);
      }
  }

  const DeviceRows& p_;
  const Index row_;
  const unsigned lane_;
  Index* const places_;
  T* const values_;
  const Vector* dense_[L::kVectors];  // the lane's columns of D's first row
  const Count begin_, end_, first_;   // of the row; where its first step begins
  Index first_place_ = 0;
  float sums_[L::kVectors][L::kVector] = {};
};

/// Thread blocks that a multiprocessor shall hold.
template <bool kRowsAhead>
inline constexpr unsigned kResident = kRowsAhead ? 4 : 8;

template <class T, class C, bool kRowsAhead>
__global__ void __launch_bounds__(kWarps* kWarpSize, kResident<kRowsAhead>)
    multiply_rows(const DeviceRows p) {
  using L = Lane<T>;
  constexpr unsigned kBlockRows = kWarps * kWarpRows;
  __shared__ __align__(16) Index places[kBlockRows][2 * L::kStep];
  __shared__ __align__(16) T values[kBlockRows][2 * L::kStep];
  const unsigned place = threadIdx.x / kRowLanes, at = blockIdx.x * kBlockRows + place;
  const bool exists = at < p.row_count;
  RowWalk<T, C, kRowsAhead> walk(p, exists ? p.rows[at] : Row{}, places[place], values[place]);
  unsigned groups = walk.groups();
#pragma unroll
  for (unsigned distance = kRowLanes; distance < kWarpSize; distance *= 2)
    groups = max(groups, __shfl_xor_sync(kWholeWarp, groups, distance));
  walk.run(groups);
  if (exists) walk.store();
}

}  // namespace retensor::sputnik
