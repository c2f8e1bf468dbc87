// Sparse times dense matrix by rows of S that gather rows of D from the caches: this project's own
// form where S has too few nonzeros near each other for tiles and panels.
//
// Eight lanes take a row of S, or one of kParts shares of it, and 64 columns of D, 16 bytes of a
// row each. A lane reads one of eight nonzeros and passes it on to the others; the next eight are
// read before the rows of D of those at hand arrive. Nothing passes through shared memory. Sums are
// in single precision. Rows of a warp are of similar length, the longest first. Thread blocks of
// the same 64 columns begin one after another, so that what gathers use at a time are 128 bytes of
// each row of D: for N = 128 the half of D, which an L2 cache holds where it does not hold all.
#pragma once

#include <cstdint>

#include "common/core/types.hpp"
#include "papers/tca_spmm/kernels/ptx_cuda.cuh"

namespace retensor::tca_spmm {

/// Of a thread block, and blocks of a multiprocessor that registers shall allow for.
inline constexpr unsigned kGatherThreads = 128, kGatherBlocks = 7;
inline constexpr unsigned kGatherLanes = 8;     ///< of a share of a row
inline constexpr unsigned kHalvesOfVector = 8;  ///< 16 bytes
inline constexpr unsigned kGatherColumns = kGatherLanes * kHalvesOfVector;

/// A row of S: its first nonzero, their count, and its number.
struct alignas(16) GatherRow {
  Index begin, length, number, unused;
};

/// What the kernel gets. C: type of S's columns.
template <class C>
struct GatherOperands {
  const GatherRow* rows = nullptr;  ///< as thread blocks take them
  const C* columns = nullptr;
  const std::uint16_t* values = nullptr;
  const uint4* dense = nullptr;
  void* out = nullptr;
  unsigned row_count = 0;
  unsigned vectors =
      0;  ///< of 16 bytes in a row of D and, of halves, of O; all of D has below 2^32
  bool half_output = false;
};

/// A nonzero: where its row of D begins, in vectors, and its value.
struct GatherEntry {
  Index place;
  float value;
};

template <class C>
__device__ GatherEntry entry_at(const GatherOperands<C>& x, Index at) {
  return {static_cast<Index>(__ldg(x.columns + at)) * x.vectors,
          __half2float(__ushort_as_half(__ldg(x.values + at)))};
}

/// The sums of a lane: eight columns.
struct GatherSums {
  float of[kHalvesOfVector] = {};
  __device__ void add(float s, const uint4& row) {
    const std::uint32_t pairs[4] = {row.x, row.y, row.z, row.w};
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float2 d = to_floats(pairs[p]);
      of[2 * p] = fmaf(s, d.x, of[2 * p]);
      of[2 * p + 1] = fmaf(s, d.y, of[2 * p + 1]);
    }
  }
};

template <class C, unsigned kParts>
__global__ void __launch_bounds__(kGatherThreads, kGatherBlocks)
    gather_rows(const GatherOperands<C> x) {
  constexpr unsigned kRowLanes = kGatherLanes * kParts;
  const unsigned lane = threadIdx.x % kGatherLanes, part = threadIdx.x % kRowLanes / kGatherLanes;
  const unsigned at = (blockIdx.x * kGatherThreads + threadIdx.x) / kRowLanes;
  const GatherRow row = at < x.row_count ? x.rows[at] : GatherRow{};
  const Index end = row.begin + row.length;
  const unsigned vector = blockIdx.y * kGatherLanes + lane;
  // A lane beyond D's columns reads others, and stores nothing.
  const uint4* const dense = x.dense + (vector < x.vectors ? vector : 0);

  const auto read = [&](Index first) {
    return first + lane < end ? entry_at(x, first + lane) : GatherEntry{0, 0};
  };
  const unsigned steps = (row.length + kGatherLanes - 1) / kGatherLanes;
  const unsigned most = __reduce_max_sync(kWholeWarp, steps);
  GatherSums sums;
  GatherEntry next = read(row.begin + part * kGatherLanes);
  for (unsigned step = part; step < most + part; step += kParts) {
    const Index first = row.begin + step * kGatherLanes;
    const GatherEntry own = next;
    next = read(first + kRowLanes);
    uint4 gathered[kGatherLanes];
    float value[kGatherLanes];
#pragma unroll
    for (int e = 0; e < static_cast<int>(kGatherLanes); ++e) {
      const Index place = device::of_lane<kGatherLanes>(own.place, e);
      value[e] = device::of_lane<kGatherLanes>(own.value, e);
      gathered[e] = first + e < end ? __ldg(dense + place) : uint4{};
    }
#pragma unroll
    for (unsigned e = 0; e < kGatherLanes; ++e) sums.add(value[e], gathered[e]);
  }
#pragma unroll
  for (unsigned distance = kGatherLanes; distance < kRowLanes; distance *= 2)
#pragma unroll
    for (float& sum : sums.of) sum += __shfl_xor_sync(kWholeWarp, sum, distance);
  if (part == 0 && at < x.row_count && vector < x.vectors)
    store_eight(x.out, x.half_output, (Count{row.number} * x.vectors + vector) * kHalvesOfVector,
                sums.of);
}

}  // namespace retensor::tca_spmm
