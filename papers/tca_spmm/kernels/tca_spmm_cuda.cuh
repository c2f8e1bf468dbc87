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

/// The warps of one row in a block.
template <int kDepth>
class RowGroup {
  using Memory = BlockMemory<kDepth>;

 public:
  /// `warp`: through all blocks, of a plan where it has row `row`.
  __device__ RowGroup(const DeviceProduct& p, char* memory, Count warp, Index row)
      : p_(p), row_(row), lane_(threadIdx.x % kWarpSize) {
    first_ = p.row_start[row];
    nonzeros_ = p.row_start[row + Count{1}] - first_;
    const unsigned of_row = p.num_warps_per_row[row], id = p.warpid_within_row[warp];
    warps_ = min(of_row, kBlockWarps);
    warp_ = id % kBlockWarps;
    const unsigned slot = static_cast<unsigned>(warp % kBlockWarps) - warp_;
    barrier_ = 1 + slot;
    set_shape();
    set_share(id / kBlockWarps, (of_row + kBlockWarps - 1) / kBlockWarps);
    set_memory(memory, slot);
  }

  __device__ void run() {
    if (end_chunk_ - first_chunk_ == 1)
      multirow_per_block();
    else
      multiblock_per_row();
  }

 private:
  __device__ void set_shape() {
    const Count filled = (nonzeros_ + kDepth - 1) / kDepth;
    columns_ = kFragmentColumns;
    if (!p_.one_class && filled < kFragmentColumns) {
      columns_ = 1;
      while (columns_ < filled) columns_ *= 2;
    }
    outputs_ = kFragmentRows / columns_;
    unit_bits_ = 31 - __clz(static_cast<int>(columns_ * kDepth / 8));
  }
  __device__ void set_share(unsigned part, unsigned parts) {
    const Count tiles = (p_.width + outputs_ - 1) / outputs_;
    end_chunk_ = (nonzeros_ + Memory::kCapacity - 1) / Memory::kCapacity;
    if (p_.split_nonzeros && end_chunk_ > 1) {
      first_chunk_ = part, end_chunk_ = part + 1;
      end_tile_ = static_cast<unsigned>(tiles);
    } else {
      first_tile_ = static_cast<unsigned>(tiles * part / parts);
      end_tile_ = static_cast<unsigned>(tiles * (part + 1) / parts);
    }
  }
  __device__ void set_memory(char* memory, unsigned slot) {
    const unsigned kept = Memory::warp_nonzeros(p_.one_warp);
    buffer_ = reinterpret_cast<std::uint16_t*>(memory) + slot * Memory::kWarpBuffer;
    memory += kBlockWarps * Memory::kWarpBuffer * sizeof(std::uint16_t);
    outputs_at_ = reinterpret_cast<float*>(memory) + slot * Memory::kWarpOutputs;
    memory += kBlockWarps * Memory::kWarpOutputs * sizeof(float);
    sparse_columns_ = reinterpret_cast<Index*>(memory) + 2 * slot * kept;
    memory += 2 * kBlockWarps * kept * sizeof(Index);
    sparse_values_ = reinterpret_cast<std::uint16_t*>(memory) + 2 * slot * kept;
    sparse_stride_ = warps_ * kept;
  }

  __device__ unsigned thread() const { return warp_ * kWarpSize + lane_; }
  __device__ unsigned threads() const { return warps_ * kWarpSize; }
  __device__ void meet_group() const {
    if (warps_ == 1)
      __syncwarp();
    else
      meet(barrier_, threads());
  }

  /// Algorithm 4.
  __device__ void multirow_per_block() {
    load_sparse_row(first_chunk_);
    meet_group();
    const Right<kDepth> right = matricized_row(first_chunk_);
    for (unsigned tile = first_tile_; tile < end_tile_; tile += warps_ * kStepFragments) {
      begin_step(tile);
      compress_columns(first_chunk_);
      meet_group();
      multiply(first_chunk_, right);
      store_step();
    }
  }

  /// Algorithm 3.
  __device__ void multiblock_per_row() {
    for (unsigned tile = first_tile_; tile < end_tile_; tile += warps_ * kStepFragments) {
      begin_step(tile);
      load_sparse_row(first_chunk_);
      meet_group();
      for (Count chunk = first_chunk_; chunk < end_chunk_; ++chunk) {
        compress_columns(chunk);
        if (chunk + 1 < end_chunk_) load_sparse_row(chunk + 1);
        meet_group();
        multiply(chunk, matricized_row(chunk));
        meet_group();
      }
      store_step();
    }
  }

  __device__ void begin_step(unsigned tile) {
    step_tile_ = tile;
    step_end_ = min(tile + warps_ * kStepFragments, end_tile_);
    step_output_ = tile * outputs_;
    step_width_ = (step_end_ - tile) * outputs_;
#pragma unroll
    for (unsigned f = 0; f < kStepFragments; ++f)
#pragma unroll
      for (float& sum : sums_[f]) sum = 0;
  }

  __device__ unsigned chunk_nonzeros(Count chunk) const {
    const Count left = nonzeros_ - chunk * Memory::kCapacity;
    return left < Memory::kCapacity ? static_cast<unsigned>(left) : Memory::kCapacity;
  }
  __device__ const Index* chunk_columns(Count chunk) const {
    return sparse_columns_ + chunk % 2 * sparse_stride_;
  }
  __device__ const std::uint16_t* chunk_values(Count chunk) const {
    return sparse_values_ + chunk % 2 * sparse_stride_;
  }

  __device__ void load_sparse_row(Count chunk) {
    const Count begin = first_ + chunk * Memory::kCapacity;
    const unsigned place = static_cast<unsigned>(chunk % 2) * sparse_stride_;
    for (unsigned t = thread(); t < chunk_nonzeros(chunk); t += threads()) {
      sparse_columns_[place + t] = p_.columns[begin + t];
      sparse_values_[place + t] = p_.values[begin + t];
    }
  }

  /// The fragment on the right, column-wise; zeros beyond the nonzeros.
  __device__ Right<kDepth> matricized_row(Count chunk) const {
    const std::uint16_t* const values = chunk_values(chunk);
    const unsigned n = chunk_nonzeros(chunk);
    Right<kDepth> right;
#pragma unroll
    for (unsigned r = 0; r < kDepth / 8; ++r) {
      const unsigned t = lane_ / 4 * kDepth + 8 * r + lane_ % 4 * 2;
      const std::uint32_t low = t < n ? values[t] : 0, high = t + 1 < n ? values[t + 1] : 0;
      right.pair[r] = low | high << 16;
    }
    return right;
  }

  /// Where nonzero t of output j of the step stands in the compressed RHS buffer, in halves.
  __device__ unsigned place_of(unsigned j, unsigned t) const {
    return (((j << unit_bits_) + t / 8) ^ (j / 8 % 8)) * 8 + t % 8;
  }
  __device__ void put_pair(unsigned j, unsigned t, std::uint32_t pair) {
    *reinterpret_cast<std::uint32_t*>(buffer_ + place_of(j, t)) = pair;
  }

  __device__ void compress_columns(Count chunk) {
    if (!p_.rhs_buffer) return;
    if (p_.column_major)
      compress_single(chunk);
    else
      compress_vectors(chunk);
  }

  /// D row-major: a thread takes eight outputs of two nonzeros, 16 bytes of two rows of D.
  __device__ void compress_vectors(Count chunk) {
    const Index* const columns = chunk_columns(chunk);
    const unsigned n = chunk_nonzeros(chunk), pairs = columns_ * kDepth / 2;
    const unsigned base = step_output_ / 8 * 8;
    const unsigned vectors = (step_output_ + step_width_ - base + 7) / 8;
    const unsigned bits = 32 - __clz(static_cast<int>(vectors - 1));
    const unsigned vector = thread() & ((1u << bits) - 1), output = base + 8 * vector;
    if (vector >= vectors || output >= p_.dense_stride) return;
    const auto row_part = [&](unsigned t) {
      return t < n ? __ldg(reinterpret_cast<const uint4*>(p_.dense + columns[t] * p_.dense_stride +
                                                          output))
                   : make_uint4(0, 0, 0, 0);
    };
#pragma unroll 2
    for (unsigned q = thread() >> bits; q < pairs; q += threads() >> bits) {
      const uint4 low = row_part(2 * q), high = row_part(2 * q + 1);
      const std::uint32_t a[4] = {low.x, low.y, low.z, low.w};
      const std::uint32_t b[4] = {high.x, high.y, high.z, high.w};
#pragma unroll
      for (unsigned e = 0; e < 8; ++e) {
        const unsigned j = output + e - step_output_;  // wraps before the step's first
        if (j < step_width_)
          put_pair(j, 2 * q, __byte_perm(a[e / 2], b[e / 2], e % 2 == 0 ? 0x5410 : 0x7632));
      }
    }
  }

  /// D column-major: neighbouring threads take neighbouring nonzeros of an output.
  __device__ void compress_single(Count chunk) {
    const unsigned pairs = columns_ * kDepth / 2, bits = 31 - __clz(static_cast<int>(pairs));
    for (unsigned item = thread(); item < pairs * step_width_; item += threads()) {
      const unsigned t = 2 * (item & (pairs - 1)), j = item >> bits;
      put_pair(j, t, dense_pair(chunk, t, step_output_ + j));
    }
  }

  /// Elements of column `output` of D at nonzeros t and t + 1; zeros where there are none.
  __device__ std::uint32_t dense_pair(Count chunk, unsigned t, unsigned output) const {
    const Index* const columns = chunk_columns(chunk);
    const unsigned n = chunk_nonzeros(chunk);
    const auto element = [&](unsigned s) -> std::uint32_t {
      if (s >= n || output >= p_.width) return 0;
      return __ldg(p_.dense + (p_.column_major ? output * p_.dense_stride + columns[s]
                                               : columns[s] * p_.dense_stride + output));
    };
    return element(t) | element(t + 1) << 16;
  }

  __device__ Left<kDepth> matricized_columns(Count chunk, unsigned tile) const {
    return p_.rhs_buffer ? buffered(tile - step_tile_) : gathered(chunk, tile);
  }
  /// `tile`: in the step, whose fragments stand one after another.
  __device__ Left<kDepth> buffered(unsigned tile) const {
    constexpr unsigned kRowUnits = kDepth / 8;
    const unsigned unit =
        (tile * kFragmentRows + lane_ % 16) * kRowUnits + (kDepth == 16 ? lane_ / 16 : 0);
    Left<kDepth> left;
    load_blocks(left.pair, buffer_ + (unit ^ ((unit >> unit_bits_) / 8 % 8)) * 8);
    return left;
  }
  /// Without the buffer: each element from global memory.
  __device__ Left<kDepth> gathered(Count chunk, unsigned tile) const {
    Left<kDepth> left;
#pragma unroll
    for (unsigned r = 0; r < kDepth / 4; ++r) {
      const unsigned row = lane_ / 4 + r % 2 * 8;
      const unsigned t = row % columns_ * kDepth + r / 2 * 8 + lane_ % 4 * 2;
      left.pair[r] = dense_pair(chunk, t, tile * outputs_ + row / columns_);
    }
    return left;
  }

  __device__ void multiply(Count chunk, const Right<kDepth>& right) {
#pragma unroll
    for (unsigned f = 0; f < kStepFragments; ++f) {
      const unsigned tile = step_tile_ + warp_ + warps_ * f;
      if (tile < step_end_) multiply_add(sums_[f], matricized_columns(chunk, tile), right);
    }
  }

  /// The traces of a fragment: output lane / (4 c) in the first, and half the outputs further on in
  /// the second; both right in the first lane of each 4 c.
  __device__ float2 traces(const float (&sums)[4]) const {
    const unsigned r = lane_ / 4 % columns_;
    const bool diagonal = lane_ % 4 == r / 2;
    float2 t = r % 2 == 0 ? make_float2(sums[0], sums[2]) : make_float2(sums[1], sums[3]);
    if (!diagonal) t = make_float2(0, 0);
    for (unsigned distance = 1; distance < 4 * columns_; distance *= 2) {
      t.x += __shfl_xor_sync(kWholeWarp, t.x, distance);
      t.y += __shfl_xor_sync(kWholeWarp, t.y, distance);
    }
    return t;
  }

  /// Outputs of the step to the output buffer and from there to O, or at once.
  __device__ void store_step() {
#pragma unroll
    for (unsigned f = 0; f < kStepFragments; ++f) {
      const unsigned tile = step_tile_ + warp_ + warps_ * f;
      if (tile >= step_end_) continue;
      const float2 t = traces(sums_[f]);
      if (lane_ % (4 * columns_) != 0) continue;
      const unsigned j = (tile - step_tile_) * outputs_ + lane_ / (4 * columns_);
      put_output(j, t.x);
      put_output(j + outputs_ / 2, t.y);
    }
    meet_group();
    if (p_.output_buffer) flush();
  }
  __device__ void put_output(unsigned j, float value) {
    if (p_.output_buffer)
      outputs_at_[j] = value;
    else
      store_single(step_output_ + j, value);
  }
  __device__ void store_single(unsigned output, float value) {
    if (output >= p_.width) return;
    const Count at = row_ * p_.out_stride + output;
    if (p_.half_output)
      static_cast<std::uint16_t*>(p_.out)[at] = to_half_bits(value);
    else if (shared_outputs())
      atomicAdd(static_cast<float*>(p_.out) + at, value);
    else
      static_cast<float*>(p_.out)[at] = value;
  }
  /// Whether other blocks add to the same outputs.
  __device__ bool shared_outputs() const {
    return (end_chunk_ - first_chunk_) * Memory::kCapacity < nonzeros_;
  }

  __device__ void flush() {
    const unsigned end = min(step_output_ + step_width_, p_.width);
    for (unsigned at = step_output_ / 8 * 8 + 8 * thread(); at < end; at += 8 * threads()) {
      if (at >= step_output_ && at + 8 <= end && !shared_outputs()) {
        store_eight(p_.out, p_.half_output, row_ * p_.out_stride + at,
                    outputs_at_ + (at - step_output_));
        continue;
      }
      for (unsigned e = 0; e < 8; ++e)
        if (at + e >= step_output_ && at + e < end)
          store_single(at + e, outputs_at_[at + e - step_output_]);
    }
  }

  const DeviceProduct& p_;
  const Index row_;
  const unsigned lane_;
  Count first_, nonzeros_;           // of the row
  unsigned warps_, warp_, barrier_;  // of the group, within it, that it meets at
  unsigned columns_, outputs_;       // c, 16 / c
  unsigned unit_bits_;               // of the number of 16-byte units of an output
  Count first_chunk_ = 0, end_chunk_;
  unsigned first_tile_ = 0, end_tile_;
  std::uint16_t* buffer_;  // compressed RHS buffer
  float* outputs_at_;      // output buffer
  Index* sparse_columns_;
  std::uint16_t* sparse_values_;
  unsigned sparse_stride_;
  unsigned step_tile_, step_end_, step_output_, step_width_;
  float sums_[kStepFragments][4];
};

/// Algorithm 2.
template <int kDepth>
__global__ void __launch_bounds__(kBlockThreads, 3) multiply_rows(const DeviceProduct p) {
  const Count warp = Count{blockIdx.x} * kBlockWarps + threadIdx.x / kWarpSize;
  const Index row = p.row_id_for_each_warp[warp];
  if (row != kNoRow) RowGroup<kDepth>(p, block_memory(), warp, row).run();
}

}  // namespace retensor::tca_spmm
