// The suite's operations with the accesses that the hardware favours; the results are those of
// PASTA section II, the kernels are this project's own.
//
// TEW, TS    16-byte loads and stores.
// TTV        a warp walks its part of the nonzeros 128 at a time, four a lane; a segmented scan by
//            shuffles adds up the fibers.
// TTM        a group of 4 to 16 lanes walks its part and holds the columns of one row, 16 bytes a
//            lane. Indices and values are read coalesced, one batch ahead, and passed round by
//            shuffles; several factor rows are in flight at a time.
// MTTKRP     the same kernel with more factors, on nonzeros sorted by output row (`segments`), or
//            on nonzeros in any order (`runs`), where a run of equal rows ends in one vector
//            reduction to memory.
//
// Encoding of segments (format/segments.hpp): bit 31 of a nonzero's first index is set where a
// segment begins, so the marks cost no bytes; modes are therefore at most 2^31 long. Segments that
// lie in one part are stored, others are added by atomics to rows that `zero_rows` has cleared.
#pragma once

#include <cuda_runtime.h>

#include "common/core/types.hpp"
#include "common/device/loops.cuh"
#include "common/device/vec.cuh"
#include "common/device/warp.cuh"
#include "papers/pasta/kernels/coo_cuda.cuh"

namespace retensor::pasta::tuned {

using device::RowLane;
using device::Vec;

/// The 16 bytes from element i on.
template <class T>
__device__ void apply_to_vector(const Elementwise<T>& e, Count i) {
  const auto a = Vec<T>::load(e.x + i);
  const auto b = e.y == nullptr ? Vec<T>::splat(e.s) : Vec<T>::load(e.y + i);
  Vec<T> c;
  const T* pa = reinterpret_cast<const T*>(&a);
  const T* pb = reinterpret_cast<const T*>(&b);
  T* pc = reinterpret_cast<T*>(&c);
#pragma unroll
  for (unsigned k = 0; k < Vec<T>::kWidth; ++k) pc[k] = apply(e.op, pa[k], pb[k]);
  c.store(e.z + i);
}

/// The n % width last elements fall to the last threads.
template <class T>
__global__ void elementwise(Elementwise<T> e) {
  const Count vectors = e.n / Vec<T>::kWidth;
  const Count i = device::thread_of_grid();
  if (i < vectors) apply_to_vector(e, i * Vec<T>::kWidth);
  const Count rest = vectors * Vec<T>::kWidth + (i - vectors);
  if (i >= vectors && rest < e.n)
    e.z[rest] = apply(e.op, e.x[rest], e.y == nullptr ? e.s : e.y[rest]);
}

inline constexpr int kThreads = 256;  // a block
// Blocks that an SM must hold, which limits the registers: 64 a thread for one gathered mode, 80
// for more, which else would spill.
constexpr int blocks_per_sm(int others) {
  return others == 1 ? 4 : 3;
}
inline constexpr int kInFlight = 4;  // factor rows a group loads before it uses the first

inline constexpr Index kHead = 1u << 31;  // a segment begins; in the first index of a nonzero

/// Nonzeros on the device with what they gather. Rows of `factor` and `out` are `stride` elements
/// apart (TTV: 1), whole 16-byte vectors, padded with zeros.
template <class T>
struct Gather {
  const Index* index[kMaxOther] = {};  ///< per gathered mode; index[0] carries kHead
  const T* factor[kMaxOther] = {};
  const T* value = nullptr;
  T* out = nullptr;
  Count nnz = 0;  ///< TTV: index[0] and value are padded to a multiple of 8
  unsigned stride = 1;
  int others = 0;

  __device__ bool head(Count p) const { return (index[0][p] & kHead) != 0; }
};

/// Parts of SegmentParts; `row` names the output row of a segment, null where that is its number.
struct Parts {
  const Count *bound, *first;
  const Index* row;
  Count count;
};

/// Clears the rows of the segments that several parts add to.
template <class T>
__global__ void zero_rows(const Count* segment, Count count, const Index* row, T* out,
                          unsigned stride) {
  const Count at = device::thread_of_grid();
  if (at >= count * stride) return;
  const Count s = segment[at / stride];
  out[(row == nullptr ? s : row[s]) * stride + at % stride] = T(0);
}

inline constexpr int kPerLane = 4;              // consecutive nonzeros a lane takes a step, TTV
inline constexpr int kPerStep = 32 * kPerLane;  // and a warp

/// Consecutive nonzeros of a lane; p is a multiple of kPerLane.
template <class T>
struct Run {
  Index index[kPerLane];
  T value[kPerLane];

  __device__ Run(const Gather<T>& x, Count p) {
#pragma unroll
    for (unsigned e = 0; e < kPerLane; e += 4) {
      const auto i = *reinterpret_cast<const uint4*>(x.index[0] + p + e);
      index[e] = i.x, index[e + 1] = i.y, index[e + 2] = i.z, index[e + 3] = i.w;
    }
#pragma unroll
    for (unsigned e = 0; e < kPerLane; e += Vec<T>::kWidth)
      Vec<T>::load(x.value + p + e).store(value + e);
  }
  /// Makes positions outside low .. high, counted from the step's first, zeros that begin no
  /// segment.
  __device__ void clip(int at, int low, int high) {
#pragma unroll
    for (int e = 0; e < kPerLane; ++e)
      if (at + e < low || at + e >= high) index[e] = 0, value[e] = T(0);
  }
};

/// Sums that lanes pass on: what the open segment has gathered, and how many segments began.
template <class T>
struct Open {
  T sum;
  unsigned heads;

  /// Over the lanes up to this one: `sum` from lane `from` on, `heads` from the first on.
  __device__ Open scan(unsigned lane, unsigned from) const {
    Open s = *this;
#pragma unroll
    for (unsigned offset = 1; offset < 32; offset *= 2) {
      const T sum_below = __shfl_up_sync(device::kWholeWarp, s.sum, offset);
      const unsigned heads_below = __shfl_up_sync(device::kWholeWarp, s.heads, offset);
      if (lane >= from + offset) s.sum += sum_below;
      if (lane >= offset) s.heads += heads_below;
    }
    return s;
  }
};

/// A warp a part, kPerStep nonzeros a step, read one step ahead. A lane adds up its own; a
/// segmented scan carries the sums of segments that span lanes. Without kCut no segment lies in two
/// parts.
template <class T, bool kCut>
__global__ void __launch_bounds__(kThreads, 5) ttv(Gather<T> x, Parts parts) {
  const Count part = device::group_of_grid<32>();
  if (part >= parts.count) return;
  const unsigned lane = threadIdx.x % 32, all = device::kWholeWarp;
  const unsigned below = (1u << lane) - 1;  // the lanes before this one
  const Count begin = parts.bound[part], end = parts.bound[part + 1],
              first = begin / kPerLane * kPerLane;
  // Segments count from the one before the part's first head; it is 0 and began in another part,
  // if there is one.
  const bool begins = !kCut || x.head(begin);
  T* const out = x.out + parts.first[part] - (begins ? 1 : 0);
  const auto write = [&](unsigned segment, T sum) {
    if (kCut && segment == 0)
      atomicAdd(out, sum);
    else
      out[segment] = sum;
  };
  const Count last = (x.nnz - 1) / kPerLane * kPerLane;
  const auto read = [&](Count base) {
    const Count p = base + kPerLane * lane;
    return Run<T>(x, p < last ? p : last);
  };
  Open<T> open{0, 0};     // after the step before
  bool nothing = begins;  // no segment precedes the part's first head

  Run<T> next = read(first);
  for (Count base = first; base < end; base += kPerStep) {
    Run<T> mine = next;
    next = read(base + kPerStep);
    if (base < begin || base + kPerStep > end)
      mine.clip(kPerLane * static_cast<int>(lane),
                base < begin ? static_cast<int>(begin - base) : 0,
                end - base < kPerStep ? static_cast<int>(end - base) : kPerStep);
    Open<T> own{0, 0};
#pragma unroll
    for (int e = 0; e < kPerLane; ++e) {
      const bool head = (mine.index[e] & kHead) != 0;
      mine.value[e] *= __ldg(x.factor[0] + (mine.index[e] & ~kHead));
      own.sum = head ? mine.value[e] : own.sum + mine.value[e];
      own.heads += head ? 1 : 0;
    }
    const unsigned with_heads = __ballot_sync(all, own.heads != 0);
    const unsigned up_to = with_heads & (below | 1u << lane);
    const Open<T> through = own.scan(lane, up_to == 0 ? 0 : 31 - __clz(up_to));
    T sum = __shfl_up_sync(all, through.sum, 1);  // of the segment that enters the lane
    if (lane == 0) sum = T(0);
    if ((with_heads & below) == 0) sum += open.sum;
    unsigned segment = open.heads + through.heads - own.heads;
    bool skip = nothing && (with_heads & below) == 0;
#pragma unroll
    for (int e = 0; e < kPerLane; ++e) {
      if ((mine.index[e] & kHead) != 0) {
        if (!skip) write(segment, sum);
        skip = false, ++segment, sum = T(0);
      }
      sum += mine.value[e];
    }
    nothing = false;
    const T tail = __shfl_sync(all, through.sum, 31);
    open.sum = with_heads == 0 ? open.sum + tail : tail;
    open.heads += __shfl_sync(all, through.heads, 31);
  }
  if (lane != 0) return;
  if (kCut && end < x.nnz && !x.head(end))
    atomicAdd(out + open.heads, open.sum);
  else
    write(open.heads, open.sum);
}

/// Adds nonzeros begin .. end to `sum` in order, each as its value times the factors' rows, after
/// turn(index[0], output index), which may write `sum` and clear it. The output index is read where
/// kRows is set. A lane reads one nonzero a batch, one batch ahead. All groups of a warp walk as
/// far as the longest; what lies past a group's end repeats its last nonzero with value 0.
template <class T, int kLanes, int kOthers, bool kRows, class F>
__device__ void walk(const Gather<T>& x, const RowLane<T, kLanes>& group, const Index* row,
                     Count begin, Count end, Vec<T>& sum, F&& turn) {
  constexpr int kModes = kOthers > 0 ? kOthers : kMaxOther;
  const int others = kOthers > 0 ? kOthers : x.others;
  const bool active = group.column < x.stride;
  const unsigned row_bytes = x.stride * sizeof(T);
  const unsigned count = static_cast<unsigned>(end - begin);
  const unsigned longest = __reduce_max_sync(device::kWholeWarp, count);
  struct Nonzero {
    Index index[kModes], row;
    T value;
  };
  const auto read = [&](unsigned base) {
    const bool inside = base + group.lane < count;
    const Count p = inside ? begin + base + group.lane : count > 0 ? end - 1 : 0;
    Nonzero z;
#pragma unroll
    for (int k = 0; k < kModes; ++k)
      if (k < others) z.index[k] = x.index[k][p];
    z.value = inside ? x.value[p] : T(0);
    if (!inside) z.index[0] &= ~kHead;
    if constexpr (kRows) z.row = row[p];
    return z;
  };
  const auto factor_row = [&](int k, Index at) {
    const char* const first = reinterpret_cast<const char*>(x.factor[k] + group.column);
    Vec<T> v = Vec<T>::splat(T(0));
    if (active)
      v = Vec<T>::load(reinterpret_cast<const T*>(first + static_cast<Count>(at) * row_bytes));
    return v;
  };

  Nonzero next = read(0);
  for (unsigned base = 0; base < longest; base += kLanes) {
    const Nonzero mine = next;
    next = read(base + kLanes);
#pragma unroll
    for (int t = 0; t < kLanes; t += kInFlight) {
      Index first[kInFlight];
      Vec<T> product[kInFlight], factor[kInFlight];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        first[u] = group.from(mine.index[0], t + u);
        factor[u] = factor_row(0, first[u] & ~kHead);
        product[u] = Vec<T>::splat(group.from(mine.value, t + u));
      }
#pragma unroll
      for (int k = 1; k < kModes; ++k) {
        if (k >= others) continue;
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
          product[u].multiply(factor[u]);
          factor[u] = factor_row(k, group.from(mine.index[k], t + u));
        }
      }
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        Index to = 0;
        if constexpr (kRows) to = group.from(mine.row, t + u);
        turn(first[u], to);
        sum.fma(product[u], factor[u]);
      }
    }
  }
}

/// TTM and MTTKRP on segments; blockIdx.y tiles the rank. kOthers gathered modes are unrolled; 0
/// reads their number at run time.
template <class T, int kLanes, int kOthers>
__global__ void __launch_bounds__(kThreads, blocks_per_sm(kOthers))
    segments(Gather<T> x, Parts parts) {
  const RowLane<T, kLanes> group;
  const Count part = device::group_of_grid<kLanes>();
  const bool any = part < parts.count;
  const Count begin = any ? parts.bound[part] : 0, end = any ? parts.bound[part + 1] : 0;
  Count current = any ? parts.first[part] : 0;
  const bool begins = any && x.head(begin);
  bool shared = !begins, first_head = begins;
  auto sum = Vec<T>::splat(T(0));
  const auto write = [&] {
    if (group.column >= x.stride) return;
    const Count r = parts.row == nullptr ? current : parts.row[current];
    T* const to = x.out + r * x.stride + group.column;
    if (shared)
      sum.reduce_into(to);
    else
      sum.store(to);
  };
  walk<T, kLanes, kOthers, false>(x, group, nullptr, begin, end, sum, [&](Index first, Index) {
    if ((first & kHead) == 0) return;
    if (!first_head) {
      write();
      shared = false, ++current, sum = Vec<T>::splat(T(0));
    }
    first_head = false;
  });
  if (!any) return;
  shared = shared || (end < x.nnz && !x.head(end));
  write();
}

/// MTTKRP on nonzeros in any order: a group takes `chunk` consecutive ones. `out` arrives zeroed.
template <class T, int kLanes, int kOthers>
__global__ void __launch_bounds__(kThreads, blocks_per_sm(kOthers))
    runs(Gather<T> x, const Index* row, unsigned chunk) {
  const RowLane<T, kLanes> group;
  const Count first = device::group_of_grid<kLanes>() * chunk;
  const Count begin = first < x.nnz ? first : x.nnz;
  const Count end = begin + chunk < x.nnz ? begin + chunk : x.nnz;
  Index current = begin < end ? row[begin] : 0;
  auto sum = Vec<T>::splat(T(0));
  const auto write = [&] {
    if (group.column < x.stride)
      sum.reduce_into(x.out + static_cast<Count>(current) * x.stride + group.column);
  };
  walk<T, kLanes, kOthers, true>(x, group, row, begin, end, sum, [&](Index, Index to) {
    if (to == current || begin == end) return;
    write();
    current = to, sum = Vec<T>::splat(T(0));
  });
  if (begin < end) write();
}

}  // namespace retensor::pasta::tuned
