// MTTKRP on coordinates (PASTA section III.B) and in HiCOO (section III.D), as plain functions over
// arrays, for any order: index arrays are passed one entry a mode. Value type T is float or double;
// instantiations stand in mttkrp_cpu.cpp.
#pragma once

#include <span>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor::pasta {

/// What MTTKRP reads: the nonzeros with the output mode's index apart from the other modes'. Here
/// and below, rows of factors and outputs follow each other without padding (ld = R).
template <class T>
struct MttkrpInput {
  std::span<const Index> row;                 ///< output mode
  std::vector<std::span<const Index>> other;  ///< the other modes
  std::vector<MatrixView<const T>> factor;    ///< factor[k] belongs to other[k]
  std::span<const T> value;
};

/// out += MTTKRP of x, the textbook's loop on one thread: rank and order are run-time values and
/// `product` holds R elements. What the other forms are compared with.
template <class T>
void mttkrp_sequential(const MttkrpInput<T>& x, MatrixView<T> out, std::span<T> product);

/// out += MTTKRP of x, parallel over nonzeros with one atomic update per element (eq. 3, the form
/// that the paper names COO-MTTKRP-OMP).
template <class T>
void mttkrp_atomic(const MttkrpInput<T>& x, MatrixView<T> out, int threads);

/// The same with a private copy of the output per thread: partial holds threads * rows * R elements
/// and arrives zeroed; reduce_partials adds the copies up.
template <class T>
void mttkrp_private(const MttkrpInput<T>& x, MatrixView<T> out, std::span<T> partial, int threads);
template <class T>
void reduce_partials(std::span<const T> partial, MatrixView<T> out, int threads);

/// The same for nonzeros sorted by output row, `run_start` (rows that occur + 1 entries) telling
/// where each row begins: a thread takes an equal share of the nonzeros and adds up a row in
/// registers, so no update is shared. A row belongs to the thread in whose share it begins; what
/// later shares hold of it goes to their row of `carry` (threads x R) and is added last. Every row
/// of `out` is overwritten.
template <class T>
void mttkrp_owner(const MttkrpInput<T>& x, std::span<const Count> run_start, MatrixView<T> out,
                  MatrixView<T> carry);

/// One tensor in HiCOO as MTTKRP reads it, the output mode apart from the others.
template <class T>
struct HicooMttkrpInput {
  int block_bits = 7;
  std::span<const Count> block_start;
  std::span<const Index> block_row;                  ///< block index of the output mode
  std::span<const std::uint8_t> row;                 ///< element index of the output mode
  std::vector<std::span<const Index>> block_other;   ///< block indices of the other modes
  std::vector<std::span<const std::uint8_t>> other;  ///< element indices of the other modes
  std::vector<MatrixView<const T>> factor;
  std::span<const T> value;
};

/// Algorithm 3: parallel over blocks, one atomic update per element.
template <class T>
void hicoo_mttkrp_atomic(const HicooMttkrpInput<T>& x, MatrixView<T> out, int threads);

/// Blocks first to last - 1, neighbours in Morton order.
struct BlockRange {
  Count first, last;
};

/// Blocks shared out to threads: part p has the ranges start[p] to start[p + 1] - 1 of `ranges`.
struct BlockParts {
  std::vector<BlockRange> ranges;
  std::vector<Count> start;
  int count() const { return static_cast<int>(start.size()) - 1; }
};

/// Each part on one thread and without atomics, part p into outputs[p]: these are views of one
/// output where no two parts share a row of blocks, or a private one each.
template <class T>
void hicoo_mttkrp_parts(const HicooMttkrpInput<T>& x, std::span<const MatrixView<T>> outputs,
                        const BlockParts& parts);

}  // namespace retensor::pasta
