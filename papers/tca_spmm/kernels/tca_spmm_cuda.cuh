// O = S D as the paper's kernel computes it (TCA-SpMM Algorithms 2 to 4, Fig. 2 to 4).
//
// Algorithm 2: a thread block has eight warps; the three arrays of the plan (format/plan.hpp) tell
// each its row. The warps that share a row in a block are a group with its part of the block's
// shared memory, in proportion to its warps: sparse row, compressed RHS buffer, output buffer. A
// group takes its outputs in steps; in a step it copies, for the nonzeros of a chunk, the elements
// of D at their column indices into the compressed RHS buffer, where they stand as the fragments on
// the left want them (format/matricize.hpp); each warp multiplies its fragments of outputs, adds up
// their traces by shuffles, and the group stores the outputs 16 bytes at a time. Algorithm 4,
// multirow_per_block: one chunk, whose fragment on the right stays in registers for all steps.
// Algorithm 3, multiblock_per_row: in every step the chunks one after another add up in the same
// accumulators.
//
// Deviations, beyond those of format/plan.hpp: the tile width of a step is not stated; here it is
// four fragments a warp. The two loads of a sparse row are ahead of each other, so that a chunk has
// two barriers. Groups of one block meet at barriers of their own. Places of the RHS buffer are
// permuted within 128 bytes so that neither stores nor fetches meet in a bank.
#pragma once

#include "common/core/types.hpp"
#include "common/device/cuda.cuh"
#include "papers/tca_spmm/format/plan.hpp"
#include "papers/tca_spmm/kernels/ptx_cuda.cuh"

namespace retensor::tca_spmm {

inline constexpr unsigned kBlockWarps = static_cast<unsigned>(kWarpsPerBlock);
inline constexpr unsigned kBlockThreads = kBlockWarps * kWarpSize;
inline constexpr unsigned kStepFragments = 4;  ///< accumulators of a warp

/// Operands, plan and settings as the kernel gets them.
struct DeviceProduct {
  const Count* row_start = nullptr;
  const Index* columns = nullptr;
  const std::uint16_t* values = nullptr;
  const std::uint16_t* dense = nullptr;
  Count dense_stride = 0;  ///< between rows of D, or columns
  bool column_major = false;
  void* out = nullptr;
  Count out_stride = 0;
  bool half_output = false;
  unsigned width = 0;  ///< N
  const Index *row_id_for_each_warp = nullptr, *warpid_within_row = nullptr,
              *num_warps_per_row = nullptr;
  bool one_class = false, one_warp = false, split_nonzeros = false;
  bool rhs_buffer = true, output_buffer = true;
};

/// Shared memory of a thread block; a group of w warps has w times what is told of a warp.
template <int kDepth>
struct BlockMemory {
  static constexpr unsigned kCapacity = kDepth * kFragmentColumns;  ///< nonzeros of a chunk
  static constexpr unsigned kWarpBuffer = kStepFragments * kFragmentRows * kDepth;  ///< halves
  static constexpr unsigned kWarpOutputs = kStepFragments * kFragmentRows;          ///< at most
  /// Nonzeros of a warp's part of the sparse row, of which there are two.
  static constexpr unsigned warp_nonzeros(bool one_warp) { return one_warp ? kCapacity : kDepth; }
  static constexpr unsigned warp_bytes(bool one_warp) {
    return 2 * warp_nonzeros(one_warp) * (sizeof(Index) + sizeof(std::uint16_t)) +
           kWarpBuffer * sizeof(std::uint16_t) + kWarpOutputs * sizeof(float);
  }
  static constexpr unsigned bytes(bool one_warp) { return kBlockWarps * warp_bytes(one_warp); }
};

static_assert(BlockMemory<16>::bytes(true) <= device::kSharedOfEveryChip);

/// The lanes of a group, and the barrier of the block that they meet at.
struct Lanes {
  unsigned warps, warp, lane, barrier;  ///< warps of the group, the own one in it, the lane in this

  __device__ unsigned thread() const { return warp * kWarpSize + lane; }
  __device__ unsigned threads() const { return warps * kWarpSize; }
  __device__ void meet() const {
    if (warps == 1)
      __syncwarp();
    else
      tca_spmm::meet(barrier, threads());
  }
};

/// What the nonzeros of a row say of its fragments.
struct Fragments {
  unsigned columns, outputs;  ///< c, 16 / c
  unsigned unit_bits;         ///< of the number of 16-byte units of an output in the RHS buffer
};

template <int kDepth>
__device__ Fragments fragments_of(Count nonzeros, bool one_class) {
  unsigned columns = one_class ? kFragmentColumns : 1;
  while (columns < kFragmentColumns && columns * kDepth < nonzeros) columns *= 2;
  return {columns, kFragmentRows / columns, 31u - __clz(static_cast<int>(columns * kDepth / 8))};
}

/// Chunks and tiles of a row that a group takes.
struct GroupShare {
  unsigned first_chunk, end_chunk, first_tile, end_tile;
};

/// The share of block `part` of the `parts` that a row has.
__device__ inline GroupShare share_of(const DeviceProduct& p, Count chunks, unsigned outputs,
                                      unsigned part, unsigned parts) {
  const Count tiles = (p.width + outputs - 1) / outputs;
  if (p.split_nonzeros && chunks > 1) return {part, part + 1, 0, static_cast<unsigned>(tiles)};
  return {0, static_cast<unsigned>(chunks), static_cast<unsigned>(tiles * part / parts),
          static_cast<unsigned>(tiles * (part + 1) / parts)};
}

/// A group's part of the block's shared memory.
struct GroupMemory {
  std::uint16_t* compressed;  ///< RHS buffer
  float* outputs;
  Index* columns;         ///< of the sparse row: chunks with even numbers, then those with odd ones
  std::uint16_t* values;  ///< the same
  unsigned stride;        ///< between the two
};

template <int kDepth>
__device__ GroupMemory memory_of(bool one_warp, unsigned first_warp, unsigned warps) {
  using Memory = BlockMemory<kDepth>;
  const unsigned kept = Memory::warp_nonzeros(one_warp);
  auto* const compressed = reinterpret_cast<std::uint16_t*>(block_memory());
  auto* const outputs = reinterpret_cast<float*>(compressed + kBlockWarps * Memory::kWarpBuffer);
  auto* const columns = reinterpret_cast<Index*>(outputs + kBlockWarps * Memory::kWarpOutputs);
  auto* const values = reinterpret_cast<std::uint16_t*>(columns + 2 * kBlockWarps * kept);
  return {compressed + first_warp * Memory::kWarpBuffer,
          outputs + first_warp * Memory::kWarpOutputs, columns + 2 * first_warp * kept,
          values + 2 * first_warp * kept, warps * kept};
}

/// The warps of one row in a block. Nothing of it changes; what does goes from function to
/// function: the step with its sums, and the chunk.
template <int kDepth>
struct Group {
  const DeviceProduct& p;
  Index row;
  Count first, nonzeros;  ///< of the row
  Lanes lanes;
  Fragments fragments;
  GroupShare share;
  GroupMemory memory;

  /// Whether other blocks add to the same outputs.
  __device__ bool shares_outputs() const {
    return Count{share.end_chunk - share.first_chunk} * BlockMemory<kDepth>::kCapacity < nonzeros;
  }
};

/// The group of warp `warp`, through all blocks, of a plan where it has row `row`.
template <int kDepth>
__device__ Group<kDepth> group_of(const DeviceProduct& p, Count warp, Index row) {
  constexpr unsigned kCapacity = BlockMemory<kDepth>::kCapacity;
  const Count first = p.row_start[row], nonzeros = p.row_start[row + Count{1}] - first;
  const unsigned of_row = p.num_warps_per_row[row], id = p.warpid_within_row[warp];
  const unsigned warps = min(of_row, kBlockWarps), own = id % kBlockWarps;
  const unsigned first_warp = static_cast<unsigned>(warp % kBlockWarps) - own;
  const Fragments fragments = fragments_of<kDepth>(nonzeros, p.one_class);
  return {p,
          row,
          first,
          nonzeros,
          {warps, own, threadIdx.x % kWarpSize, 1 + first_warp},
          fragments,
          share_of(p, (nonzeros + kCapacity - 1) / kCapacity, fragments.outputs, id / kBlockWarps,
                   (of_row + kBlockWarps - 1) / kBlockWarps),
          memory_of<kDepth>(p.one_warp, first_warp, warps)};
}

/// Tiles that a group takes at once, and the outputs that these are.
struct Step {
  unsigned tile, end_tile;
  unsigned output, width;  ///< the first one, how many
};

/// Accumulators of a warp in a step: of its tiles, every `warps`-th.
using Sums = float[kStepFragments][4];

template <int kDepth>
__device__ Step step_at(const Group<kDepth>& g, unsigned tile) {
  const unsigned end = min(tile + g.lanes.warps * kStepFragments, g.share.end_tile);
  return {tile, end, tile * g.fragments.outputs, (end - tile) * g.fragments.outputs};
}

/// Calls f(tile, sums) for each tile that a warp has in a step.
template <class F>
__device__ void for_each_tile(const Lanes& lanes, const Step& step, Sums& sums, const F& f) {
#pragma unroll
  for (unsigned i = 0; i < kStepFragments; ++i) {
    const unsigned tile = step.tile + lanes.warp + lanes.warps * i;
    if (tile < step.end_tile) f(tile, sums[i]);
  }
}

/// Nonzeros in shared memory, at most as many as a fragment on the right holds.
struct Chunk {
  Index* columns;
  std::uint16_t* values;
  unsigned nonzeros;
};

template <int kDepth>
__device__ Chunk chunk_at(const Group<kDepth>& g, unsigned number) {
  constexpr unsigned kCapacity = BlockMemory<kDepth>::kCapacity;
  const unsigned place = number % 2 * g.memory.stride;
  const Count left = g.nonzeros - Count{number} * kCapacity;
  return {g.memory.columns + place, g.memory.values + place,
          left < kCapacity ? static_cast<unsigned>(left) : kCapacity};
}

template <int kDepth>
__device__ void load_chunk(const Group<kDepth>& g, unsigned number) {
  const Chunk chunk = chunk_at(g, number);
  const Count begin = g.first + Count{number} * BlockMemory<kDepth>::kCapacity;
  for (unsigned t = g.lanes.thread(); t < chunk.nonzeros; t += g.lanes.threads()) {
    chunk.columns[t] = g.p.columns[begin + t];
    chunk.values[t] = g.p.values[begin + t];
  }
}

/// The fragment on the right, column-wise; zeros beyond the nonzeros.
template <int kDepth>
__device__ Right<kDepth> matricized_row(const Chunk& chunk, unsigned lane) {
  Right<kDepth> right;
#pragma unroll
  for (unsigned r = 0; r < kDepth / 8; ++r) {
    const unsigned t = lane / 4 * kDepth + 8 * r + lane % 4 * 2;
    const std::uint32_t low = t < chunk.nonzeros ? chunk.values[t] : 0,
                        high = t + 1 < chunk.nonzeros ? chunk.values[t + 1] : 0;
    right.pair[r] = low | high << 16;
  }
  return right;
}

/// Puts nonzeros t (even) and t + 1 of output j of the step into the compressed RHS buffer.
template <int kDepth>
__device__ void put_pair(const Group<kDepth>& g, unsigned j, unsigned t, std::uint32_t pair) {
  const unsigned unit = ((j << g.fragments.unit_bits) + t / 8) ^ (j / 8 % 8);
  *reinterpret_cast<std::uint32_t*>(g.memory.compressed + unit * 8 + t % 8) = pair;
}

/// D row-major: a thread takes eight outputs of two nonzeros, 16 bytes of two rows of D.
template <int kDepth>
__device__ void compress_rows(const Group<kDepth>& g, const Step& step, const Chunk& chunk) {
  const DeviceProduct& p = g.p;
  const unsigned pairs = g.fragments.columns * kDepth / 2, base = step.output / 8 * 8;
  const unsigned vectors = (step.output + step.width - base + 7) / 8;
  const unsigned bits = 32 - __clz(static_cast<int>(vectors - 1));
  const unsigned vector = g.lanes.thread() & ((1u << bits) - 1), output = base + 8 * vector;
  if (vector >= vectors || output >= p.dense_stride) return;
  const auto row_part = [&](unsigned t) {
    if (t >= chunk.nonzeros) return make_uint4(0, 0, 0, 0);
    return __ldg(
        reinterpret_cast<const uint4*>(p.dense + chunk.columns[t] * p.dense_stride + output));
  };
#pragma unroll 1  // mostly one round; the loads of a second at once would spill registers
  for (unsigned q = g.lanes.thread() >> bits; q < pairs; q += g.lanes.threads() >> bits) {
    const uint4 low = row_part(2 * q), high = row_part(2 * q + 1);
    const std::uint32_t a[4] = {low.x, low.y, low.z, low.w};
    const std::uint32_t b[4] = {high.x, high.y, high.z, high.w};
#pragma unroll
    for (unsigned e = 0; e < 8; ++e) {
      const unsigned j = output + e - step.output;  // wraps before the step's first
      if (j < step.width)
        put_pair(g, j, 2 * q, __byte_perm(a[e / 2], b[e / 2], e % 2 == 0 ? 0x5410 : 0x7632));
    }
  }
}

/// Elements of column `output` of D at nonzeros t and t + 1; zeros where there are none.
__device__ inline std::uint32_t dense_pair(const DeviceProduct& p, const Chunk& chunk, unsigned t,
                                           unsigned output) {
  const auto element = [&](unsigned s) -> std::uint32_t {
    if (s >= chunk.nonzeros || output >= p.width) return 0;
    return __ldg(p.dense + (p.column_major ? output * p.dense_stride + chunk.columns[s]
                                           : chunk.columns[s] * p.dense_stride + output));
  };
  return element(t) | element(t + 1) << 16;
}

/// D column-major: neighbouring threads take neighbouring nonzeros of an output.
template <int kDepth>
__device__ void compress_columns(const Group<kDepth>& g, const Step& step, const Chunk& chunk) {
  const unsigned pairs = g.fragments.columns * kDepth / 2;
  const unsigned bits = 31 - __clz(static_cast<int>(pairs));
  for (unsigned item = g.lanes.thread(); item < pairs * step.width; item += g.lanes.threads()) {
    const unsigned t = 2 * (item & (pairs - 1)), j = item >> bits;
    put_pair(g, j, t, dense_pair(g.p, chunk, t, step.output + j));
  }
}

/// Fills the compressed RHS buffer with the elements of D at the chunk's columns.
template <int kDepth>
__device__ void compress(const Group<kDepth>& g, const Step& step, const Chunk& chunk) {
  if (!g.p.rhs_buffer) return;
  if (g.p.column_major)
    compress_columns(g, step, chunk);
  else
    compress_rows(g, step, chunk);
}

/// A fragment on the left from the compressed RHS buffer, where those of a step stand one after
/// another; `place`: of its tile in the step.
template <int kDepth>
__device__ Left<kDepth> buffered(const Group<kDepth>& g, unsigned place) {
  constexpr unsigned kRowUnits = kDepth / 8;
  const unsigned lane = g.lanes.lane;
  const unsigned unit =
      (place * kFragmentRows + lane % 16) * kRowUnits + (kDepth == 16 ? lane / 16 : 0);
  Left<kDepth> left;
  load_blocks(left.pair,
              g.memory.compressed + (unit ^ ((unit >> g.fragments.unit_bits) / 8 % 8)) * 8);
  return left;
}

/// The same without the buffer: each element from global memory.
template <int kDepth>
__device__ Left<kDepth> gathered(const Group<kDepth>& g, const Chunk& chunk, unsigned tile) {
  const auto [columns, outputs, unit_bits] = g.fragments;
  Left<kDepth> left;
#pragma unroll
  for (unsigned r = 0; r < kDepth / 4; ++r) {
    const unsigned row = g.lanes.lane / 4 + r % 2 * 8;
    const unsigned t = row % columns * kDepth + r / 2 * 8 + g.lanes.lane % 4 * 2;
    left.pair[r] = dense_pair(g.p, chunk, t, tile * outputs + row / columns);
  }
  return left;
}

template <int kDepth>
__device__ void multiply(const Group<kDepth>& g, const Step& step, const Chunk& chunk,
                         const Right<kDepth>& right, Sums& sums) {
  for_each_tile(g.lanes, step, sums, [&](unsigned tile, float(&sum)[4]) {
    multiply_add(sum, g.p.rhs_buffer ? buffered(g, tile - step.tile) : gathered(g, chunk, tile),
                 right);
  });
}

/// The traces of a fragment: output lane / (4 c) in the first, and half the outputs further on in
/// the second; both right in the first lane of each 4 c.
__device__ inline float2 traces(const float (&sum)[4], unsigned columns, unsigned lane) {
  const unsigned r = lane / 4 % columns;
  const bool diagonal = lane % 4 == r / 2;
  float2 t = r % 2 == 0 ? make_float2(sum[0], sum[2]) : make_float2(sum[1], sum[3]);
  if (!diagonal) t = make_float2(0, 0);
  for (unsigned distance = 1; distance < 4 * columns; distance *= 2) {
    t.x += __shfl_xor_sync(kWholeWarp, t.x, distance);
    t.y += __shfl_xor_sync(kWholeWarp, t.y, distance);
  }
  return t;
}

template <int kDepth>
__device__ void store_output(const Group<kDepth>& g, unsigned output, float value) {
  if (output >= g.p.width) return;
  const Count at = g.row * g.p.out_stride + output;
  if (g.p.half_output)
    static_cast<std::uint16_t*>(g.p.out)[at] = to_half_bits(value);
  else if (g.shares_outputs())
    atomicAdd(static_cast<float*>(g.p.out) + at, value);
  else
    static_cast<float*>(g.p.out)[at] = value;
}

/// The output buffer to O, 16 bytes at a time where no other step and no other block has outputs.
template <int kDepth>
__device__ void flush(const Group<kDepth>& g, const Step& step) {
  const unsigned end = min(step.output + step.width, g.p.width);
  const float* const outputs = g.memory.outputs;
  for (unsigned at = step.output / 8 * 8 + 8 * g.lanes.thread(); at < end;
       at += 8 * g.lanes.threads()) {
    if (at >= step.output && at + 8 <= end && !g.shares_outputs()) {
      store_eight(g.p.out, g.p.half_output, g.row * g.p.out_stride + at,
                  outputs + (at - step.output));
      continue;
    }
    for (unsigned e = 0; e < 8; ++e)
      if (at + e >= step.output && at + e < end)
        store_output(g, at + e, outputs[at + e - step.output]);
  }
}

/// Outputs of the step to the output buffer and from there to O, or at once.
template <int kDepth>
__device__ void store(const Group<kDepth>& g, const Step& step, Sums& sums) {
  const Lanes& lanes = g.lanes;
  for_each_tile(lanes, step, sums, [&](unsigned, float(&sum)[4]) {
    const float2 t = traces(sum, g.fragments.columns, lanes.lane);
    sum[0] = t.x, sum[1] = t.y;
  });
  const auto put = [&](unsigned j, float value) {
    if (g.p.output_buffer)
      g.memory.outputs[j] = value;
    else
      store_output(g, step.output + j, value);
  };
  const unsigned of_output = 4 * g.fragments.columns;  // lanes
  if (lanes.lane % of_output == 0)
    for_each_tile(lanes, step, sums, [&](unsigned tile, float(&sum)[4]) {
      const unsigned j = (tile - step.tile) * g.fragments.outputs + lanes.lane / of_output;
      put(j, sum[0]);
      put(j + g.fragments.outputs / 2, sum[1]);
    });
  lanes.meet();
  if (g.p.output_buffer) flush(g, step);
}

/// Algorithm 4.
template <int kDepth>
__device__ void multirow_per_block(const Group<kDepth>& g) {
  load_chunk(g, g.share.first_chunk);
  g.lanes.meet();
  const Chunk chunk = chunk_at(g, g.share.first_chunk);
  const Right<kDepth> right = matricized_row<kDepth>(chunk, g.lanes.lane);
  for (Step step = step_at(g, g.share.first_tile); step.tile < g.share.end_tile;
       step = step_at(g, step.end_tile)) {
    Sums sums = {};
    compress(g, step, chunk);
    g.lanes.meet();
    multiply(g, step, chunk, right, sums);
    store(g, step, sums);
  }
}

/// Algorithm 3.
template <int kDepth>
__device__ void multiblock_per_row(const Group<kDepth>& g) {
  for (Step step = step_at(g, g.share.first_tile); step.tile < g.share.end_tile;
       step = step_at(g, step.end_tile)) {
    Sums sums = {};
    load_chunk(g, g.share.first_chunk);
    g.lanes.meet();
    for (unsigned number = g.share.first_chunk; number < g.share.end_chunk; ++number) {
      const Chunk chunk = chunk_at(g, number);
      compress(g, step, chunk);
      if (number + 1 < g.share.end_chunk) load_chunk(g, number + 1);
      g.lanes.meet();
      multiply(g, step, chunk, matricized_row<kDepth>(chunk, g.lanes.lane), sums);
      g.lanes.meet();
    }
    store(g, step, sums);
  }
}

/// Algorithm 2.
template <int kDepth>
__global__ void __launch_bounds__(kBlockThreads, 3) multiply_rows(const DeviceProduct p) {
  const Count warp = Count{blockIdx.x} * kBlockWarps + threadIdx.x / kWarpSize;
  const Index row = p.row_id_for_each_warp[warp];
  if (row == kNoRow) return;
  const auto group = group_of<kDepth>(p, warp, row);
  if (group.share.end_chunk - group.share.first_chunk == 1)
    multirow_per_block(group);
  else
    multiblock_per_row(group);
}

}  // namespace retensor::tca_spmm
