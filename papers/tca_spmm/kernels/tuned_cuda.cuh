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

template <unsigned kGroups>
class PanelProduct {
  static constexpr unsigned kTeam = kMultipliers / kGroups;  ///< warps of a group
  static_assert(kAhead * kTeam <= kReadAhead);
  static constexpr unsigned kProducts = kPanelColumns / kBlockColumns;
  static constexpr unsigned kLoaderRows = kStageColumns / kLoaders;
  static constexpr unsigned kRowVectors = kStageRowBytes / 16;
  static constexpr unsigned kRowsAtOnce = kWarpSize / kRowVectors;

  /// What a lane holds of a RowBlock.
  struct Operand {
    uint2 values, places;
  };

 public:
  __device__ explicit PanelProduct(const DevicePanels& p)
      : p_(p),
        task_(p.tasks[blockIdx.x / p.across]),
        first_column_(blockIdx.x % p.across * kPanelColumns),
        warp_(threadIdx.x / kWarpSize),
        lane_(threadIdx.x % kWarpSize),
        memory_(reinterpret_cast<PanelMemory*>(block_memory())) {}

  __device__ void run() {
    if (threadIdx.x < p_.ring) {
      make_barrier(&memory_->full[threadIdx.x], kLoaders * kWarpSize);
      make_barrier(&memory_->empty[threadIdx.x], kMultipliers);
    }
    __syncthreads();
    if (warp_ >= kMultipliers) return load_stages(warp_ - kMultipliers);
    multiply_stages();
    if (kTeam > 1) add_team();
    if (task_.parts > 1 && !add_parts()) return;
    if (warp_ % kTeam == 0) store();
  }

 private:
  __device__ char* stage(unsigned slot) const {
    return block_memory() + kPanelMemory + slot * kStageBytes;
  }
  /// Sixteen bytes of a warp's sums, a lane each, in the ring.
  __device__ float4* kept_sums(unsigned warp, unsigned w) const {
    return reinterpret_cast<float4*>(stage(0)) + (warp * kProducts + w) * kWarpSize + lane_;
  }

  /// Rows of D, by the loading warp of that number.
  __device__ void load_stages(unsigned loader) const {
    if (task_.stages == 0) return;
    const Index* columns =
        p_.columns + Count{task_.first_stage} * kStageColumns + loader * kLoaderRows + lane_;
    const unsigned r = lane_ / kRowVectors, v = lane_ % kRowVectors;
    const Count at = first_column_ + 8 * v;
    const bool inside = at < p_.dense_stride;
    const std::uint16_t* const dense = p_.dense + (inside ? at : 0);
    const unsigned place = place_in_stage(loader * kLoaderRows + r) ^ v * 16;
    Index low = __ldg(columns), high = __ldg(columns + kWarpSize);
    RingPlace ring;
    for (Index s = 0; s < task_.stages; ++s) {
      const Index now[2] = {low, high};
      columns += kStageColumns;
      if (s + 1 < task_.stages) low = __ldg(columns), high = __ldg(columns + kWarpSize);
      wait_for(&memory_->empty[ring.slot], ring.parity ^ 1);
      char* const to = stage(ring.slot) + place;
#pragma unroll
      for (unsigned k = 0; k < kLoaderRows; k += kRowsAtOnce) {
        const Index row = __shfl_sync(kWholeWarp, now[k / kWarpSize], k % kWarpSize + r);
        if (row != kNone)
          copy_async(to + k * kStageRowBytes, dense + row * p_.dense_stride, inside ? 16 : 0);
      }
      arrive_after_copies(&memory_->full[ring.slot]);
      ring.advance(p_.ring);
    }
  }

  __device__ Operand load_block(Index block) const {
    const RowBlock& from = p_.blocks[block];
    return {__ldg(reinterpret_cast<const uint2*>(from.values[lane_])),
            __ldg(reinterpret_cast<const uint2*>(from.places[lane_ % 4]))};
  }

  /// The stage that a warp multiplies, and where its blocks end.
  struct Current {
    RingPlace ring;
    Index stage = 0, end = 0;
    Index ends = 0;  // of 32 stages, a lane each
  };

  /// Waits for the stage's rows of D.
  __device__ void begin_stage(Current& now, const Index* starts) const {
    if (now.stage % kWarpSize == 0 && now.stage + lane_ < task_.stages)
      now.ends = __ldg(starts + now.stage + lane_ + 1);
    now.end = __shfl_sync(kWholeWarp, now.ends, static_cast<int>(now.stage % kWarpSize));
    wait_for(&memory_->full[now.ring.slot], now.ring.parity);
  }
  /// Gives the stage's buffer back; false behind the last stage.
  __device__ bool next_stage(Current& now, const Index* starts) const {
    __syncwarp();
    if (lane_ == 0) arrive(&memory_->empty[now.ring.slot]);
    now.ring.advance(p_.ring);
    if (++now.stage == task_.stages) return false;
    begin_stage(now, starts);
    return true;
  }

  __device__ void multiply_stages() {
    if (task_.stages == 0) return;
    const Index* const starts =
        p_.block_start + task_.starts + Count{warp_ / kTeam} * task_.group_starts;
    Index block = starts[0] + warp_ % kTeam;
    Operand ahead[kAhead];
#pragma unroll
    for (unsigned a = 0; a < kAhead; ++a) ahead[a] = load_block(block + a * kTeam);
    Current now;
    begin_stage(now, starts);
    for (;;)
#pragma unroll
      for (unsigned a = 0; a < kAhead; ++a) {
        while (block >= now.end)
          if (!next_stage(now, starts)) return;
        multiply(stage(now.ring.slot), ahead[a]);
        ahead[a] = load_block(block + kAhead * kTeam);
        block += kTeam;
      }
  }

  /// Of the four rows of D of a lane the words w hold columns 8 (lane / 4) + 2 w and the next: rows
  /// lane / 4 and 8 further on of the w-th left operand.
  __device__ void multiply(const char* rows, const Operand& block) {
    const std::uint32_t turn = lane_ / 4 * 0x100010;
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
          sums_[w],
          Left<16>{{__byte_perm(d[0][w], d[1][w], 0x5410), __byte_perm(d[0][w], d[1][w], 0x7632),
                    __byte_perm(d[2][w], d[3][w], 0x5410), __byte_perm(d[2][w], d[3][w], 0x7632)}},
          s);
  }

  __device__ void add(unsigned w, const float4& v) {
    sums_[w][0] += v.x, sums_[w][1] += v.y, sums_[w][2] += v.z, sums_[w][3] += v.w;
  }
  __device__ float4 sums_of(unsigned w) const {
    return make_float4(sums_[w][0], sums_[w][1], sums_[w][2], sums_[w][3]);
  }

  /// The sums of a group's warps, for the first of them.
  __device__ void add_team() {
    meet_multipliers();  // all stages have been read
#pragma unroll
    for (unsigned w = 0; w < kProducts; ++w) *kept_sums(warp_, w) = sums_of(w);
    meet_multipliers();
    if (warp_ % kTeam != 0) return;
    for (unsigned other = 1; other < kTeam; ++other)
#pragma unroll
      for (unsigned w = 0; w < kProducts; ++w) add(w, *kept_sums(warp_ + other, w));
  }

  /// Leaves the sums of this part; the thread block that comes last has those of all parts and
  /// returns true.
  __device__ bool add_parts() {
    const unsigned group = warp_ / kTeam;
    const auto at = [&](Index part, unsigned w) {
      return p_.sums +
             (((Count{task_.sums} + part) * p_.across + blockIdx.x % p_.across) * kGroups + group) *
                 (kProducts * kWarpSize) +
             w * kWarpSize + lane_;
    };
    const bool first = warp_ % kTeam == 0;
#pragma unroll
    for (unsigned w = 0; w < kProducts; ++w)
      if (first) *at(task_.part, w) = sums_of(w);
    __threadfence();
    meet_multipliers();
    if (threadIdx.x == 0) {
      unsigned* const arrived =
          p_.arrived + Count{task_.panel} * p_.across + blockIdx.x % p_.across;
      memory_->last = atomicAdd(arrived, 1u) + 1 == task_.parts;
      if (memory_->last) *arrived = 0;
      __threadfence();
    }
    meet_multipliers();
    if (!memory_->last || !first) return false;
#pragma unroll
    for (unsigned w = 0; w < kProducts; ++w) {
      sums_[w][0] = sums_[w][1] = sums_[w][2] = sums_[w][3] = 0;
      for (Index part = 0; part < task_.parts; ++part) add(w, __ldcg(at(part, w)));
    }
    return true;
  }

  __device__ void meet_multipliers() const {
    meet(1, kMultipliers * kWarpSize);
  }

  /// Of rows 2 (lane % 4) and the next of the group the eight columns from 8 (lane / 4) on.
  __device__ void store() const {
    const Count column = first_column_ + lane_ / 4 * 8;
    if (column >= p_.out_stride) return;
    const Index* const order =
        p_.row_order + (Count{task_.panel} * kGroups + warp_ / kTeam) * kGroupRows + lane_ % 4 * 2;
#pragma unroll
    for (unsigned r = 0; r < 2; ++r) {
      const Index row = order[r];
      if (row == kNone) continue;
      float of_row[2 * kProducts];
#pragma unroll
      for (unsigned w = 0; w < kProducts; ++w)
        of_row[2 * w] = sums_[w][r], of_row[2 * w + 1] = sums_[w][2 + r];
      store_eight(p_.out, p_.half_output, row * p_.out_stride + column, of_row);
    }
  }
  const DevicePanels& p_;
  const PanelTask task_;
  const unsigned first_column_, warp_, lane_;
  PanelMemory* const memory_;
  float sums_[kProducts][4] = {};
};

template <unsigned kGroups>
__global__ void __launch_bounds__(kPanelThreads, 1) multiply_panels(const DevicePanels p) {
  PanelProduct<kGroups>(p).run();
}

}  // namespace retensor::tca_spmm
