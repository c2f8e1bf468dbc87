// F-COO's MTTKRP (the paper's unified kernel with the product of all product modes' rows): a group
// of lanes, 16 bytes of a row each (common/run/csf_run.cuh), is the paper's thread with its
// columns and takes a part.
//
// 1. It adds up its nonzeros; where one begins a segment, the sum so far is that of the segment
//    before. A segment that lies inside the part is stored.
// 2. The sum that is open at the end of each part goes through a segmented scan over the thread
//    block: first by shuffles over the groups of a warp, then over the warps' last sums in shared
//    memory. A part gets what the parts before it have of the segment that it goes on with.
// 3. A segment that began in the thread block and ends in it is stored where it ends. What began
//    before or goes on after the block is added by atomics.
#pragma once

#include <cstdint>

#include "common/baselines/f_coo/f_coo_cuda.hpp"
#include "common/device/warp.cuh"
#include "common/run/csf_run.cuh"

namespace retensor::f_coo {

using device::Vec;

inline constexpr unsigned kWarps = csf::kThreads / 32;

/// F-COO on the device. The arrays of the nonzeros are padded by zeros to whole parts and one batch
/// of kQuad more, which is read ahead. Rows of factors and output are `stride` elements apart.
template <class T>
struct Device {
  const Index* other[kMaxOther] = {};
  const T* factor[kMaxOther] = {};
  const T* value = nullptr;
  const std::uint32_t *start = nullptr, *part_start = nullptr;  ///< bf, sf
  const Index *part_segment = nullptr, *row = nullptr;
  T* out = nullptr;
  Count parts = 0;
  unsigned part_length = 0;  ///< a multiple of kQuad
  unsigned stride = 0;
  int others = 0;

  __device__ bool part_starts(Count part) const {
    return (__ldg(part_start + part / 32) >> part % 32 & 1) != 0;
  }
};

/// kOthers product modes are unrolled; 0 reads their number at run time.
template <int kOthers>
inline constexpr int kProducts = kOthers > 0 ? kOthers : kMaxOther;

/// Nonzeros whose factor rows are in flight at a time, as many as registers hold.
template <int kOthers>
inline constexpr int kInFlight = kOthers == 0   ? 1
                                 : kOthers == 3 ? 2
                                                : 4;

/// kQuad consecutive nonzeros.
template <class T, int kOthers>
struct Quad {
  Index index[kProducts<kOthers>][kQuad];
  T value[kQuad];
  unsigned starts;

  __device__ Quad(const Device<T>& x, Count first) {
#pragma unroll
    for (int k = 0; k < kProducts<kOthers>; ++k)
      if (k < kOthers || k < x.others) {
        const auto i = __ldg(reinterpret_cast<const uint4*>(x.other[k] + first));
        index[k][0] = i.x, index[k][1] = i.y, index[k][2] = i.z, index[k][3] = i.w;
      }
#pragma unroll
    for (int e = 0; e < kQuad; e += Vec<T>::kWidth)
      Vec<T>::load(x.value + first + e).store(value + e);
    starts = __ldg(x.start + first / 32) >> first % 32;
  }
};

/// The sums of a part: `head` of the segment that it goes on with, `open` of the one at its end.
template <class T, int kLanes, int kOthers>
class PartSums {
 public:
  __device__ PartSums(const Device<T>& x, const csf::Lane<T, kLanes>& lane, Count part,
                      unsigned length)
      : starts(x.part_starts(part)),
        first_segment(__ldg(x.part_segment + part)),
        segment(first_segment),
        x_(x),
        lane_(lane) {
    const bool goes_on = !starts;
    Count first = part * x.part_length;
    Quad<T, kOthers> next(x, first);
    next.starts &= ~1u;  // `starts` stands for it
    for (unsigned i = 0; i < length; i += kQuad) {
      const Quad<T, kOthers> quad = next;
      next = Quad<T, kOthers>(x, first += kQuad);
      add(quad);
    }
    closes_head = goes_on && starts;
  }

  bool starts;               ///< a segment begins in the part
  bool closes_head = false;  ///< the part goes on with a segment that ends inside it
  const Index first_segment;
  Index segment;  ///< at the end
  Vec<T> head = Vec<T>::splat(T(0)), open = Vec<T>::splat(T(0));

 private:
  __device__ void add(const Quad<T, kOthers>& quad) {
    const int others = kOthers > 0 ? kOthers : x_.others;
#pragma unroll
    for (int t = 0; t < kQuad; t += kInFlight<kOthers>) {
      Vec<T> row[kProducts<kOthers>][kInFlight<kOthers>];
#pragma unroll
      for (int k = 0; k < kProducts<kOthers>; ++k)
#pragma unroll
        for (int u = 0; u < kInFlight<kOthers>; ++u)
          if (k < others) row[k][u] = lane_.load(x_.factor[k], quad.index[k][t + u]);
#pragma unroll
      for (int u = 0; u < kInFlight<kOthers>; ++u) {
        if ((quad.starts >> (t + u) & 1) != 0) turn();
        auto product = Vec<T>::splat(quad.value[t + u]);
#pragma unroll
        for (int k = 1; k < kProducts<kOthers>; ++k)
          if (k < others) product.multiply(row[k][u]);
        open.fma(product, row[0][u]);
      }
    }
  }
  __device__ void turn() {
    if (!starts)
      head = open;
    else if (lane_.inside)
      open.store(x_.out + static_cast<Count>(__ldg(x_.row + segment)) * x_.stride + lane_.column);
    starts = true, ++segment, open = Vec<T>::splat(T(0));
  }

  const Device<T>& x_;
  const csf::Lane<T, kLanes>& lane_;
};

/// The open sum over parts of the block, and whether its segment begins among them.
template <class T>
struct Carry {
  Vec<T> sum;
  bool starts;

  __device__ void put_before(const Carry& earlier) {
    if (starts) return;
    sum.add(earlier.sum);
    starts = earlier.starts;
  }
  /// That of the lane `distance` below; all lanes take part.
  __device__ Carry from_below(unsigned distance) const {
    Carry below;
    const T* const from = reinterpret_cast<const T*>(&sum);
    T* const to = reinterpret_cast<T*>(&below.sum);
#pragma unroll
    for (unsigned e = 0; e < Vec<T>::kWidth; ++e)
      to[e] = __shfl_up_sync(device::kWholeWarp, from[e], distance);
    below.starts = __shfl_up_sync(device::kWholeWarp, starts, distance);
    return below;
  }
};

/// Makes `own` the sum up to this group and returns that up to the group before, both counted from
/// the first group of the block.
template <class T, int kLanes>
__device__ Carry<T> scan_block(Carry<T>& own) {
  __shared__ uint4 last_sum[kWarps][kLanes];
  __shared__ bool last_starts[kWarps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (unsigned distance = kLanes; distance < 32; distance *= 2) {
    const Carry<T> below = own.from_below(distance);
    if (lane >= distance) own.put_before(below);
  }
  Carry<T> before = own.from_below(kLanes);
  if (lane < kLanes) before = {Vec<T>::splat(T(0)), false};
  if (lane >= 32 - kLanes) {
    own.sum.store(reinterpret_cast<T*>(&last_sum[warp][lane % kLanes]));
    last_starts[warp] = own.starts;
  }
  __syncthreads();
  Carry<T> carried = {Vec<T>::splat(T(0)), false};
  for (unsigned w = warp; w-- > 0 && !carried.starts;) {
    Vec<T> sum = *reinterpret_cast<const Vec<T>*>(&last_sum[w][lane % kLanes]);
    carried.put_before({sum, last_starts[w]});
  }
  before.put_before(carried);
  own.put_before(carried);
  return before;
}

/// Places the sum of a segment that ends in the block, or leaves it.
template <class T, int kLanes>
__device__ void place(const Device<T>& x, const csf::Lane<T, kLanes>& lane, const Vec<T>& sum,
                      Index segment, bool whole) {
  const Index row = __ldg(x.row + segment);
  if (!whole)
    lane.reduce(sum, x.out, row);
  else if (lane.inside)
    sum.store(x.out + static_cast<Count>(row) * x.stride + lane.column);
}

template <class T, int kLanes, int kOthers>
__global__ void __launch_bounds__(csf::kThreads) mttkrp(Device<T> x) {
  const csf::Lane<T, kLanes> lane(x.stride);
  const Count part = csf::group_of_grid<kLanes>();
  const bool idle = part >= x.parts;
  // Idle groups take part in the scan.
  PartSums<T, kLanes, kOthers> mine(x, lane, idle ? x.parts - 1 : part, idle ? 0 : x.part_length);
  Carry<T> own = {mine.open, mine.starts};
  const Carry<T> before = scan_block<T, kLanes>(own);
  if (idle) return;
  if (mine.closes_head) {
    Vec<T> sum = mine.head;
    sum.add(before.sum);
    place(x, lane, sum, mine.first_segment, before.starts);
  }
  const bool ends = x.part_starts(part + 1);
  const bool last = threadIdx.x / kLanes == csf::kThreads / kLanes - 1;
  if (ends)
    place(x, lane, own.sum, mine.segment, own.starts);
  else if (last)
    lane.reduce(own.sum, x.out, __ldg(x.row + mine.segment));
}

}  // namespace retensor::f_coo
