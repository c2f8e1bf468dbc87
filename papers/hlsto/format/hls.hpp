// HLS, the hybrid linear storage of HLSTO (section V, Fig. 3 and 4).
//
// Three modes are cut into tiles of edge S. A tile with at least T nonzeros is dense (HLS-D): a
// linear index of the tile, a bitmap of its S^3 cells, and its values in the order of the bits.
// Nonzeros of the other tiles are sparse (HLS-S): a linear index and a value each.
//
// Orders above 3, which the paper leaves open: the modes beside the tiled ones are kept, so all
// nonzeros of a tile agree in them, and their indices stand in the tile's linear index behind those
// of the tile. A bitmap over four modes would have S^4 cells, 8 KiB at edge 16, and slices that are
// no matrices; with kept modes every kernel stays that of order 3, whose tile is multiplied by the
// row of one index in each further factor.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "common/core/types.hpp"
#include "common/numeric/stored.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/linear_index.hpp"

namespace retensor::hlsto {

/// A place or a mode as a subscript.
inline std::size_t at(int k) {
  return static_cast<std::size_t>(k);
}

inline constexpr int kTiledModes = 3;
inline constexpr int kHighestOrder = 5;

struct Options {
  int edge_bits = 4;     ///< tile edge S = 2^edge_bits: 8, 16 (the paper) or 32
  Count threshold = 78;  ///< T: nonzeros from which a tile is dense; 1: all are, HLS-D alone
  ValueType values = ValueType::f16;  ///< the paper's is f16 (section V.C)
  /// Tiled modes, ascending; empty: the three longest, since tiles of short modes are cut off.
  std::vector<int> tiled = {};
};

/// The threshold that leaves every tile sparse, HLS-S alone.
inline constexpr Count kNoTileIsDense = ~Count{0};

/// Modes by descending length, equal ones in natural order.
std::vector<int> longest_first(const Dims& dims);

/// Grid of tiles over a tensor and the linear indices of its tiles and nonzeros.
class Grid {
 public:
  /// Throws InputError for an order other than 3 to 5, an edge other than 1 to 32, tiled modes that
  /// are not three different ones of the tensor in ascending order, or more than 128 bits.
  Grid(const Dims& dims, const Options& options);
  int edge_bits() const { return edge_bits_; }
  Index edge() const { return Index{1} << edge_bits_; }
  /// Cells of a tile.
  Index cells() const { return Index{1} << cell_bits(); }
  int cell_bits() const { return 3 * edge_bits_; }
  Count bitmap_words() const { return (cells() + 63) / 64; }  ///< of 64 bits
  const std::array<int, kTiledModes>& tiled() const { return tiled_; }
  const std::vector<int>& kept() const { return kept_; }
  /// Of a nonzero: all modes in natural order (Fig. 4a).
  const LinearIndex& nonzero_index() const { return nonzero_index_; }
  /// Of a tile: its place along each tiled mode, then the indices of the kept modes.
  const LinearIndex& tile_index() const { return tile_index_; }
  /// The index of a tile's first cell along tiled mode k (0 to 2), of kept mode k - 3 beyond.
  Index origin(Uint128 tile, int k) const {
    return tile_index_.decode(tile, k) << (k < kTiledModes ? edge_bits_ : 0);
  }
  /// Bit of a cell: the lowest tiled mode takes the highest bits, so that the slices of section
  /// IV.B are contiguous for an output along that mode.
  Index cell(std::span<const Index, kTiledModes> within) const {
    return (within[0] << (2 * edge_bits_)) | (within[1] << edge_bits_) | within[2];
  }
  /// Coordinate of a cell along tiled mode k inside its tile.
  Index within(Index cell, int k) const {
    return (cell >> ((kTiledModes - 1 - k) * edge_bits_)) & (edge() - 1);
  }
  /// Bits of a tile's index and of a cell.
  int key_bits() const { return tile_index_.bits() + cell_bits(); }
  /// Where the nonzero of index[mode] lies: the index of its tile, below it that of its cell. Key
  /// has at least key_bits() bits.
  template <class Key>
  Key key(std::span<const Index> index) const {
    std::array<Index, kHighestOrder> place{};
    std::array<Index, kTiledModes> inside{};
    for (std::size_t k = 0; k < kTiledModes; ++k) {
      const Index i = index[at(tiled_[k])];
      place[k] = i >> edge_bits_;
      inside[k] = i & (edge() - 1);
    }
    for (std::size_t k = 0; k < kept_.size(); ++k) place[kTiledModes + k] = index[at(kept_[k])];
    return tile_index_.encode<Key>(place) << cell_bits() | cell(inside);
  }
  /// index[mode] of a tile's cell.
  void decode(Uint128 tile, Index cell, std::span<Index> index) const;

 private:
  int edge_bits_ = 4;
  std::array<int, kTiledModes> tiled_{};
  std::vector<int> kept_;
  LinearIndex nonzero_index_, tile_index_;
};

/// HLS without its arrays: its grid, and how much of it is dense.
struct HlsShape {
  /// Nothing is dense or sparse yet. Throws InputError as Grid does.
  HlsShape(const Dims& mode_lengths, const Options& given)
      : dims(mode_lengths), options(given), grid(mode_lengths, given) {}

  Dims dims;
  Options options;
  Grid grid;
  Count tiles = 0;           ///< non-empty ones, sparse included
  Count dense_tiles = 0;     ///< [nmb]
  Count dense_nonzeros = 0;  ///< in dense tiles
  Count sparse_nonzeros = 0;

  Count nnz() const { return dense_nonzeros + sparse_nonzeros; }
  /// Bytes as stored: indices in words of 32, 64 or 128 bits, offsets in 64.
  Count bytes() const { return index_bytes() + nnz() * bits_of(options.values) / 8; }
  Count index_bytes() const;  ///< bytes() without the values
};

/// The format; in brackets the paper's names (section V.B).
struct Hls : HlsShape {
  /// Arrays of the lengths that the shape gives, zero.
  explicit Hls(const HlsShape& shape);

  PackedIndices tile_index;  ///< [b_inds] ascending
  /// [b_bmp] grid.bitmap_words() a tile, bit c % 64 of word c / 64.
  std::vector<std::uint64_t> bitmap;
  std::vector<Count> value_start;  ///< [b_vals_ptr] dense_tiles + 1 entries
  StoredValues dense_values;       ///< [b_vals]
  PackedIndices nonzero_index;     ///< [nnz_inds] by tile, then cell
  StoredValues sparse_values;      ///< [nnz_vals]

  /// Whether a cell of a dense tile has a nonzero.
  bool holds(Count tile, Index cell) const {
    return (bitmap[tile * grid.bitmap_words() + cell / 64] >> (cell % 64) & 1) != 0;
  }
  /// The nonzeros, those of dense tiles first, with values as stored.
  Coo to_coo() const;
  /// Throws InputError naming the first tile or nonzero that breaks an invariant: array lengths,
  /// tiles ascending, indices inside the mode lengths, as many values as bits, at least `threshold`
  /// nonzeros in a dense tile and fewer in the sparse nonzeros of any other.
  void check() const;
};

/// Conversion from coordinates on all cores without atomics (section V.A: tiling, classifying,
/// linearising, bitmaps): nonzeros are sorted by tile and cell, then every tile is one thread's.
/// Values of a coordinate that stands several times are added up. Throws InputError as Grid does
/// and for double precision.
Hls to_hls(const Coo& tensor, const Options& options);

/// Nonzeros of every non-empty tile, in ascending order of the tiles.
std::vector<Count> tile_sizes(const Coo& tensor, const Grid& grid);

/// A small tensor as Fig. 3 and 4 draw it, in one line: of each dense tile D its linear index in
/// binary with a blank between modes, its bitmap from cell 0 on and its values; of each sparse
/// nonzero S index and value.
std::string layout_text(const Hls& hls);

/// Bits of the parts of HLS by equations 11 to 15; their sum is equation 16. For orders above 3
/// equation 13 has the bits of the kept indices too.
struct StorageBits {
  Count sparse_index = 0, sparse_values = 0;            ///< eq. 11 and 12
  Count tile_index = 0, bitmaps = 0, dense_values = 0;  ///< eq. 13, 14 and 15
  Count total() const { return sparse_index + sparse_values + tile_index + bitmaps + dense_values; }
};
/// Of `nnz` nonzeros, `sparse` of them outside `dense_tiles` dense tiles.
StorageBits storage_bits(const Grid& grid, ValueType values, Count nnz, Count sparse,
                         Count dense_tiles);

/// The most nonzeros of which HLS is made on the device: CUB may count them, and the ends of tiles,
/// in an int.
inline constexpr Count kMostOnDevice = (Count{1} << 31) - 2;

}  // namespace retensor::hlsto
