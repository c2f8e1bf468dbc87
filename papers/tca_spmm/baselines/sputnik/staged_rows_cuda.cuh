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

/// C: type of S's columns.
template <class T, class C, bool kRowsAhead>
class RowWalk {
  using L = Lane<T>;
  using Part = typename DenseColumns<T>::Part;
  /// Of one lane.
  struct Entries {
    struct alignas(sizeof(C) * L::kVector < 16 ? 8 : 16) {
      C at[L::kVector];
    } columns;
    typename L::Vector values;
  };
  /// The lane's parts of kVector rows of D.
  struct Rows {
    Part part[L::kVector];
  };

 public:
  /// `places`, `values`: 2 kStep entries of shared memory, the row's own.
  __device__ RowWalk(const DeviceRows& p, const Row& row, Index* places, T* values)
      : dense_vectors_(p.dense_vectors),
        lane_(threadIdx.x % kRowLanes),
        before_(row.begin % L::kVector),
        end_(row.length > 0 ? before_ + row.length : 0),
        places_(places),
        values_(values),
        from_columns_(static_cast<const C*>(p.columns) + (row.begin - before_)),
        from_values_(static_cast<const T*>(p.values) + (row.begin - before_)),
        dense_(p) {
    if (row.length > 0) first_place_ = from_columns_[before_] * dense_vectors_;
  }
  /// Of kVector entries each.
  __device__ unsigned groups() const { return (end_ + L::kVector - 1) / L::kVector; }

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

  __device__ void store(const DeviceRows& p, Index row) const { dense_.store(p, row); }

 private:
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
    const Index at = step * kStep<T> + lane_ * L::kVector;
    if (at >= end_) return a;
    a.columns = *reinterpret_cast<const decltype(a.columns)*>(from_columns_ + at);
    a.values = __ldg(reinterpret_cast<const typename L::Vector*>(from_values_ + at));
    return a;
  }
  /// Entries to shared memory, those of other rows without effect.
  __device__ void keep(unsigned step, const Entries& a) {
    const unsigned place = step % 2 * kStep<T> + lane_ * L::kVector;
#pragma unroll
    for (unsigned e = 0; e < L::kVector; e += 4) {
      const auto at = [&](unsigned k) { return a.columns.at[e + k] * dense_vectors_; };
      *reinterpret_cast<uint4*>(places_ + place + e) = make_uint4(at(0), at(1), at(2), at(3));
    }
    *reinterpret_cast<typename L::Vector*>(values_ + place) = a.values;
    const Index at = step * kStep<T> + lane_ * L::kVector;
    if (at >= before_ && at + L::kVector <= end_) return;
#pragma unroll
    for (unsigned e = 0; e < L::kVector; ++e)
      if (at + e < before_ || at + e >= end_)
        places_[place + e] = first_place_, values_[place + e] = T{0};
  }

  /// The lane's parts of the rows of D of a group.
  __device__ void load_rows(unsigned group, Rows& rows) const {
    const Index* const places = places_ + group % (2 * kRowLanes) * L::kVector;
#pragma unroll
    for (unsigned q = 0; q < L::kVector; q += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(places + q);
      rows.part[q] = dense_.load(four.x), rows.part[q + 1] = dense_.load(four.y);
      rows.part[q + 2] = dense_.load(four.z), rows.part[q + 3] = dense_.load(four.w);
    }
  }
  __device__ void multiply(unsigned group, const Rows& rows) {
    float s[L::kVector];
    unpack(*reinterpret_cast<const typename L::Vector*>(values_ +
                                                        group % (2 * kRowLanes) * L::kVector),
           s);
#pragma unroll
    for (unsigned q = 0; q < L::kVector; ++q) dense_.add_products(s[q], rows.part[q]);
  }

  const Index dense_vectors_;
  const unsigned lane_;
  const Index before_, end_;  // of the row, counted from where its first step begins
  Index* const places_;
  T* const values_;
  const C* const from_columns_;  // where the first step begins
  const T* const from_values_;
  DenseColumns<T> dense_;
  Index first_place_ = 0;
};

/// Thread blocks that a multiprocessor shall hold.
template <bool kRowsAhead>
inline constexpr unsigned kResident = kRowsAhead ? 4 : 8;

template <class T, class C, bool kRowsAhead>
__global__ void __launch_bounds__(kWarps* kWarpSize, kResident<kRowsAhead>)
    multiply_staged_rows(const DeviceRows p) {
  __shared__ __align__(16) Index places[kBlockRows][2 * kStep<T>];
  __shared__ __align__(16) T values[kBlockRows][2 * kStep<T>];
  const unsigned place = threadIdx.x / kRowLanes, at = blockIdx.x * kBlockRows + place;
  const Row row = at < p.row_count ? p.rows[at] : Row{};
  RowWalk<T, C, kRowsAhead> walk(p, row, places[place], values[place]);
  walk.run(__reduce_max_sync(kWholeWarp, walk.groups()));
  if (at < p.row_count) walk.store(p, row.number);
}

}  // namespace retensor::sputnik
