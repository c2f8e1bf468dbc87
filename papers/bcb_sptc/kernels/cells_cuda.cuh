// The product of blocks on CUDA cores, for comparison with tensor cores on the same blocks, tasks
// and chunks. Included by .cu files alone.
//
// A warp takes the tile of a chunk that TileProduct takes (blocks_cuda.cuh). A lane owns one or two
// of its columns in one or more rows. For each contracted cell that both blocks have, a lane reads
// its values of y once and multiplies them by those that x has there, row by row. Cells that x
// lacks are left out one by one, which a tensor core does not.
//
// Instructions of a warp: about 30 a contracted cell and 15 a row of it for 32 columns; loads come
// from the L1 cache but for a task's first.
#pragma once

#include <cstdint>

#include <cuda_fp16.h>

#include "papers/bcb_sptc/kernels/blocks_cuda.cuh"

namespace retensor::bcb_sptc {

/// What a tensor core reads of an operand's pattern, in single precision.
template <Arithmetic kArithmetic>
__device__ inline float operand_value(std::uint32_t pattern) {
  const auto half = [](std::uint32_t bits) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits & 0xffffu)));
  };
  if constexpr (kArithmetic == Arithmetic::tf32) return __uint_as_float(pattern);
  if constexpr (kArithmetic == Arithmetic::bf16) return __uint_as_float(pattern << 16);
  if constexpr (kArithmetic == Arithmetic::fp16) return half(pattern);
  return half(pattern) + half(pattern >> 16);
}

/// kColumns: the most columns of the tile, 8 or 64.
template <Arithmetic kArithmetic, unsigned kColumns>
class CellProduct {
  using Operand = typename OperandOf<kArithmetic>::Type;
  using Cell = Strip<std::uint32_t>;
  static constexpr unsigned kOwnColumns = kColumns > 32 ? 2 : 1;
  /// Fewer than 8 columns give a row to fewer lanes and more rows to a step.
  static constexpr unsigned kOwnRows = kTileRows / (kColumns > 8 ? 1 : 32 / kColumns);

 public:
  __device__ CellProduct(const BlockProduct& product, unsigned row0, unsigned column0)
      : p_(product),
        columns_(min(kTileColumns, product.columns)),
        lanes_of_row_(min(32u, columns_)),
        row_(row0 + threadIdx.x % 32 / lanes_of_row_),
        end_row_(min(row0 + kTileRows, product.rows)),
        column0_(column0),
        column_(threadIdx.x % 32 % lanes_of_row_) {}

  __device__ void add(Task task) {
    for (unsigned w = 0; w < p_.list.mask_words; ++w)
      for (std::uint64_t common = p_.common(task, w); common != 0; common &= common - 1)
        add_cell(task, w * 64 + static_cast<unsigned>(__ffsll(static_cast<long long>(common)) - 1));
  }

  __device__ void store(Count result, bool is_shared) const {
#pragma unroll
    for (unsigned r = 0; r < kOwnRows; ++r)
#pragma unroll
      for (unsigned c = 0; c < kOwnColumns; ++c) {
        if (row(r) >= end_row_ || column(c) >= columns_) continue;
        const auto cell = strip<Count>(p_.bitmap, p_.word_start, result << p_.result_word_bits,
                                       row(r) * p_.columns + column0_ + column(c), 1);
        if (cell.bits == 0) continue;
        float* const to = p_.values + cell.first;
        if (is_shared)
          atomicAdd(to, p_.alpha * sums_[r][c]);
        else
          *to = p_.alpha * sums_[r][c];
      }
  }

 private:
  __device__ unsigned row(unsigned r) const {
    return row_ + r * (32 / lanes_of_row_);
  }
  __device__ unsigned column(unsigned c) const {
    return column_ + c * 32;
  }

  /// The products of contracted cell k.
  __device__ void add_cell(Task task, unsigned k) {
    const auto line = strip(p_.y.bitmap, p_.y.word_start, Count{task.y} * p_.y.words,
                            k * p_.columns + column0_, columns_);
    float y[kOwnColumns];
#pragma unroll
    for (unsigned c = 0; c < kOwnColumns; ++c)
      y[c] = column(c) < columns_ && line.has(column(c)) ? value(p_.y_values, line.place(column(c)))
                                                         : 0;
#pragma unroll
    for (unsigned r = 0; r < kOwnRows; ++r) {
      if (row(r) >= end_row_) break;
      const auto cell = strip(p_.x.bitmap, p_.x.word_start, Count{task.x} * p_.x.words,
                              row(r) * p_.contracted + k, 1);
      if (cell.bits == 0) continue;
      const float x = value(p_.x_values, cell.first);
#pragma unroll
      for (unsigned c = 0; c < kOwnColumns; ++c) sums_[r][c] += x * y[c];
    }
  }

  __device__ static float value(const void* values, std::uint32_t place) {
    return operand_value<kArithmetic>(static_cast<const Operand*>(values)[place]);
  }

  const BlockProduct& p_;
  const unsigned columns_, lanes_of_row_;
  const unsigned row_, end_row_, column0_, column_;  // the first that this lane owns
  float sums_[kOwnRows][kOwnColumns] = {};
};

}  // namespace retensor::bcb_sptc
