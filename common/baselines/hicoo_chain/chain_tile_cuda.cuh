// TTM-chain on the device: a tile of a result row in the registers of a group of lanes.
//
// A row of the result is the Kronecker product of the product modes' rows, modes ascending, the
// last fastest. A tile is kTile columns of the last product mode by kTile of the one before, for
// one column of each mode before those (the outer modes; none at order 3). A lane holds 16 bytes of
// the last mode's columns by kRows of the one before: a row of each is read 16 bytes at a time, and
// their outer product takes one multiply-add an element. Wider rows are tiled by blockIdx.y.
#pragma once

#include "common/baselines/hicoo_chain/chain_method.hpp"
#include "common/core/types.hpp"
#include "common/device/vec.cuh"

namespace retensor::chain {

using device::Vec;

inline constexpr int kLanes = 8;           // of a group, which holds a tile
inline constexpr unsigned kThreads = 128;  // a block; 32 sums a thread leave room for few more
/// Blocks that an SM must hold, which limits registers: 102 a thread; what needs more would spill.
template <class T, int kOuter>
inline constexpr int kBlocksPerSm = sizeof(T) == 4 && kOuter == 0 ? 5 : 1;
inline constexpr int kMaxProducts = 4;  // orders 3 to 5

/// Factors of the product modes, ascending, and the result. Rows of factor k are stride[k] elements
/// apart, whole tiles, padded by zeros; the result's columns of the last mode take `last_stride`
/// elements, whole 16-byte vectors.
template <class T>
struct Operands {
  const T* factor[kMaxProducts] = {};
  unsigned stride[kMaxProducts] = {}, columns[kMaxProducts] = {};
  unsigned last_stride = 0;
  Count row_stride = 0;  ///< of the result
  T* out = nullptr;
};

/// What one nonzero or fiber adds to a tile: scale * upper (x) last.
template <class T>
struct Factors {
  static constexpr unsigned kWidth = Vec<T>::kWidth;
  static constexpr int kAcross = kTile / static_cast<int>(kWidth);  // lanes of the last mode
  static constexpr int kRows = kTile * kAcross / kLanes;            // columns before it, a lane

  T scale;
  T upper[kRows];
  Vec<T> last;
};

/// The part of a group's tile that a lane holds. kOuter: product modes before the last two.
template <class T, int kOuter>
class Tile {
 public:
  using Part = Factors<T>;
  static constexpr int kRows = Part::kRows, kUpper = kOuter, kLast = kOuter + 1;
  static constexpr int kProducts = kOuter + 2;

  __device__ explicit Tile(const Operands<T>& x) : x_(x) {
    unsigned tile = blockIdx.y;
    const unsigned lane = threadIdx.x % kLanes;
    const auto next = [&](unsigned count) {
      const unsigned digit = tile % count;
      tile /= count;
      return digit;
    };
    last_ = next(x.stride[kLast] / kTile) * kTile + lane % Part::kAcross * Part::kWidth;
    upper_ = next(x.stride[kUpper] / kTile) * kTile + lane / Part::kAcross * kRows;
#pragma unroll
    for (int k = kOuter - 1; k >= 0; --k) outer_[k] = next(x.columns[k]);
    clear();
  }

  __device__ T outer(int k, Index row) const {
    return __ldg(x_.factor[k] + static_cast<Count>(row) * x_.stride[k] + outer_[k]);
  }
  __device__ void load_upper(T (&to)[kRows], Index row) const {
    const T* const from = x_.factor[kUpper] + static_cast<Count>(row) * x_.stride[kUpper] + upper_;
#pragma unroll
    for (unsigned e = 0; e < kRows; e += Part::kWidth) Vec<T>::load(from + e).store(to + e);
  }
  /// to += value * the row.
  __device__ void add_upper(T (&to)[kRows], T value, Index row) const {
    T term[kRows];
    load_upper(term, row);
#pragma unroll
    for (int r = 0; r < kRows; ++r) to[r] += value * term[r];
  }
  __device__ Vec<T> last(Index row) const {
    return Vec<T>::load(x_.factor[kLast] + static_cast<Count>(row) * x_.stride[kLast] + last_);
  }

  __device__ void add(Part part) {
    part.last.multiply(Vec<T>::splat(part.scale));
#pragma unroll
    for (int r = 0; r < kRows; ++r) sum_[r].fma(Vec<T>::splat(part.upper[r]), part.last);
  }

  /// Adds the sums to a row of the result by atomics and begins with zeros again.
  __device__ void flush(Index row) {
    T* const to = at(row);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (inside(r)) sum_[r].reduce_into(to + static_cast<Count>(r) * x_.last_stride);
    clear();
  }
  /// Adds value * part to a row of the result, past the sums.
  __device__ void send(const Part& part, T value, Index row) const {
    T* const to = at(row);
    Vec<T> last = part.last;
    last.multiply(Vec<T>::splat(value * part.scale));
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      auto term = Vec<T>::splat(part.upper[r]);
      term.multiply(last);
      if (inside(r)) term.reduce_into(to + static_cast<Count>(r) * x_.last_stride);
    }
  }

 private:
  __device__ void clear() {
#pragma unroll
    for (int r = 0; r < kRows; ++r) sum_[r] = Vec<T>::splat(T(0));
  }
  __device__ bool inside(int r) const {
    return upper_ + r < x_.columns[kUpper] && last_ < x_.last_stride;
  }
  __device__ T* at(Index row) const {
    Count column = 0;
#pragma unroll
    for (int k = 0; k < kOuter; ++k) column = column * x_.columns[k] + outer_[k];
    column = (column * x_.columns[kUpper] + upper_) * x_.last_stride + last_;
    return x_.out + static_cast<Count>(row) * x_.row_stride + column;
  }

  const Operands<T>& x_;
  unsigned last_, upper_, outer_[kOuter > 0 ? kOuter : 1];
  Vec<T> sum_[kRows];
};

}  // namespace retensor::chain
