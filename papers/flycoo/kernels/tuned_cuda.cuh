// Ownership (section 3.4) and remapping (section 3.1) with the accesses that the hardware favours;
// the kernels are this project's own.
//
// tile_pass   A thread block owns a tile (format/tiles.hpp) and copies its records into shared
// memory.
//             Some of its warps send them on to the next mode's tiles, in runs, word by word by
//             neighbouring threads, so that writes are whole and local. The others walk them by
//             output row: a group of 4 to 16 lanes takes a stretch of the walk, holds the columns
//             of one row, 16 bytes a lane, and adds up in registers while the row stays. Where
//             fibers are long, it adds up a fiber first and multiplies the rows of the modes that
//             stay in once. A row inside a stretch is stored; the first and the last of each
//             stretch meet in shared memory, where the group in whose stretch a row begins adds up
//             the row. A row that begins in the tile before or goes on in the next goes to the
//             tile's `head` or `tail`. Without remapping the records, sorted by row, are read where
//             they are.
// join_rows   A thread block adds up the heads and the tail of one such row, always in the same
//             order.
//
// No output row is written twice, nothing is added by atomics at any scope, and results are the
// same in every run.
#pragma once

#include <cuda_pipeline.h>

#include <algorithm>

#include "common/device/warp.cuh"
#include "common/run/cuda_run.cuh"
#include "papers/flycoo/format/record.hpp"
#include "papers/flycoo/format/tiles.hpp"
#include "papers/flycoo/kernels/gathered_cuda.cuh"
#include "papers/flycoo/kernels/tuned_cuda.hpp"

namespace retensor::flycoo::tuned {

/// A field of a record, read without a branch as part of 64 bits. The value follows the indices, so
/// that a word after the field's belongs to the record too.
struct WideField {
  unsigned word = 0, shift = 0, mask = 0;
  WideField() = default;
  /// A record that fits in registers has its fields in words 0 and 1 or 1 and 2.
  WideField(const Field& f, bool in_registers)
      : word(static_cast<unsigned>(in_registers ? std::min(f.word, 1) : f.word)),
        shift(static_cast<unsigned>(f.shift) + 32 * (static_cast<unsigned>(f.word) - word)),
        mask(static_cast<unsigned>((std::uint64_t{1} << f.width) - 1)) {}
  __device__ Index of(std::uint32_t low, std::uint32_t high) const {
    return static_cast<Index>((low | std::uint64_t{high} << 32) >> shift) & mask;
  }
};

/// The pass over one mode: sums of type T, factors whose elements are of type G. Rows of `factor`,
/// `out`, `head` and `tail` are `stride` elements apart, whole vectors of columns. Without
/// remapping walk, leave, target and next_copy are null.
template <class T, class G = T>
struct TilePass : FactorsByEight<G> {
  using Value = T;
  using Gathered = G;
  using Row = Vec<G>;                 ///< what a lane gathers of a factor row
  using Sum = Sums<T, G>;             ///< of as many columns
  const std::uint32_t* in = nullptr;  ///< padded to whole 16 bytes
  std::uint32_t* next_copy = nullptr;
  const std::uint16_t *walk = nullptr, *leave = nullptr;
  const std::uint32_t* target = nullptr;
  const std::uint8_t* joined = nullptr;
  RecordLayout layout;
  WideField row = {}, other[kMaxOther] = {};
  const G* factor[kMaxOther] = {};
  T *out = nullptr, *head = nullptr, *tail = nullptr;
  Count nnz = 0;
  unsigned tile = 0;       ///< nonzeros, a multiple of 4
  unsigned per_words = 0;  ///< ceil(2^32 / words): the division by words as a multiplication
  unsigned stride = 0;
  unsigned walkers = 0;  ///< threads of a block that walk; the others send
  int others = 0;
};

inline constexpr unsigned kJoinThreads = 256;
// Vectors of 16 bytes that a lane gathers of a row.
template <class Pass>
inline constexpr int kVectors = sizeof(typename Pass::Row) / 16;
// Nonzeros whose factor rows a group loads at a time; the rows of one of order 5 and more are many.
template <class Pass, int kOthers>
inline constexpr int kInFlight = kOthers > 0 ? 2 / kVectors<Pass> : 1;
template <class Pass>
inline constexpr int kLeaves = 4 / kVectors<Pass>;  // the same of a fiber, with one row each
inline constexpr int kSendAhead = 4;  // records that a sending lane looks up at a time
inline constexpr Index kNoRow = ~Index{0};

template <class Pass>
__device__ unsigned factor_stride(const Pass& x) {
  if constexpr (GatheredByEight<typename Pass::Gathered>)
    return x.factor_stride;
  else
    return x.stride;
}

/// What the groups of a block have added up of the first and the last row of their stretches, in
/// shared memory. Entry 2 g is the first of group g, 2 g + 1 its last; one row alone is the first.
template <class Pass, int kLanes>
struct Ends {
  using Value = typename Pass::Value;
  static constexpr unsigned kWidth = Pass::Sum::kWidth;
  Value* const sums;
  Index* const row;
  const unsigned entries;

  __device__ Ends(void* at, unsigned walkers)
      : sums(static_cast<Value*>(at)),
        row(reinterpret_cast<Index*>(sums + 2 * walkers * kWidth)),
        entries(2 * (walkers / kLanes)) {}
  __device__ Value* sum(unsigned entry, unsigned lane) const {
    return sums + (entry * kLanes + lane) * kWidth;
  }
};
/// The columns that a lane holds.
template <class Pass, int kLanes>
struct Lane : device::RowLane<typename Pass::Gathered, kLanes> {
  const unsigned group = threadIdx.x / kLanes;
  /// The bits of the group's lanes within the warp begin here.
  __device__ unsigned first_bit() const { return threadIdx.x % 32 / kLanes * kLanes; }
  __device__ unsigned bits() const { return ((1u << kLanes) - 1) << first_bit(); }
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
template <class Pass>
__device__ void send_tile(const Pass& x, const std::uint32_t* shared, Count begin, unsigned count) {
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
        const unsigned slot = __shfl_sync(kWholeWarp, mine.slot[k], q);
        const Count to = __shfl_sync(kWholeWarp, mine.to[k], q);
        // Streamed, so that the L2 cache keeps factor rows instead.
        if (base + 32 * k + q < count)
          __stcs(x.next_copy + to * words + word, shared[slot * words + word]);
      }
  }
}

template <int kOthers>
inline constexpr int kGathered = kOthers > 0 ? kOthers : kMaxOther;

template <class T, int kOthers>
struct Nonzero {
  Index row, index[kGathered<kOthers>];
  T value;
};

/// The group's stretch of a tile's walk, each lane every kLanes-th nonzero. All groups walk equally
/// far, since those of a warp shuffle together; past its end a group repeats its last nonzero with
/// value 0.
template <class Pass, int kLanes, int kOthers, bool kRemap>
class Stretch {
  using T = typename Pass::Value;

 public:
  using Entry = Nonzero<T, kOthers>;
  __device__ Stretch(const Pass& x, const std::uint32_t* records, Count begin, unsigned count)
      : length((count + x.walkers / kLanes - 1) / (x.walkers / kLanes)),
        x_(x),
        records_(records),
        walk_(kRemap ? x.walk + begin : nullptr),
        first_(min(Lane<Pass, kLanes>().group * length, count)),
        size_(min(length, count - first_)),
        last_(count - 1) {
    if constexpr (kScaled<typename Pass::Gathered>)
      for (int k = 0; k < x.others; ++k) unscale_ *= scale_of(__ldg(x.largest[k]), -1);
  }

  const unsigned length;  ///< of the longest group
  __device__ bool empty() const { return size_ == 0; }
  __device__ unsigned slot(unsigned base) const {
    const unsigned inside = min(base + lane_, size_ > 0 ? size_ - 1 : 0);
    const unsigned p = min(first_ + inside, last_);
    return kRemap ? __ldg(walk_ + p) : p;
  }
  __device__ Entry at(unsigned base, unsigned slot) const {
    const unsigned words = static_cast<unsigned>(x_.layout.words);
    const std::uint32_t* const record = records_ + slot * words;
    Entry z = words <= kRegisterWords ? in_registers(record, words) : in_memory(record);
    if constexpr (kScaled<typename Pass::Gathered>) z.value *= unscale_;
    if (base + lane_ >= size_) z.value = T(0);
    return z;
  }

 private:
  template <class Read>
  __device__ Entry decoded(const Read& read) const {
    Entry z;
    z.row = read(x_.row);
#pragma unroll
    for (int k = 0; k < kGathered<kOthers>; ++k)
      if (k < kOthers || k < x_.others) z.index[k] = read(x_.other[k]);
    return z;
  }
  __device__ Entry in_registers(const std::uint32_t* record, unsigned words) const {
    uint4 w;
    if (words == 4) {
      w = *reinterpret_cast<const uint4*>(record);
    } else {
      w.x = record[0], w.y = record[1];
      w.z = w.w = words == 3 ? record[2] : w.y;
    }
    Entry z = decoded(
        [&](const WideField& f) { return f.of(f.word == 0 ? w.x : w.y, f.word == 0 ? w.y : w.z); });
    if constexpr (sizeof(T) == 8)
      z.value = __hiloint2double(static_cast<int>(w.w), static_cast<int>(words == 4 ? w.z : w.y));
    else
      z.value = __uint_as_float(w.w);
    return z;
  }
  __device__ Entry in_memory(const std::uint32_t* record) const {
    Entry z = decoded([&](const WideField& f) { return f.of(record[f.word], record[f.word + 1]); });
    z.value = record_value<T>(x_.layout, record);
    return z;
  }

  const Pass& x_;
  const std::uint32_t* const records_;
  const std::uint16_t* const walk_;
  const unsigned first_, size_, last_, lane_ = threadIdx.x % kLanes;
  T unscale_ = T(1);
};

/// The factor rows that a lane gathers its columns of.
template <class Pass, int kLanes, int kOthers>
class Factors {
  using G = typename Pass::Gathered;
  using Row = typename Pass::Row;

 public:
  __device__ explicit Factors(const Pass& x) : x_(x), row_bytes_(factor_stride(x) * sizeof(G)) {
    // Lanes past the last column gather the first ones: a branch would cost every lane.
    const unsigned column = Lane<Pass, kLanes>().column;
#pragma unroll
    for (int k = 0; k < kGathered<kOthers>; ++k)
      if (k < others())
        at_[k] = reinterpret_cast<const char*>(x.factor[k] + (column < x.stride ? column : 0));
  }
  __device__ int others() const {
    return kOthers > 0 ? kOthers : x_.others;
  }
  __device__ Row row(int k, Index i) const {
    return Row::load(reinterpret_cast<const G*>(at_[k] + static_cast<Count>(i) * row_bytes_));
  }

 private:
  const Pass& x_;
  const unsigned row_bytes_;
  const char* at_[kGathered<kOthers>];
};

/// The sum of the output row at hand.
template <class Pass, int kLanes>
class RowSum {
  using T = typename Pass::Value;
  using Sum = typename Pass::Sum;

 public:
  __device__ RowSum(const Pass& x, const Ends<Pass, kLanes>& ends, Index first)
      : row(first), x_(x), ends_(ends), first_(first), place_(ends.sum(2 * at_.group, at_.lane)) {}

  Index row;
  Sum sum = Sum::splat(T(0));

  __device__ void turn(Index to) {
    if (to == row) return;
    if (at_.column < x_.stride) {
      store_columns(sum, place_, x_.stride - at_.column);
      place_ = x_.out + static_cast<Count>(to) * x_.stride + at_.column;
    }
    row = to, sum = Sum::splat(T(0));
  }
  __device__ void finish(bool empty) const {
    const bool alone = row == first_;
    *reinterpret_cast<Sum*>(ends_.sum(2 * at_.group + (alone ? 0 : 1), at_.lane)) = sum;
    if (at_.lane != 0) return;
    ends_.row[2 * at_.group] = empty ? kNoRow : first_;
    ends_.row[2 * at_.group + 1] = alone ? kNoRow : row;
  }

 private:
  const Pass& x_;
  const Ends<Pass, kLanes>& ends_;
  const Lane<Pass, kLanes> at_;
  const Index first_;
  T* place_;  // where the sum goes
};

/// Adds kLanes nonzeros, their factor rows gathered for each.
template <bool kTurns, class Pass, int kLanes, int kOthers>
__device__ void add_nonzeros(const Factors<Pass, kLanes, kOthers>& factors,
                             const Nonzero<typename Pass::Value, kOthers>& mine,
                             RowSum<Pass, kLanes>& to) {
  using At = Lane<Pass, kLanes>;
  using Sum = typename Pass::Sum;
  constexpr int kAtOnce = kInFlight<Pass, kOthers>;
  const int others = factors.others();
#pragma unroll
  for (int t = 0; t < kLanes; t += kAtOnce) {
    typename Pass::Row row[kGathered<kOthers>][kAtOnce];
#pragma unroll
    for (int k = 0; k < kGathered<kOthers>; ++k)
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u)
        if (k < others) row[k][u] = factors.row(k, At::from(mine.index[k], t + u));
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      Sum product = Sum::splat(At::from(mine.value, t + u));
#pragma unroll
      for (int k = 1; k < kGathered<kOthers>; ++k)
        if (k < others) product.multiply(widened(row[k][u]));
      if constexpr (kTurns) to.turn(At::from(mine.row, t + u));
      to.sum.fma(product, widened(row[0][u]));
    }
  }
}

/// The nonzeros of a fiber differ in the last of the gathered modes alone: the rows of the others
/// are gathered where it begins, and multiplied in where it ends.
template <class Pass, int kLanes, int kOthers>
class FiberSum {
  using T = typename Pass::Value;
  using Sum = typename Pass::Sum;

 public:
  using Entry = Nonzero<T, kOthers>;
  __device__ FiberSum(const Factors<Pass, kLanes, kOthers>& factors, const Entry& first)
      : factors_(factors), upper_(upper_rows(first, 0, kWholeWarp)), last_(first) {
    note_last(0);
  }

  __device__ void add(const Entry& mine, RowSum<Pass, kLanes>& to) {
    constexpr int kAtOnce = kLeaves<Pass>;
    const unsigned turns = __ballot_sync(kWholeWarp, begins(mine)) >> at_.first_bit();
    last_ = mine;
    note_last(kLanes - 1);
#pragma unroll
    for (int t = 0; t < kLanes; t += kAtOnce) {
      typename Pass::Row row[kAtOnce];
      T value[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        row[u] = factors_.row(kLeaf, At::from(mine.index[kLeaf], t + u));
        value[u] = At::from(mine.value, t + u);
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        if (turns >> (t + u) & 1) {
          end(to);
          to.turn(At::from(mine.row, t + u, at_.bits()));
          upper_ = upper_rows(mine, t + u, at_.bits());
        }
        sum_.fma(Sum::splat(value[u]), widened(row[u]));
      }
    }
  }
  __device__ void end(RowSum<Pass, kLanes>& to) {
    to.sum.fma(sum_, upper_);
    sum_ = Sum::splat(T(0));
  }

 private:
  using At = Lane<Pass, kLanes>;
  static constexpr int kLeaf = kOthers - 1;

  __device__ Sum upper_rows(const Entry& z, int t, unsigned lanes) const {
    Sum product = widened(factors_.row(0, At::from(z.index[0], t, lanes)));
#pragma unroll
    for (int k = 1; k < kLeaf; ++k)
      product.multiply(widened(factors_.row(k, At::from(z.index[k], t, lanes))));
    return product;
  }
  __device__ void note_last(int lane) {
    last_.row = At::from(last_.row, lane);
#pragma unroll
    for (int k = 0; k < kLeaf; ++k) last_.index[k] = At::from(last_.index[k], lane);
  }
  // Whether a fiber begins with the lane's nonzero.
  __device__ bool begins(const Entry& mine) const {
    const auto differs = [&](Index now, Index last) {
      const Index before = __shfl_up_sync(kWholeWarp, now, 1, kLanes);
      return now != (at_.lane == 0 ? last : before);
    };
    bool any = differs(mine.row, last_.row);
#pragma unroll
    for (int k = 0; k < kLeaf; ++k) any |= differs(mine.index[k], last_.index[k]);
    return any;
  }

  const Factors<Pass, kLanes, kOthers>& factors_;
  const Lane<Pass, kLanes> at_;
  Sum sum_ = Sum::splat(T(0)), upper_;
  Entry last_;
};

/// Walks the group's stretch of the tile.
template <class Pass, int kLanes, int kOthers, bool kRemap, bool kFibers>
__device__ void walk_tile(const Pass& x, const std::uint32_t* records, Count begin, unsigned count,
                          const Ends<Pass, kLanes>& ends) {
  const Stretch<Pass, kLanes, kOthers, kRemap> stretch(x, records, begin, count);
  const Factors<Pass, kLanes, kOthers> factors(x);
  auto next = stretch.at(0, stretch.slot(0));
  unsigned next_slot = stretch.slot(kLanes);
  RowSum<Pass, kLanes> to(x, ends, Lane<Pass, kLanes>::from(next.row, 0));
  const auto walk = [&](auto&& add) {
    for (unsigned base = 0; base < stretch.length; base += kLanes) {
      const auto mine = next;
      next = stretch.at(base + kLanes, next_slot);
      next_slot = stretch.slot(base + 2 * kLanes);
      add(mine);
    }
  };
  if constexpr (kFibers) {
    FiberSum<Pass, kLanes, kOthers> fiber(factors, next);
    walk([&](const auto& mine) { fiber.add(mine, to); });
    fiber.end(to);
  } else {
    walk([&](const auto& mine) {
      if (__any_sync(kWholeWarp, mine.row != to.row))
        add_nonzeros<true>(factors, mine, to);
      else
        add_nonzeros<false>(factors, mine, to);
    });
  }
  to.finish(stretch.empty());
}

/// Adds up the rows that stretches share, and places them and those that tiles share.
template <class Pass, int kLanes>
__device__ void place_ends(const Pass& x, const Ends<Pass, kLanes>& ends) {
  using T = typename Pass::Value;
  using Sum = typename Pass::Sum;
  const Lane<Pass, kLanes> at;
  const unsigned tile = blockIdx.x;
  const Index* const row = ends.row;
  if (threadIdx.x >= x.walkers || at.column >= x.stride) return;
  for (unsigned e = 2 * at.group; e < 2 * at.group + 2; ++e) {
    if (row[e] == kNoRow) continue;
    // The stretch before may have had one row, which then is its first.
    const unsigned before = e == 0 ? 0 : row[e - 1] != kNoRow ? e - 1 : e - 2;
    if (e > 0 && row[before] == row[e]) continue;
    Sum sum = Sum::splat(T(0));
    unsigned n = e;
    for (; n < ends.entries && (row[n] == row[e] || row[n] == kNoRow); ++n)
      if (row[n] == row[e]) sum.add(*reinterpret_cast<const Sum*>(ends.sum(n, at.lane)));
    const bool begun = e == 0 && x.joined[tile] != 0;
    const bool goes_on = n == ends.entries && x.joined[tile + 1] != 0;
    T* const to = begun     ? x.head + static_cast<Count>(tile) * x.stride
                  : goes_on ? x.tail + static_cast<Count>(tile) * x.stride
                            : x.out + static_cast<Count>(row[e]) * x.stride;
    store_columns(sum, to + at.column, x.stride - at.column);
  }
}

/// Block (t, c) takes tile t and the c-th tile of columns; that with c = 0 remaps. The records lie
/// in shared memory from `ends_bytes` on; without remapping they are read where they are.
template <class Pass, int kLanes, int kOthers, bool kRemap, bool kFibers>
__global__ void __launch_bounds__(kMostThreads) tile_pass(Pass x, unsigned ends_bytes) {
  extern __shared__ uint4 shared[];
  const Ends<Pass, kLanes> ends(shared, x.walkers);
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
      walk_tile<Pass, kLanes, kOthers, true, kFibers>(x, records, begin, count, ends);
    else if (blockIdx.y == 0)
      send_tile(x, records, begin, count);
  } else {
    walk_tile<Pass, kLanes, kOthers, false, kFibers>(x, in, begin, count, ends);
  }
  __syncthreads();
  place_ends<Pass, kLanes>(x, ends);
}

/// Block (i, c) adds up row i of `cut` in the c-th tile of columns.
template <class Pass, int kLanes>
__global__ void __launch_bounds__(kJoinThreads) join_rows(Pass x, const CutRow* cut) {
  using T = typename Pass::Value;
  using Sum = typename Pass::Sum;
  __shared__ uint4 shared[kJoinThreads * sizeof(Sum) / 16];
  Sum* const sums = reinterpret_cast<Sum*>(shared);
  constexpr unsigned kGroups = kJoinThreads / kLanes;
  const Lane<Pass, kLanes> at;
  const bool active = at.column < x.stride;
  const CutRow c = cut[blockIdx.x];
  auto sum = Sum::splat(T(0));
  const auto add = [&](const T* rows, Count tile) {
    if (active)
      sum.add(load_columns<Sum>(rows + tile * x.stride + at.column, x.stride - at.column));
  };
  if (at.group == 0) add(x.tail, c.first);
  for (Count t = Count{c.first} + 1 + at.group; t <= c.last; t += kGroups) add(x.head, t);
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (at.group != 0 || !active) return;
  for (unsigned g = 1; g < kGroups; ++g) sum.add(sums[g * kLanes + at.lane]);
  store_columns(sum, x.out + static_cast<Count>(c.row) * x.stride + at.column,
                x.stride - at.column);
}

}  // namespace retensor::flycoo::tuned
