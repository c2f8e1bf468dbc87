// Rows of S, operands and what depends on their type, for the kernels of sputnik.cuda. A warp takes
// four rows of S, eight lanes a row; a lane has of a row of D 16 bytes, and those 128 bytes further
// on, and the sums of these columns in single precision.
#pragma once

#include <type_traits>

#include "common/core/types.hpp"
#include "papers/tca_spmm/kernels/ptx_cuda.cuh"

namespace retensor::sputnik {

using device::kWarpSize;
using device::kWholeWarp;

inline constexpr unsigned kWarps = 4;  ///< of a thread block
inline constexpr unsigned kRowLanes = 8;
inline constexpr unsigned kColumns = 64;  ///< of D, that a warp takes at least
inline constexpr unsigned kBlockRows = kWarps * kWarpSize / kRowLanes;

/// A row of S and its nonzeros: one load where an order of rows and their begins would be two, the
/// second at the address that the first gives.
struct alignas(16) Row {
  Count begin;
  Index length, number;
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

/// The row that a thread's lanes take; behind the last one without entries.
__device__ inline Row row_of_thread(const DeviceRows& p) {
  const unsigned at = blockIdx.x * kBlockRows + threadIdx.x / kRowLanes;
  return at < p.row_count ? p.rows[at] : Row{};
}

/// What depends on the type of the operands: bits of a half, or a float.
template <class T>
struct Lane {
  using Vector = std::conditional_t<std::is_same_v<T, float>, float4, uint4>;
  static constexpr unsigned kVector = 16 / sizeof(T);  ///< elements of 16 bytes
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

/// A lane's columns of D, whose products it adds up: of a row 16 bytes for each of kVectors, the
/// warp's 128 bytes behind one another, those of blockIdx.y.
template <class T, unsigned kVectors = kColumns / (kRowLanes * Lane<T>::kVector)>
class DenseColumns {
  using L = Lane<T>;
  using Vector = typename L::Vector;

 public:
  /// The lane's parts of a row of D.
  struct Part {
    Vector vector[kVectors];
  };

  __device__ explicit DenseColumns(const DeviceRows& p) {
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) {
      // A lane beyond D's columns reads others, and stores nothing.
      const Count column = column_of(v) < p.dense_stride ? column_of(v) : 0;
      dense_[v] = reinterpret_cast<const Vector*>(static_cast<const T*>(p.dense) + column);
    }
  }
  /// `place`: of a row in D, in vectors.
  __device__ Part load(Index place) const {
    Part part;
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) part.vector[v] = __ldg(dense_[v] + place);
    return part;
  }
  __device__ void add_products(float s, const Part& part) {
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) {
      float d[L::kVector];
      unpack(part.vector[v], d);
#pragma unroll
      for (unsigned e = 0; e < L::kVector; ++e) sums_[v][e] = fmaf(s, d[e], sums_[v][e]);
    }
  }
  __device__ void store(const DeviceRows& p, const Row& row) const {
    if (blockIdx.x * kBlockRows + threadIdx.x / kRowLanes >= p.row_count) return;
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) {
      if (column_of(v) >= p.out_stride) continue;
      const Count to = row.number * p.out_stride + column_of(v);
      if constexpr (L::kVector == 8)
        tca_spmm::store_eight(p.out, p.half_output, to, sums_[v]);
      else
        *reinterpret_cast<float4*>(static_cast<float*>(p.out) + to) =
            make_float4(sums_[v][0], sums_[v][1], sums_[v][2], sums_[v][3]);
    }
  }

 private:
  __device__ static Count column_of(unsigned v) {
    return ((Count{blockIdx.y} * kVectors + v) * kRowLanes + threadIdx.x % kRowLanes) * L::kVector;
  }

  const Vector* dense_[kVectors];
  float sums_[kVectors][L::kVector] = {};
};

}  // namespace retensor::sputnik
