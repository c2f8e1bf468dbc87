// O = S D with S as panels (format/panels.hpp): a thread block gathers each row of D that its panel
// needs once, 64 columns of it, and every group of eight rows of S multiplies what it has nonzeros
// for.
//
// Four warps load: rows of D go through a ring of stages in shared memory (cp.async), in the order
// of the panel's list. Sixteen warps multiply, one or two a group, each a block of 16 columns x 8
// rows of S at a time: D transposed is the MMA's left operand, so a lane loads 16 bytes, eight
// columns, of each of four rows of D, pairs along columns become pairs along rows by one byte
// permutation each, and the block is the right operand as it stands in memory. A lane ends with
// eight neighbouring outputs of two rows. Barriers of each stage let warps run ahead of each other
// as far as the ring reaches.
//
// A panel of more work than a multiprocessor's share is divided by stages into several tasks. Their
// sums go through global memory; the thread block that comes last adds them up in the tasks' order.
#pragma once

#include "common/core/types.hpp"
#include "common/device/cuda.cuh"
#include "papers/tca_spmm/format/panel_tasks.hpp"
#include "papers/tca_spmm/format/panels.hpp"
#include "papers/tca_spmm/kernels/pipeline_cuda.cuh"
#include "papers/tca_spmm/kernels/ptx_cuda.cuh"

namespace retensor::tca_spmm {

inline constexpr unsigned kMultipliers = 16, kLoaders = 4;  ///< warps of a thread block
inline constexpr unsigned kPanelThreads = (kMultipliers + kLoaders) * kWarpSize;
inline constexpr unsigned kPanelColumns = kStageRowBytes / 2;  ///< of D
inline constexpr unsigned kStageBytes = kStageColumns * kStageRowBytes;
inline constexpr unsigned kMostStages = 6;  ///< of the ring
/// Blocks that a warp has loaded before it needs them.
inline constexpr unsigned kAhead = 4;

/// In front of the ring.
struct PanelMemory {
  Barrier full[kMostStages], empty[kMostStages];
  unsigned last;  ///< whether the thread block adds up the sums of all parts
};
inline constexpr unsigned kPanelMemory = 128;
static_assert(sizeof(PanelMemory) <= kPanelMemory);
/// One stage is loaded while another is multiplied.
static_assert(kPanelMemory + 2 * kStageBytes <= device::kSharedOfEveryChip);

struct DevicePanels {
  const PanelTask* tasks = nullptr;
  const Index *row_order = nullptr, *columns = nullptr, *block_start = nullptr;
  const RowBlock* blocks = nullptr;
  const std::uint16_t* dense = nullptr;
  Count dense_stride = 0;
  void* out = nullptr;
  Count out_stride = 0;
  bool half_output = false;
  float4* sums = nullptr;
  unsigned* arrived = nullptr;  ///< by panel and block of columns, zero before and after
  unsigned across = 0;          ///< blocks of columns
  unsigned ring = 0;            ///< stages in shared memory
};

inline constexpr unsigned kProducts = kPanelColumns / kBlockColumns;  ///< MMAs of a block
using PanelSums = float[kProducts][4];
template <unsigned kGroups>
inline constexpr unsigned kTeam = kMultipliers / kGroups;  ///< warps of a group
static_assert(kAhead * kTeam<kFewGroups> <= kReadAhead);

__device__ inline unsigned warp_of_block() {
  return threadIdx.x / kWarpSize;
}
__device__ inline unsigned lane_of_warp() {
  return threadIdx.x % kWarpSize;
}
__device__ inline void meet_multipliers() {
  meet(1, kMultipliers * kWarpSize);
}
__device__ inline PanelMemory& panel_memory() {
  return *reinterpret_cast<PanelMemory*>(block_memory());
}
__device__ inline char* stage_memory(unsigned slot) {
  return block_memory() + kPanelMemory + slot * kStageBytes;
}
/// The block of columns of D that a thread block takes.
__device__ inline unsigned column_block(const DevicePanels& p) {
  return blockIdx.x % p.across;
}

/// Rows of D, by the loading warp of that number.
__device__ inline void load_stages(const DevicePanels& p, const PanelTask& task, unsigned loader) {
  constexpr unsigned kLoaderRows = kStageColumns / kLoaders, kRowVectors = kStageRowBytes / 16;
  constexpr unsigned kRowsAtOnce = kWarpSize / kRowVectors;
  if (task.stages == 0) return;
  const unsigned lane = lane_of_warp(), r = lane / kRowVectors, v = lane % kRowVectors;
  const Index* columns =
      p.columns + Count{task.first_stage} * kStageColumns + loader * kLoaderRows + lane;
  const Count at = column_block(p) * kPanelColumns + 8 * v;
  const bool inside = at < p.dense_stride;
  const std::uint16_t* const dense = p.dense + (inside ? at : 0);
  const unsigned place = place_in_stage(loader * kLoaderRows + r) ^ v * 16;
  Index low = __ldg(columns), high = __ldg(columns + kWarpSize);
  RingPlace ring;
  for (Index s = 0; s < task.stages; ++s) {
    const Index now[2] = {low, high};
    columns += kStageColumns;
    if (s + 1 < task.stages) low = __ldg(columns), high = __ldg(columns + kWarpSize);
    wait_for(&panel_memory().empty[ring.slot], ring.parity ^ 1);
    char* const to = stage_memory(ring.slot) + place;
#pragma unroll
    for (unsigned k = 0; k < kLoaderRows; k += kRowsAtOnce) {
      const Index row = __shfl_sync(kWholeWarp, now[k / kWarpSize], k % kWarpSize + r);
      if (row != kNone)
        copy_async(to + k * kStageRowBytes, dense + row * p.dense_stride, inside ? 16 : 0);
    }
    arrive_after_copies(&panel_memory().full[ring.slot]);
    ring.advance(p.ring);
  }
}

/// What a lane holds of a RowBlock.
struct BlockPart {
  uint2 values, places;
};

__device__ inline BlockPart load_block(const DevicePanels& p, Index block) {
  const RowBlock& from = p.blocks[block];
  return {__ldg(reinterpret_cast<const uint2*>(from.values[lane_of_warp()])),
          __ldg(reinterpret_cast<const uint2*>(from.places[lane_of_warp() % 4]))};
}

/// Of the four rows of D of a lane the words w hold columns 8 (lane / 4) + 2 w and the next: rows
/// lane / 4 and 8 further on of the w-th left operand.
__device__ inline void multiply_block(PanelSums& sums, const char* rows, const BlockPart& block) {
  const std::uint32_t turn = lane_of_warp() / 4 * 0x100010;
  const std::uint32_t places[2] = {block.places.x ^ turn, block.places.y ^ turn};
  std::uint32_t d[4][kProducts];
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t place = i % 2 == 0 ? places[i / 2] & 0xffff : places[i / 2] >> 16;
    const uint4 part = *reinterpret_cast<const uint4*>(rows + place);
    d[i][0] = part.x, d[i][1] = part.y, d[i][2] = part.z, d[i][3] = part.w;
  }
  const Right<16> s{{block.values.x, block.values.y}};
#pragma unroll
  for (unsigned w = 0; w < kProducts; ++w)
    multiply_add(
        sums[w],
        Left<16>{{__byte_perm(d[0][w], d[1][w], 0x5410), __byte_perm(d[0][w], d[1][w], 0x7632),
                  __byte_perm(d[2][w], d[3][w], 0x5410), __byte_perm(d[2][w], d[3][w], 0x7632)}},
        s);
}

/// Adds up the products of the group's blocks: those of the warp, every kTeam-th.
template <unsigned kGroups>
__device__ void multiply_stages(const DevicePanels& p, const PanelTask& task, PanelSums& sums) {
  constexpr unsigned kStep = kTeam<kGroups>;
  if (task.stages == 0) return;
  const unsigned warp = warp_of_block(), lane = lane_of_warp();
  const Index* const starts = p.block_start + task.starts + Count{warp / kStep} * task.group_starts;
  Index block = starts[0] + warp % kStep;
  BlockPart ahead[kAhead];
#pragma unroll
  for (unsigned a = 0; a < kAhead; ++a) ahead[a] = load_block(p, block + a * kStep);
  RingPlace ring;
  Index stage = 0, end = 0, ends = 0;  // where the stage's blocks end; of 32 stages, a lane each
  const auto begin_stage = [&] {
    if (stage % kWarpSize == 0 && stage + lane < task.stages)
      ends = __ldg(starts + stage + lane + 1);
    end = __shfl_sync(kWholeWarp, ends, static_cast<int>(stage % kWarpSize));
    wait_for(&panel_memory().full[ring.slot], ring.parity);
  };
  begin_stage();
  for (;;)
#pragma unroll
    for (unsigned a = 0; a < kAhead; ++a) {
      while (block >= end) {
        __syncwarp();
        if (lane == 0) arrive(&panel_memory().empty[ring.slot]);
        ring.advance(p.ring);
        if (++stage == task.stages) return;
        begin_stage();
      }
      multiply_block(sums, stage_memory(ring.slot), ahead[a]);
      ahead[a] = load_block(p, block + kAhead * kStep);
      block += kStep;
    }
}

__device__ inline void add(float (&sum)[4], const float4& v) {
  sum[0] += v.x, sum[1] += v.y, sum[2] += v.z, sum[3] += v.w;
}
__device__ inline float4 vector_of(const float (&sum)[4]) {
  return make_float4(sum[0], sum[1], sum[2], sum[3]);
}

/// The sums of a group's warps, for the first of them.
template <unsigned kGroups>
__device__ void add_team(PanelSums& sums) {
  const unsigned warp = warp_of_block();
  const auto kept = [](unsigned of_warp, unsigned w) {  // in the ring, a lane's own
    return reinterpret_cast<float4*>(stage_memory(0)) + (of_warp * kProducts + w) * kWarpSize +
           lane_of_warp();
  };
  meet_multipliers();  // all stages have been read
#pragma unroll
  for (unsigned w = 0; w < kProducts; ++w) *kept(warp, w) = vector_of(sums[w]);
  meet_multipliers();
  if (warp % kTeam<kGroups> != 0) return;
  for (unsigned other = 1; other < kTeam<kGroups>; ++other)
#pragma unroll
    for (unsigned w = 0; w < kProducts; ++w) add(sums[w], *kept(warp + other, w));
}

/// Leaves the sums of this part; the thread block that comes last has those of all parts and
/// returns true.
template <unsigned kGroups>
__device__ bool add_parts(const DevicePanels& p, const PanelTask& task, PanelSums& sums) {
  const unsigned group = warp_of_block() / kTeam<kGroups>;
  const auto at = [&](Index part, unsigned w) {
    return p.sums +
           (((Count{task.sums} + part) * p.across + column_block(p)) * kGroups + group) *
               (kProducts * kWarpSize) +
           w * kWarpSize + lane_of_warp();
  };
  const bool first = warp_of_block() % kTeam<kGroups> == 0;
#pragma unroll
  for (unsigned w = 0; w < kProducts; ++w)
    if (first) *at(task.part, w) = vector_of(sums[w]);
  __threadfence();
  meet_multipliers();
  if (threadIdx.x == 0) {
    unsigned* const arrived = p.arrived + Count{task.panel} * p.across + column_block(p);
    panel_memory().last = atomicAdd(arrived, 1u) + 1 == task.parts;
    if (panel_memory().last) *arrived = 0;
    __threadfence();
  }
  meet_multipliers();
  if (!panel_memory().last || !first) return false;
#pragma unroll
  for (float(&sum)[4] : sums) sum[0] = sum[1] = sum[2] = sum[3] = 0;
  for (Index part = 0; part < task.parts; ++part)
#pragma unroll
    for (unsigned w = 0; w < kProducts; ++w) add(sums[w], __ldcg(at(part, w)));
  return true;
}

/// Of rows 2 (lane % 4) and the next of the group the eight columns from 8 (lane / 4) on.
template <unsigned kGroups>
__device__ void store_rows(const DevicePanels& p, const PanelTask& task, const PanelSums& sums) {
  const unsigned lane = lane_of_warp(), group = warp_of_block() / kTeam<kGroups>;
  const Count column = column_block(p) * kPanelColumns + lane / 4 * 8;
  if (column >= p.out_stride) return;
  const Index* const order =
      p.row_order + (Count{task.panel} * kGroups + group) * kGroupRows + lane % 4 * 2;
#pragma unroll
  for (unsigned r = 0; r < 2; ++r) {
    const Index row = order[r];
    if (row == kNone) continue;
    float of_row[2 * kProducts];
#pragma unroll
    for (unsigned w = 0; w < kProducts; ++w)
      of_row[2 * w] = sums[w][r], of_row[2 * w + 1] = sums[w][2 + r];
    store_eight(p.out, p.half_output, row * p.out_stride + column, of_row);
  }
}

template <unsigned kGroups>
__global__ void __launch_bounds__(kPanelThreads, 1) multiply_panels(const DevicePanels p) {
  const PanelTask task = p.tasks[blockIdx.x / p.across];
  const unsigned warp = warp_of_block();
  if (threadIdx.x < p.ring) {
    make_barrier(&panel_memory().full[threadIdx.x], kLoaders * kWarpSize);
    make_barrier(&panel_memory().empty[threadIdx.x], kMultipliers);
  }
  __syncthreads();
  if (warp >= kMultipliers) return load_stages(p, task, warp - kMultipliers);
  PanelSums sums = {};
  multiply_stages<kGroups>(p, task, sums);
  if (kTeam < kGroups >> 1) add_team<kGroups>(sums);
  if (task.parts > 1 && !add_parts<kGroups>(p, task, sums)) return;
  if (warp % kTeam<kGroups> == 0) store_rows<kGroups>(p, task, sums);
}

}  // namespace retensor::tca_spmm
