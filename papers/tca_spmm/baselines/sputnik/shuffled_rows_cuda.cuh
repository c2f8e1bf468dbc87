// Sparse times dense matrix for rows of few nonzeros: no shared memory, and no entries but the
// row's own, which the lanes load one by one and pass to each other. Own form; Sputnik has none for
// such rows.
#pragma once

#include "papers/tca_spmm/baselines/sputnik/rows_cuda.cuh"

namespace retensor::sputnik {

/// Entries of a row, kOwn a lane.
template <class T, class C>
class Chunk {
 public:
  static constexpr unsigned kOwn = 2, kEntries = kOwn * kRowLanes;

  /// From the row's entry `done` on; what is not of the row has the value zero and the row's first
  /// place.
  __device__ Chunk(const DeviceRows& p, const Row& row, Index done) {
    const C* const columns = static_cast<const C*>(p.columns) + row.begin;
    const T* const values = static_cast<const T*>(p.values) + row.begin;
#pragma unroll
    for (unsigned k = 0; k < kOwn; ++k) {
      const Index at = done + k * kRowLanes + threadIdx.x % kRowLanes;
      const bool exists = at < row.length;
      place_[k] = columns[exists ? at : 0] * p.dense_vectors;
      value_[k] = exists ? to_float(values[at]) : 0;
    }
  }
  __device__ Index place(unsigned e) const {
    return device::of_lane<kRowLanes>(place_[e / kRowLanes], e % kRowLanes);
  }
  __device__ float value(unsigned e) const {
    return device::of_lane<kRowLanes>(value_[e / kRowLanes], e % kRowLanes);
  }

 private:
  __device__ static float to_float(float v) {
    return v;
  }
  __device__ static float to_float(std::uint16_t v) {
    return __half2float(__ushort_as_half(v));
  }

  Index place_[kOwn];
  float value_[kOwn];
};

/// kVectors: of a lane; kAhead: rows of D loaded before the first of them is multiplied.
template <class T, class C, unsigned kVectors, unsigned kAhead>
__global__ void __launch_bounds__(kWarps* kWarpSize, kVectors* kAhead <= 8 ? 8 : 4)
    multiply_shuffled_rows(const DeviceRows p) {
  using Entries = Chunk<T, C>;
  const Row row = row_of_thread(p);
  const Index longest = __reduce_max_sync(kWholeWarp, row.length);
  DenseColumns<T, kVectors> dense(p);
  for (Index done = 0; done < longest; done += Entries::kEntries) {
    const Entries entries(p, row, done);
    const Index left = longest - done;
#pragma unroll
    for (unsigned first = 0; first < Entries::kEntries; first += kAhead) {
      if (first >= left) break;
      typename DenseColumns<T, kVectors>::Part parts[kAhead];
#pragma unroll
      for (unsigned e = 0; e < kAhead; ++e)
        if (first + e < left) parts[e] = dense.load(entries.place(first + e));
#pragma unroll
      for (unsigned e = 0; e < kAhead; ++e)
        if (first + e < left) dense.add_products(entries.value(first + e), parts[e]);
    }
  }
  dense.store(p, row);
}

}  // namespace retensor::sputnik
