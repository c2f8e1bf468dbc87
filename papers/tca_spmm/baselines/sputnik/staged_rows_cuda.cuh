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

#include "papers/tca_spmm/baselines/sputnik/rows_cuda.cuh"

namespace retensor::sputnik {

/// A step of nonzeros: 16 bytes of values a lane.
template <class T>
inline constexpr unsigned kStep = kRowLanes* Lane<T>::kVector;

/// A row of S as its lanes load it: steps from the aligned place before its first nonzero on. C:
/// type of S's columns.
template <class T, class C>
struct StagedRow {
  using L = Lane<T>;
  /// Of one lane.
  struct Entries {
    struct alignas(sizeof(C) * L::kVector < 16 ? 8 : 16) {
      C at[L::kVector];
    } columns;
    typename L::Vector values;
  };

  const C* columns;  ///< where the first step begins
  const T* values;
  Index before, end;  ///< of the row, counted from there
  Index dense_vectors, first_place;
  Index* kept_places;  ///< shared memory of the row, two steps
  T* kept_values;

  __device__ StagedRow(const DeviceRows& p, const Row& row, Index* places, T* shared_values)
      : before(row.begin % L::kVector),
        end(row.length > 0 ? before + row.length : 0),
        dense_vectors(p.dense_vectors),
        kept_places(places),
        kept_values(shared_values) {
    columns = static_cast<const C*>(p.columns) + (row.begin - before);
    values = static_cast<const T*>(p.values) + (row.begin - before);
    first_place = row.length > 0 ? columns[before] * dense_vectors : 0;
  }
  /// Of kVector entries each.
  __device__ unsigned groups() const { return (end + L::kVector - 1) / L::kVector; }

  __device__ Entries load(unsigned step) const {
    Entries a = {};
    const Index at = step * kStep<T> + threadIdx.x % kRowLanes * L::kVector;
    if (at >= end) return a;
    a.columns = *reinterpret_cast<const decltype(a.columns)*>(columns + at);
    a.values = __ldg(reinterpret_cast<const typename L::Vector*>(values + at));
    return a;
  }
  /// Entries to shared memory, those of other rows without effect.
  __device__ void keep(unsigned step, const Entries& a) const {
    const unsigned lane = threadIdx.x % kRowLanes;
    const unsigned place = step % 2 * kStep<T> + lane * L::kVector;
#pragma unroll
    for (unsigned e = 0; e < L::kVector; e += 4) {
      const auto at = [&](unsigned k) { return a.columns.at[e + k] * dense_vectors; };
      *reinterpret_cast<uint4*>(kept_places + place + e) = make_uint4(at(0), at(1), at(2), at(3));
    }
    *reinterpret_cast<typename L::Vector*>(kept_values + place) = a.values;
    const Index at = step * kStep<T> + lane * L::kVector;
    if (at >= before && at + L::kVector <= end) return;
#pragma unroll
    for (unsigned e = 0; e < L::kVector; ++e)
      if (at + e < before || at + e >= end)
        kept_places[place + e] = first_place, kept_values[place + e] = T{0};
  }
  /// Where group g begins a step and a further one follows.
  __device__ void keep_next_step(unsigned g, unsigned groups, Entries& next) const {
    if (g % kRowLanes != 0 || g + kRowLanes >= groups) return;
    const unsigned step = g / kRowLanes + 1;
    __syncwarp();
    keep(step, next);
    next = load(step + 1);
    __syncwarp();
  }

  /// The lane's parts of the rows of D of a group.
  struct Rows {
    typename DenseColumns<T>::Part part[L::kVector];
  };
  __device__ void load_rows(const DenseColumns<T>& dense, unsigned group, Rows& rows) const {
    const Index* const places = kept_places + group % (2 * kRowLanes) * L::kVector;
#pragma unroll
    for (unsigned q = 0; q < L::kVector; q += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(places + q);
      rows.part[q] = dense.load(four.x), rows.part[q + 1] = dense.load(four.y);
      rows.part[q + 2] = dense.load(four.z), rows.part[q + 3] = dense.load(four.w);
    }
  }
  __device__ void multiply(DenseColumns<T>& dense, unsigned group, const Rows& rows) const {
    const T* const at = kept_values + group % (2 * kRowLanes) * L::kVector;
    float s[L::kVector];
    unpack(*reinterpret_cast<const typename L::Vector*>(at), s);
#pragma unroll
    for (unsigned q = 0; q < L::kVector; ++q) dense.add_products(s[q], rows.part[q]);
  }
};

template <class T, class C>
__device__ void walk_in_turn(const StagedRow<T, C>& row, unsigned groups,
                             typename StagedRow<T, C>::Entries next, DenseColumns<T>& dense) {
  for (unsigned g = 0; g < groups; ++g) {
    row.keep_next_step(g, groups, next);
    typename StagedRow<T, C>::Rows rows;
    row.load_rows(dense, g, rows);
    row.multiply(dense, g, rows);
  }
}
/// Rows of D of a group are loaded before those of the group before it are used.
template <class T, class C>
__device__ void walk_ahead(const StagedRow<T, C>& row, unsigned groups,
                           typename StagedRow<T, C>::Entries next, DenseColumns<T>& dense) {
  typename StagedRow<T, C>::Rows even, odd;
  if (groups > 0) row.load_rows(dense, 0, even);
  for (unsigned g = 0; g < groups; g += 2) {
    row.keep_next_step(g, groups, next);
    if (g + 1 < groups) row.load_rows(dense, g + 1, odd);
    __syncwarp();  // what is loaded ahead stays ahead
    row.multiply(dense, g, even);
    if (g + 1 >= groups) break;
    if (g + 2 < groups) row.load_rows(dense, g + 2, even);
    __syncwarp();
    row.multiply(dense, g + 1, odd);
  }
}

/// Thread blocks that a multiprocessor shall hold.
template <bool kRowsAhead>
inline constexpr unsigned kResident = kRowsAhead ? 4 : 8;

template <class T, class C, bool kRowsAhead>
__global__ void __launch_bounds__(kWarps* kWarpSize, kResident<kRowsAhead>)
    multiply_staged_rows(const DeviceRows p) {
  __shared__ __align__(16) Index places[kBlockRows][2 * kStep<T>];
  __shared__ __align__(16) T values[kBlockRows][2 * kStep<T>];
  const unsigned place = threadIdx.x / kRowLanes;
  const Row row = row_of_thread(p);
  const StagedRow<T, C> staged(p, row, places[place], values[place]);
  const unsigned groups = __reduce_max_sync(kWholeWarp, staged.groups());  // of the longest row
  DenseColumns<T> dense(p);
  staged.keep(0, staged.load(0));
  const auto next = staged.load(1);
  __syncwarp();
  if constexpr (kRowsAhead)
    walk_ahead(staged, groups, next, dense);
  else
    walk_in_turn(staged, groups, next, dense);
  dense.store(p, row);
}

}  // namespace retensor::sputnik
