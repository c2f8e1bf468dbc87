// tca_spmm.cuda.gather: sparse times dense matrix by rows of S that gather rows of D from the
// caches, this project's own form where S has too few nonzeros near each other for tiles and
// panels, and D is large.
//
// A group of lanes takes a row of S and some columns of D, 16 bytes a lane. Nothing passes through
// shared memory, and sums are in single precision. Rows of a warp are of similar length, the
// longest first. There are two walks:
//   passed  Eight lanes take 64 columns. A lane reads one of eight nonzeros and passes it on to the
//           others; the next eight are read before the rows of D of those at hand arrive. Thread
//           blocks of the same columns begin one after another, so that what gathers use at a time
//           are 128 bytes of each row of D: for N = 128 the half of D, which an L2 cache holds
//           where it does not hold all.
//   each    16 lanes take 128 columns, and each lane reads all nonzeros, four at a time: for rows
//           that are too short to be divided between lanes.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/core/types.hpp"
#include "common/device/device.hpp"
#include "common/numeric/rounding.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/kernels/prepare_cuda.hpp"
#include "papers/tca_spmm/kernels/ptx_cuda.cuh"
#include "papers/tca_spmm/kernels/run_cuda.cuh"

namespace retensor::tca_spmm {

/// Of a thread block, and blocks of a multiprocessor that registers shall allow for.
inline constexpr unsigned kGatherThreads = 128, kGatherBlocks = 7;
inline constexpr unsigned kHalvesOfVector = 8;  ///< 16 bytes
/// Lanes of a row in either walk.
inline constexpr unsigned kPassedLanes = 8, kEachLanes = 16;

/// A row of S: its first nonzero, their count, and its number.
struct alignas(16) GatherRow {
  Index begin, length, number, unused;
};
/// A nonzero: where its row of D begins, in vectors of 16 bytes, and its value.
struct alignas(8) GatherEntry {
  Index place;
  float value;
};

struct GatherOperands {
  const GatherRow* rows = nullptr;  ///< as thread blocks take them
  const GatherEntry* entries = nullptr;
  const uint4* dense = nullptr;
  void* out = nullptr;
  unsigned row_count = 0;
  unsigned vectors = 0;  ///< in a row of D and, of halves, of O
  bool half_output = false;
};

__device__ inline GatherEntry gather_entry(const GatherOperands& x, Index at) {
  const uint2 bits = __ldg(reinterpret_cast<const uint2*>(x.entries + at));
  return {bits.x, __uint_as_float(bits.y)};
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

/// A row by kPassedLanes lanes; all lanes of a warp come here together.
__device__ inline void gather_passed(const GatherOperands& x, const GatherRow& row,
                                     const uint4* dense, GatherSums& sums) {
  constexpr int kLanes = kPassedLanes;
  const unsigned lane = threadIdx.x % kPassedLanes;
  const Index end = row.begin + row.length;
  const auto read = [&](Index first) {
    return first + lane < end ? gather_entry(x, first + lane) : GatherEntry{0, 0};
  };
  const unsigned steps = __reduce_max_sync(kWholeWarp, (row.length + kLanes - 1) / kLanes);
  GatherEntry next = read(row.begin);
  for (unsigned step = 0; step < steps; ++step) {
    const Index first = row.begin + step * kLanes;
    const GatherEntry own = next;
    next = read(first + kLanes);
    uint4 rows[kLanes];
    float value[kLanes];
#pragma unroll
    for (int e = 0; e < kLanes; ++e) {
      const Index place = device::of_lane<kLanes>(own.place, e);
      value[e] = device::of_lane<kLanes>(own.value, e);
      rows[e] = first + e < end ? __ldg(dense + place) : uint4{};
    }
#pragma unroll
    for (int e = 0; e < kLanes; ++e) sums.add(value[e], rows[e]);
  }
}

/// A row of which each lane reads all nonzeros.
__device__ inline void gather_each(const GatherOperands& x, const GatherRow& row,
                                   const uint4* dense, GatherSums& sums) {
  constexpr int kAtOnce = 4;
  const Index end = row.begin + row.length;
  for (Index first = row.begin; first < end; first += kAtOnce) {
    uint4 rows[kAtOnce];
    float value[kAtOnce];
#pragma unroll
    for (int e = 0; e < kAtOnce; ++e) {
      const bool is_own = first + e < end;
      const GatherEntry entry = is_own ? gather_entry(x, first + e) : GatherEntry{0, 0};
      value[e] = entry.value;
      rows[e] = is_own ? __ldg(dense + entry.place) : uint4{};
    }
#pragma unroll
    for (int e = 0; e < kAtOnce; ++e) sums.add(value[e], rows[e]);
  }
}

template <bool kPassed>
__global__ void __launch_bounds__(kGatherThreads, kGatherBlocks)
    gather_rows(const GatherOperands x) {
  constexpr unsigned kLanes = kPassed ? kPassedLanes : kEachLanes;
  const unsigned at = (blockIdx.x * kGatherThreads + threadIdx.x) / kLanes;
  const GatherRow row = at < x.row_count ? x.rows[at] : GatherRow{};
  const unsigned vector = blockIdx.y * kLanes + threadIdx.x % kLanes;
  // A lane beyond D's columns reads others, and stores nothing.
  const uint4* const dense = x.dense + (vector < x.vectors ? vector : 0);
  GatherSums sums;
  if constexpr (kPassed)
    gather_passed(x, row, dense, sums);
  else
    gather_each(x, row, dense, sums);
  if (at < x.row_count && vector < x.vectors)
    store_eight(x.out, x.half_output, (Count{row.number} * x.vectors + vector) * kHalvesOfVector,
                sums.of);
}

namespace {

/// The longest first.
std::vector<GatherRow> gather_rows_of(const Csr& s) {
  std::vector<GatherRow> rows(s.rows);
  for (Count r = 0; r < s.rows; ++r)
    rows[r] = {static_cast<Index>(s.row_start[r]),
               static_cast<Index>(s.row_start[r + 1] - s.row_start[r]), static_cast<Index>(r), 0};
  std::stable_sort(rows.begin(), rows.end(),
                   [](const GatherRow& a, const GatherRow& b) { return a.length > b.length; });
  return rows;
}

/// Values rounded to halves.
std::vector<GatherEntry> gather_entries_of(const Csr& s, Count vectors) {
  std::vector<GatherEntry> entries(s.nnz());
  const auto values = s.values.as<float>();
  for (Count p = 0; p < entries.size(); ++p)
    entries[p] = {static_cast<Index>(s.columns[p] * vectors),
                  from_fp16_bits(to_fp16_bits(values[p]))};
  return entries;
}

class GatherRun : public SpmmRun {
 public:
  GatherRun(const Problem& problem, Element output, bool passed, const Csr& s)
      : SpmmRun(problem, "rows of D gathered for a row of S", {Element::half, output}),
        s_rows_(gather_rows_of(s)),
        entries_(gather_entries_of(s, d_.stride / kHalvesOfVector)) {
    count_bytes(s_rows_, entries_);
    x_.rows = s_rows_.data(), x_.entries = entries_.data();
    x_.dense = reinterpret_cast<const uint4*>(d_.values.data());
    x_.out = out_.data(), x_.row_count = static_cast<unsigned>(rows_);
    x_.vectors = static_cast<unsigned>(d_.stride / kHalvesOfVector);
    x_.half_output = output_ == Element::half;
    kernel_ = passed ? gather_rows<true> : gather_rows<false>;
    lanes_ = passed ? kPassedLanes : kEachLanes;
    executed_["walk"] = passed ? "passed" : "each";
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const dim3 grid(device::blocks_for(rows_ * lanes_, kGatherThreads),
                    device::blocks_for(width_, lanes_ * kHalvesOfVector));
    RETENSOR_CUDA_LAUNCH(kernel_, grid, kGatherThreads, 0, stream_of(timer), x_);
  }

 private:
  const Buffer<GatherRow> s_rows_;
  const Buffer<GatherEntry> entries_;
  GatherOperands x_;
  void (*kernel_)(GatherOperands) = nullptr;
  unsigned lanes_ = 0;
};

}  // namespace

std::unique_ptr<Prepared> prepare_gather_cuda(const Problem& problem, const Params& params) {
  const Csr s = to_csr(problem.x());
  const std::string& walk = params.word("walk");
  const bool passed = walk == "auto" ? s.nnz() >= kPassedLanes * s.rows : walk == "passed";
  return std::make_unique<GatherRun>(problem, output_of(params), passed, s);
}

}  // namespace retensor::tca_spmm
