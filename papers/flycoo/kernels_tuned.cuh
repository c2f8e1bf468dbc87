// Ownership (section 3.4) and remapping (section 3.1) with the accesses that the hardware favours;
// the kernels are this project's own.
//
// tile_pass   A thread block owns a tile (tiles.hpp) and copies its records into shared memory.
//             Some of its warps send them on to the next mode's tiles, in runs, word by word by
//             neighbouring threads, so that writes are whole and local. The others walk them by
//             output row: a group of 4 to 16 lanes takes a stretch of the walk, holds the columns
//             of one row, 16 bytes a lane, and adds up in registers while the row stays. A row
//             inside a stretch is stored; the first and the last of each stretch meet in shared
//             memory, where the group in whose stretch a row begins adds up the row. A row that
//             begins in the tile before or goes on in the next goes to the tile's `head` or `tail`.
//             Without remapping the records, sorted by row, are read where they are.
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

/// A field of a record, read with the word that follows, in which it may end: without a branch. The
/// value follows the indices, so that word belongs to the record too.
struct WideField {
  unsigned word = 0, shift = 0, mask = 0;
  WideField() = default;
  explicit WideField(const Field& f)
      : word(static_cast<unsigned>(f.word)),
        shift(static_cast<unsigned>(f.shift)),
        mask(static_cast<unsigned>((std::uint64_t{1} << f.width) - 1)) {}
  __device__ Index of(const std::uint32_t* record) const {
    return __funnelshift_r(record[word], record[word + 1], shift) & mask;
  }
};

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
  WideField row = {}, other[kMaxOther] = {};
  const T* factor[kMaxOther] = {};
  T *out = nullptr, *head = nullptr, *tail = nullptr;
  Count nnz = 0;
  unsigned tile = 0;       ///< nonzeros, a multiple of 4
  unsigned per_words = 0;  ///< ceil(2^32 / words): the division by words as a multiplication
  unsigned stride = 0;
  unsigned walkers = 0;  ///< threads of a block that walk; the others send
  int others = 0;
};

// A block. Its 32 warps cut registers to 64, which hold two nonzeros in flight without spills up
// to order 3.
inline constexpr unsigned kMostThreads = 1024;
inline constexpr unsigned kJoinThreads = 256;
inline constexpr int kInFlight = 2;   // nonzeros whose factor rows a group loads at a time
inline constexpr int kSendAhead = 4;  // records that a sending lane looks up at a time
inline constexpr Index kNoRow = ~Index{0};

/// What the groups of a block have added up of the first and the last row of their stretches, in
/// shared memory. Entry 2 g is the first of group g, 2 g + 1 its last; one row alone is the first.
template <class T, int kLanes>
struct Ends {
  T* const sums;
  Index* const row;
  const unsigned entries;

  __device__ Ends(void* at, unsigned walkers)
      : sums(static_cast<T*>(at)),
        row(reinterpret_cast<Index*>(sums + 2 * walkers * Vec<T>::kWidth)),
        entries(2 * (walkers / kLanes)) {}
  __device__ T* sum(unsigned entry, unsigned lane) const {
    return sums + (entry * kLanes + lane) * Vec<T>::kWidth;
  }
};
inline Count bytes_of_ends(unsigned walkers, unsigned lanes) {
  return Count{2} * walkers * 16 + Count{2} * (walkers / lanes) * sizeof(Index);
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

/// Algorithm 3 for a tile. A warp takes 32 records at a time and sends them word by word, so that
/// neighbouring lanes write neighbouring words of a run.
template <class T>
__device__ void send_tile(const TilePass<T>& x, const std::uint32_t* shared, Count begin,
                          unsigned count) {
  const unsigned words = static_cast<unsigned>(x.layout.words);
  const unsigned thread = threadIdx.x - x.walkers, lane = thread % 32;
  const unsigned step = (blockDim.x - x.walkers) * kSendAhead;
  const std::uint16_t* const leave = x.leave + begin;
  const std::uint32_t* const target = x.target + begin;
  struct Ahead {
    unsigned slot[kSendAhead], to[kSendAhead];
  };
  const auto look_up = [&](unsigned first) {
    Ahead a;
#pragma unroll
    for (int k = 0; k < kSendAhead; ++k) {
      const unsigned q = min(first + 32 * k + lane, count - 1);
      a.slot[k] = __ldg(leave + q), a.to[k] = __ldg(target + q);
    }
    return a;
  };
  const unsigned first = thread / 32 * 32 * kSendAhead;
  Ahead next = look_up(first);
  for (unsigned base = first; base < count; base += step) {
    const Ahead mine = next;
    next = look_up(base + step);
#pragma unroll
    for (int k = 0; k < kSendAhead; ++k)
      for (unsigned w = lane; w < 32 * words; w += 32) {
        const unsigned q = __umulhi(w, x.per_words), word = w - q * words;
        const unsigned slot = __shfl_sync(0xffffffffu, mine.slot[k], q);
        const Count to = __shfl_sync(0xffffffffu, mine.to[k], q);
        // Streamed, so that the L2 cache keeps factor rows instead.
        if (base + 32 * k + q < count)
          __stcs(x.next_copy + to * words + word, shared[slot * words + word]);
      }
  }
}

/// Walks the group's stretch of the tile. All groups walk equally far, since those of a warp
/// shuffle together; past its end a group repeats its last nonzero with value 0.
template <class T, int kLanes, int kOthers, bool kRemap>
__device__ void walk_tile(const TilePass<T>& x, const std::uint32_t* records, Count begin,
                          unsigned count, const Ends<T, kLanes>& ends) {
  constexpr int kModes = kOthers > 0 ? kOthers : kMaxOther;
  const int others = kOthers > 0 ? kOthers : x.others;
  const Lane<T, kLanes> at;
  const bool active = at.column < x.stride;
  const unsigned row_bytes = x.stride * sizeof(T);
  const unsigned groups = x.walkers / kLanes;
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
    return kRemap ? __ldg(x.walk + begin + p) : p;
  };
  const auto decode = [&](unsigned base, unsigned slot) {
    const std::uint32_t* const record = records + slot * static_cast<unsigned>(x.layout.words);
    Nonzero z;
    z.row = x.row.of(record);
#pragma unroll
    for (int k = 0; k < kModes; ++k)
      if (k < others) z.index[k] = x.other[k].of(record);
    z.value = base + at.lane < size ? record_value<T>(x.layout, record) : T(0);
    return z;
  };
  // Lanes past the last column gather the first ones: a branch would cost every lane.
  const char* factor[kModes];
#pragma unroll
  for (int k = 0; k < kModes; ++k)
    if (k < others)
      factor[k] = reinterpret_cast<const char*>(x.factor[k] + (active ? at.column : 0));
  const auto factor_row = [&](int k, Index i) {
    return Vec<T>::load(reinterpret_cast<const T*>(factor[k] + static_cast<Count>(i) * row_bytes));
  };

  Nonzero next = decode(0, slot_of(0));
  unsigned next_slot = slot_of(kLanes);
  const Index first_row = at.from(next.row, 0);
  Index current = first_row;
  Vec<T> sum = Vec<T>::splat(T(0));
  T* place = ends.sum(2 * at.group, at.lane);  // where the sum of the current row goes
  const auto turn = [&](Index to) {
    if (to == current) return;
    if (active) {
      sum.store(place);
      place = x.out + static_cast<Count>(to) * x.stride + at.column;
    }
    current = to, sum = Vec<T>::splat(T(0));
  };
  const auto add = [&]<bool kTurns>(const Nonzero& mine) {
#pragma unroll
    for (int t = 0; t < kLanes; t += kInFlight) {
      Vec<T> product[kInFlight], row[kInFlight];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        row[u] = factor_row(0, at.from(mine.index[0], t + u));
        product[u] = Vec<T>::splat(at.from(mine.value, t + u));
      }
#pragma unroll
      for (int k = 1; k < kModes; ++k) {
        if (k >= others) continue;
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
          product[u].multiply(row[u]);
          row[u] = factor_row(k, at.from(mine.index[k], t + u));
        }
      }
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        if constexpr (kTurns) turn(at.from(mine.row, t + u));
        sum.fma(product[u], row[u]);
      }
    }
  };
  for (unsigned base = 0; base < stretch; base += kLanes) {
    const Nonzero mine = next;
    next = decode(base + kLanes, next_slot);
    next_slot = slot_of(base + 2 * kLanes);
    if (__any_sync(0xffffffffu, mine.row != current))
      add.template operator()<true>(mine);
    else
      add.template operator()<false>(mine);
  }
  const bool alone = current == first_row;
  sum.store(alone ? ends.sum(2 * at.group, at.lane) : ends.sum(2 * at.group + 1, at.lane));
  if (at.lane == 0) {
    ends.row[2 * at.group] = size > 0 ? first_row : kNoRow;
    ends.row[2 * at.group + 1] = alone ? kNoRow : current;
  }
}

/// Adds up the rows that stretches share, and places them and those that tiles share.
template <class T, int kLanes>
__device__ void place_ends(const TilePass<T>& x, const Ends<T, kLanes>& ends) {
  const Lane<T, kLanes> at;
  const unsigned tile = blockIdx.x;
  const Index* const row = ends.row;
  if (threadIdx.x >= x.walkers || at.column >= x.stride) return;
  for (unsigned e = 2 * at.group; e < 2 * at.group + 2; ++e) {
    if (row[e] == kNoRow) continue;
    // The stretch before may have had one row, which then is its first.
    const unsigned before = e == 0 ? 0 : row[e - 1] != kNoRow ? e - 1 : e - 2;
    if (e > 0 && row[before] == row[e]) continue;
    Vec<T> sum = Vec<T>::splat(T(0));
    unsigned n = e;
    for (; n < ends.entries && (row[n] == row[e] || row[n] == kNoRow); ++n)
      if (row[n] == row[e]) sum.add(*reinterpret_cast<const Vec<T>*>(ends.sum(n, at.lane)));
    const bool begun = e == 0 && x.joined[tile] != 0;
    const bool goes_on = n == ends.entries && x.joined[tile + 1] != 0;
    T* const to = begun     ? x.head + static_cast<Count>(tile) * x.stride
                  : goes_on ? x.tail + static_cast<Count>(tile) * x.stride
                            : x.out + static_cast<Count>(row[e]) * x.stride;
    sum.store(to + at.column);
  }
}

/// Block (t, c) takes tile t and the c-th tile of columns; that with c = 0 remaps. The records lie
/// in shared memory from `ends_bytes` on; without remapping they are read where they are.
template <class T, int kLanes, int kOthers, bool kRemap>
__global__ void __launch_bounds__(kMostThreads) tile_pass(TilePass<T> x, unsigned ends_bytes) {
  extern __shared__ uint4 shared[];
  const Ends<T, kLanes> ends(shared, x.walkers);
  const Count begin = static_cast<Count>(blockIdx.x) * x.tile;
  const Count left = x.nnz - begin;
  const unsigned count = left < x.tile ? static_cast<unsigned>(left) : x.tile;
  const unsigned words = static_cast<unsigned>(x.layout.words);
  const std::uint32_t* const in = x.in + begin * words;
  if constexpr (kRemap) {
    std::uint32_t* const records = reinterpret_cast<std::uint32_t*>(shared + ends_bytes / 16);
    load_tile(records, in, count * words);
    __syncthreads();
    if (threadIdx.x < x.walkers)
      walk_tile<T, kLanes, kOthers, true>(x, records, begin, count, ends);
    else if (blockIdx.y == 0)
      send_tile(x, records, begin, count);
  } else {
    walk_tile<T, kLanes, kOthers, false>(x, in, begin, count, ends);
  }
  __syncthreads();
  place_ends<T, kLanes>(x, ends);
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
