// BCB, the bit coordinate bitmap format of BCB-SpTC (section III, Fig. 2).
//
// A tensor is cut into blocks of H_1 x ... x H_K cells, powers of two. Of every non-empty block the
// format keeps a binary linear index, a bitmap of its cells, and its values in the order of the
// bits.
//
// For a contraction the modes are listed in two parts, a leading and a trailing one (section IV.A):
// the fields of the leading modes are the high bits of a block's index and of a cell's place. The
// first operand leads with its free modes, the second with the contracted ones. Then blocks of one
// result row, or of one contracted index, are neighbours, and a block's bitmap is a matrix of free
// by contracted cells, or of contracted by free ones, row after row.
//
// Edges: 8 x 8 x 8 for order 3, as in the paper; 8 x 8 x 8 x 8 for order 4, for which the paper
// gives none: its bitmap words are slices of 8 x 8 cells (section IV.B), which only the edge 8 in
// every mode keeps for every choice of contracted modes. 8^5 cells would take 4 KiB a block, so
// from order 5 on blocks have 4096 cells too, see `default_edge_bits`.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/core/types.hpp"
#include "common/numeric/stored.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/linear_index.hpp"

namespace retensor::bcb_sptc {

/// log2 of the longest edge and of the most cells of a block.
inline constexpr int kEdgeBits = 3, kBlockBits = 12;
inline constexpr int kMostBlockBits = 24;

struct Options {
  /// log2 of the block's edge in each mode; empty: `default_edge_bits`.
  std::vector<int> edge_bits = {};
  /// Every mode once, the most significant field first; empty: natural order.
  std::vector<int> modes = {};
  int leading = 0;  ///< of the modes listed, those of the leading part
  ValueType values = ValueType::f32;
};

/// kEdgeBits in every mode; the last of the longest edges is halved until a block has at most
/// 2^kBlockBits cells: 8 x 8 x 4 x 4 x 4 for order 5.
std::vector<int> default_edge_bits(int order);
/// Halves the last of the longest edges among `modes` until these have at most 2^bits cells.
void shrink(std::vector<int>& edge_bits, std::span<const int> modes, int bits);

/// Grid of blocks over a tensor: linear indices of blocks and of the cells inside.
class Grid {
 public:
  /// Throws InputError for an order other than 1 to 8, edges or modes that do not fit it, blocks of
  /// more than 2^24 cells, and block indices of more than 128 bits.
  Grid(const Dims& dims, const Options& options);

  int order() const { return static_cast<int>(modes_.size()); }
  const std::vector<int>& edge_bits() const { return edge_bits_; }
  const std::vector<int>& modes() const { return modes_; }
  int leading() const { return leading_; }
  /// Fields in the order of modes(): of a block its place along each, of a cell that in its block.
  const LinearIndex& block_index() const { return block_index_; }
  const LinearIndex& cell_index() const { return cell_index_; }

  int cell_bits() const { return cell_index_.bits(); }
  Count cells() const { return Count{1} << cell_bits(); }
  Count bitmap_words() const { return (cells() + 63) / 64; }  ///< of 64 bits
  /// The cells of a block as a matrix of 2^leading_bits() x 2^trailing_bits().
  int leading_bits() const { return cell_bits() - trailing_cell_bits_; }
  int trailing_bits() const { return trailing_cell_bits_; }
  /// The parts of a block's index.
  Uint128 leading_part(Uint128 block) const {
    // Two shifts: one by all 128 bits would be undefined.
    return trailing_block_bits_ == 0 ? block : block >> (trailing_block_bits_ - 1) >> 1;
  }
  Uint128 trailing_part(Uint128 block) const {
    return block ^ (trailing_block_bits_ == 128 ? 0 : leading_part(block) << trailing_block_bits_);
  }

  /// Bits of a block's index and of a cell; `key` puts the one above the other.
  int key_bits() const { return block_index_.bits() + cell_bits(); }
  template <class Key>
  Key key(std::span<const Index> index) const {
    std::array<Index, kMaxOrder> place{}, inside{};
    for (std::size_t m = 0; m < edge_bits_.size(); ++m) {
      place[m] = index[m] >> edge_bits_[m];
      inside[m] = index[m] & ((Index{1} << edge_bits_[m]) - 1);
    }
    return block_index_.encode<Key>(place) << cell_bits() | cell_index_.encode<Key>(inside);
  }
  /// The index of a block's first cell along mode modes()[k], and of a cell inside its block.
  Index origin(Uint128 block, int k) const {
    const auto mode = static_cast<std::size_t>(modes_[static_cast<std::size_t>(k)]);
    return block_index_.decode(block, k) << edge_bits_[mode];
  }
  Index within(Index cell, int k) const { return cell_index_.decode(cell, k); }

 private:
  std::vector<int> edge_bits_, modes_;
  int leading_ = 0;
  LinearIndex block_index_, cell_index_;
  int trailing_block_bits_ = 0, trailing_cell_bits_ = 0;
};

/// The format.
struct Bcb {
  /// Arrays for as many blocks and nonzeros, zero. Throws InputError as Grid does.
  Bcb(const Dims& mode_lengths, const Options& given, Count blocks = 0, Count nonzeros = 0);

  Dims dims;
  Options options;
  Grid grid;
  PackedIndices block_index;          ///< ascending
  std::vector<std::uint64_t> bitmap;  ///< grid.bitmap_words() a block, bit c % 64 of word c / 64
  std::vector<Count> value_start;     ///< blocks() + 1 entries
  StoredValues values;                ///< by block, then cell

  int order() const { return grid.order(); }
  Count blocks() const { return value_start.size() - 1; }
  Count nnz() const { return values.size(); }
  /// As stored: indices in words of 32, 64 or 128 bits, bitmaps in words of 64, offsets in 64 bits,
  /// which equation 8 leaves out.
  Count bytes() const;
  std::span<const std::uint64_t> bitmap_of(Count block) const {
    return std::span(bitmap).subspan(block * grid.bitmap_words(), grid.bitmap_words());
  }

  /// The nonzeros by block, then cell, with values as stored.
  Coo to_coo() const;
  /// Throws InputError naming the first block that breaks an invariant: array lengths, block
  /// indices ascending, no bit beyond the cells or the mode lengths, one bit or more in each block,
  /// as many values as bits.
  void check() const;
};

/// Conversion from coordinates on all cores (section III.A): nonzeros are sorted by block and cell,
/// then every block is one thread's. Values of a coordinate that stands several times are added up,
/// explicit zeros keep their bit. Throws InputError as Grid does, for double precision, for 2^32
/// and more blocks, and when the keys to sort by take more than 128 bits.
Bcb to_bcb(const Coo& tensor, const Options& options);

/// Throws InputError where `to_bcb` would because of shape, type or length of the keys.
void check_keys(const Coo& tensor, const Options& options);

/// Bits by equations 3 to 9. The logarithm of equation 3 is negative for a mode shorter than half
/// an edge; a field has 0 bits there, as LinearIndex gives it.
struct StorageBits {
  Count block_index = 0;  ///< W_bc, of one block (eq. 3)
  Count bitmap = 0;       ///< W_bm, of one block (eq. 5)
  Count indices = 0;      ///< D_bc (eq. 4)
  Count bitmaps = 0;      ///< D_bm (eq. 6)
  Count values = 0;       ///< D_val (eq. 7), 16 bits a value where half precision is stored
  Count coo = 0;          ///< D_COO (eq. 9)
  Count total() const { return indices + bitmaps + values; }  ///< D_B (eq. 8)
};
StorageBits storage_bits(const Grid& grid, ValueType values, Count blocks, Count nnz);

/// A small tensor as Fig. 2 draws it, in one line: of each block its linear index in binary with a
/// blank between modes, its bitmap from cell 0 on, and its values.
std::string layout_text(const Bcb& bcb);

}  // namespace retensor::bcb_sptc
