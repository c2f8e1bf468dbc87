// Ownership (section 3.4) and remapping (section 3.1) with the accesses that the hardware favours;
// the kernels are this project's own.
//
// tile_pass   A thread block owns a tile (tiles.hpp). It copies the tile's records into shared
//             memory; sends them on to the next mode's tiles in runs, word by word by neighbouring
//             threads, so that writes are whole and local; then walks them by output row: a group
//             of 4 to 16 lanes takes a stretch of the walk, holds the columns of one row, 16 bytes
//             a lane, and adds up in registers while the row stays. A row inside a stretch is
//             stored; the first and the last of each stretch meet in shared memory, where the group
//             in whose stretch a row begins adds up the row. A row that begins in the tile before
//             or goes on in the next goes to the tile's `head` or `tail`.
// join_rows   A thread block adds up the heads and the tail of one such row, always in the same
//             order.
//
// No output row is written twice, nothing is added by atomics at any scope, and results are the
// same in every run.
#pragma once

#include <cuda_pipeline.h>

#include "common/device/vec.cuh"
#include "common/measure/cuda_run.cuh"
#include "papers/flycoo/record.hpp"
#include "papers/flycoo/tiles.hpp"

namespace retensor::flycoo::tuned {

using device::Vec;

/// The pass over one mode. Rows of `factor`, `out`, `head` and `tail` are `stride` elements apart,
/// whole 16-byte vectors. Without remapping walk, leave, target and next_copy are null.
template <class T>
struct TilePass {
  const std::uint32_t* in = nullptr;  ///< padded to whole 16 bytes
  std::uint32_t* next_copy = nullptr;
  const std::uint16_t *walk = nullptr, *leave = nullptr;
  const std::uint32_t* target = nullptr;
  const std::uint8_t* joined = nullptr;
  RecordLayout layout;
  Field row = {}, other[kMaxOther] = {};
  const T* factor[kMaxOther] = {};
  T *out = nullptr, *head = nullptr, *tail = nullptr;
  Count nnz = 0;
  unsigned tile = 0;       ///< nonzeros, a multiple of 4
  unsigned per_words = 0;  ///< ceil(2^32 / words): the division by words as a multiplication
  unsigned stride = 0;
  int others = 0;
};

inline constexpr unsigned kMostThreads = 512;  // a block; 1024 would leave 64 registers and spill
inline constexpr unsigned kJoinThreads = 256;
inline constexpr int kInFlight = 4;  // factor rows a group loads before it uses the first
inline constexpr Index kNoRow = ~Index{0};

/// Shared memory that the ends of all stretches take: two rows' numbers a group, two sums a thread.
inline Count bytes_of_ends(unsigned threads, unsigned lanes) {
  return Count{2} * (threads / lanes) * sizeof(Index) + Count{2} * threads * 16;
}

/// The columns that a lane holds.
template <class T, int kLanes>
struct Lane {
  const unsigned group = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const unsigned column = (blockIdx.y * kLanes + lane) * Vec<T>::kWidth;
  /// The value of lane `source` of the group; all lanes of a warp take part.
  template <class V>
  static __device__ V from(V v, int source) {
    return __shfl_sync(0xffffffffu, v, source, kLanes);
  }
};

/// Copies `words` words, rounded up to whole 16 bytes, into shared memory.
__device__ inline void load_tile(std::uint32_t* shared, const std::uint32_t* from, unsigned words) {
  for (unsigned w = 4 * threadIdx.x; w < words; w += 4 * blockDim.x)
    __pipeline_memcpy_async(shared + w, from + w, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

/// Algorithm 3 for a tile: neighbouring threads write neighbouring words of a run.
template <class T>
__device__ void send_tile(const TilePass<T>& x, const std::uint32_t* shared, Count begin,
                          unsigned count) {
  const unsigned words = static_cast<unsigned>(x.layout.words);
#pragma unroll 8
  for (unsigned at = threadIdx.x; at < count * words; at += blockDim.x) {
    const unsigned q = __umulhi(at, x.per_words), word = at - q * words;
    const Count to = __ldg(x.target + begin + q);
    x.next_copy[to * words + word] = shared[__ldg(x.leave + begin + q) * words + word];
  }
}

/// What a group has added up of the first and the last row of its stretch.
template <class T>
struct Ends {
  Index first_row = kNoRow, last_row = kNoRow;  ///< one row alone is the first
  Vec<T> first = Vec<T>::splat(T(0)), last = Vec<T>::splat(T(0));
};

/// Walks the group's stretch of the tile. All groups walk equally far, since those of a warp
/// shuffle together; past its end a group repeats its last nonzero with value 0.
template <class T, int kLanes, int kOthers>
__device__ Ends<T> walk_tile(const TilePass<T>& x, const std::uint32_t* shared, Count begin,
                             unsigned count) {
  constexpr int kModes = kOthers > 0 ? kOthers : kMaxOther;
  const int others = kOthers > 0 ? kOthers : x.others;
  const Lane<T, kLanes> at;
  const bool active = at.column < x.stride;
  const unsigned row_bytes = x.stride * sizeof(T);
  const unsigned groups = blockDim.x / kLanes;
  const unsigned stretch = (count + groups - 1) / groups;
  const unsigned first = min(at.group * stretch, count);
  const unsigned size = min(stretch, count - first);

  struct Nonzero {
    Index row, index[kModes];
    T value;
  };
  const auto slot_of = [&](unsigned base) -> unsigned {
    const unsigned inside = min(base + at.lane, size > 0 ? size - 1 : 0);
    const unsigned p = min(first + inside, count - 1);
    return x.walk == nullptr ? p : __ldg(x.walk + begin + p);
  };
  const auto decode = [&](unsigned base, unsigned slot) {
    const std::uint32_t* const record = shared + slot * static_cast<unsigned>(x.layout.words);
    Nonzero z;
    z.row = read_field(record, x.row);
#pragma unroll
    for (int k = 0; k < kModes; ++k)
      if (k < others) z.index[k] = read_field(record, x.other[k]);
    z.value = base + at.lane < size ? record_value<T>(x.layout, record) : T(0);
    return z;
  };
  const auto factor_row = [&](int k, Index i) {
    const char* const rows = reinterpret_cast<const char*>(x.factor[k] + at.column);
    Vec<T> v = Vec<T>::splat(T(0));
    if (active)
      v = Vec<T>::load(reinterpret_cast<const T*>(rows + static_cast<Count>(i) * row_bytes));
    return v;
  };

  Ends<T> ends;
  Vec<T> sum = Vec<T>::splat(T(0));
  Nonzero next = decode(0, slot_of(0));
  unsigned next_slot = slot_of(kLanes);
  Index current = at.from(next.row, 0);
  const auto turn = [&](Index to) {
    if (to == current) return;
    if (ends.first_row == kNoRow)
      ends.first_row = current, ends.first = sum;
    else if (active)
      sum.store(x.out + static_cast<Count>(current) * x.stride + at.column);
    current = to, sum = Vec<T>::splat(T(0));
  };
  for (unsigned base = 0; base < stretch; base += kLanes) {
    const Nonzero mine = next;
    next = decode(base + kLanes, next_slot);
    next_slot = slot_of(base + 2 * kLanes);
#pragma unroll
    for (int t = 0; t < kLanes; t += kInFlight) {
      Vec<T> product[kInFlight], factor[kInFlight];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        factor[u] = factor_row(0, at.from(mine.index[0], t + u));
        product[u] = Vec<T>::splat(at.from(mine.value, t + u));
      }
#pragma unroll
      for (int k = 1; k < kModes; ++k) {
        if (k >= others) continue;
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
          product[u].multiply(factor[u]);
          factor[u] = factor_row(k, at.from(mine.index[k], t + u));
        }
      }
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        turn(at.from(mine.row, t + u));
        sum.fma(product[u], factor[u]);
      }
    }
  }
  if (size == 0) return {};
  if (ends.first_row == kNoRow)
    ends.first_row = current, ends.first = sum;
  else
    ends.last_row = current, ends.last = sum;
  return ends;
}

/// Adds up the rows that stretches share, and places them and those that tiles share.
template <class T, int kLanes>
__device__ void place_ends(const TilePass<T>& x, std::uint32_t* shared, const Ends<T>& ends) {
  const Lane<T, kLanes> at;
  const unsigned entries = 2 * (blockDim.x / kLanes), tile = blockIdx.x;
  Index* const row = shared;
  T* const sums = reinterpret_cast<T*>(shared + entries);
  const auto sum_of = [&](unsigned e) { return sums + (e * kLanes + at.lane) * Vec<T>::kWidth; };
  if (at.lane == 0) row[2 * at.group] = ends.first_row, row[2 * at.group + 1] = ends.last_row;
  ends.first.store(sum_of(2 * at.group));
  ends.last.store(sum_of(2 * at.group + 1));
  __syncthreads();
  if (at.column >= x.stride) return;
  for (unsigned e = 2 * at.group; e < 2 * at.group + 2; ++e) {
    if (row[e] == kNoRow) continue;
    // The stretch before may have had one row, which then is its first.
    const unsigned before = e == 0 ? 0 : row[e - 1] != kNoRow ? e - 1 : e - 2;
    if (e > 0 && row[before] == row[e]) continue;
    Vec<T> sum = Vec<T>::splat(T(0));
    unsigned n = e;
    for (; n < entries && (row[n] == row[e] || row[n] == kNoRow); ++n)
      if (row[n] == row[e]) sum.add(*reinterpret_cast<const Vec<T>*>(sum_of(n)));
    const bool begun = e == 0 && x.joined[tile] != 0, goes_on = n == entries && x.joined[tile + 1];
    T* const to = begun     ? x.head + static_cast<Count>(tile) * x.stride
                  : goes_on ? x.tail + static_cast<Count>(tile) * x.stride
                            : x.out + static_cast<Count>(row[e]) * x.stride;
    sum.store(to + at.column);
  }
}

/// Block (t, c) takes tile t and the c-th tile of columns; that with c = 0 remaps.
template <class T, int kLanes, int kOthers>
__global__ void __launch_bounds__(kMostThreads) tile_pass(TilePass<T> x) {
  extern __shared__ uint4 shared_vectors[];
  std::uint32_t* const shared = reinterpret_cast<std::uint32_t*>(shared_vectors);
  const Count begin = static_cast<Count>(blockIdx.x) * x.tile;
  const Count left = x.nnz - begin;
  const unsigned count = left < x.tile ? static_cast<unsigned>(left) : x.tile;
  const unsigned words = static_cast<unsigned>(x.layout.words);
  load_tile(shared, x.in + begin * words, count * words);
  __syncthreads();
  if (x.next_copy != nullptr && blockIdx.y == 0) send_tile(x, shared, begin, count);
  const Ends<T> ends = walk_tile<T, kLanes, kOthers>(x, shared, begin, count);
  __syncthreads();  // the records have been read: their place is free
  place_ends<T, kLanes>(x, shared, ends);
}

/// Block (i, c) adds up row i of `cut` in the c-th tile of columns.
template <class T, int kLanes>
__global__ void __launch_bounds__(kJoinThreads) join_rows(TilePass<T> x, const CutRow* cut) {
  __shared__ uint4 sums[kJoinThreads];
  constexpr unsigned kGroups = kJoinThreads / kLanes;
  const Lane<T, kLanes> at;
  const bool active = at.column < x.stride;
  const CutRow c = cut[blockIdx.x];
  auto sum = Vec<T>::splat(T(0));
  const auto add = [&](const T* rows, Count tile) {
    if (active) sum.add(Vec<T>::load(rows + tile * x.stride + at.column));
  };
  if (at.group == 0) add(x.tail, c.first);
  for (Count t = Count{c.first} + 1 + at.group; t <= c.last; t += kGroups) add(x.head, t);
  sum.store(reinterpret_cast<T*>(sums + threadIdx.x));
  __syncthreads();
  if (at.group != 0 || !active) return;
  for (unsigned g = 1; g < kGroups; ++g)
    sum.add(*reinterpret_cast<const Vec<T>*>(sums + g * kLanes + at.lane));
  sum.store(x.out + static_cast<Count>(c.row) * x.stride + at.column);
}

}  // namespace retensor::flycoo::tuned
