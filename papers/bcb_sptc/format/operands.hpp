// The two operands of a contraction in BCB, cut so that their blocks match.
#pragma once

#include "common/tensor/coo.hpp"
#include "common/tensor/einsum.hpp"
#include "papers/bcb_sptc/format/bcb.hpp"

namespace retensor::bcb_sptc {

/// How blocks are cut.
struct Blocking {
  int edge_bits = kEdgeBits;    ///< log2 of the edge in every mode
  int block_bits = kBlockBits;  ///< log2 of the most cells of a block
  ValueType values = ValueType::f16;
};

/// log2 of the most cells of a result block, 4096: those of the paper's block with one contracted
/// mode, 64 x 64. A device keeps the sums of so many in the registers of four warps.
inline constexpr int kResultBits = 12;

/// Options of both formats: the first operand leads with its free modes, the second with the
/// contracted ones, in the order of the first's. Edges are the blocking's, halved where a block has
/// too many cells; a contracted mode has the shorter edge of both operands, and free modes are
/// halved until a result block has at most 2^kResultBits cells.
struct OperandOptions {
  OperandOptions(const Contraction& modes, const Blocking& blocking);
  Options x, y;
};

struct Operands {
  /// Throws InputError as to_bcb does.
  Operands(const Contraction& contraction, const Blocking& blocking, const Coo& x_tensor,
           const Coo& y_tensor);

  Contraction modes;
  Dims result_dims;
  Bcb x, y;

  /// A pair of blocks as matrices: rows() x contracted() times contracted() x columns().
  Index rows() const { return Index{1} << x.grid.leading_bits(); }
  Index contracted() const { return Index{1} << x.grid.trailing_bits(); }
  Index columns() const { return Index{1} << y.grid.trailing_bits(); }
};

}  // namespace retensor::bcb_sptc
