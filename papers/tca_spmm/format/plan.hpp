// The rows of S on warps and thread blocks (TCA-SpMM section 4.2, Algorithms 2 to 4, Fig. 3 and 4).
//
// A row of S fills c columns of the k x 8 fragment on the right, c the least power of two that its
// nonzeros fit into, at most 8; the 16 x k fragment on the left then has room for 16 / c columns of
// D, so an MMA gives 16 / c outputs of the row. For m16n8k8:
//
//   nonzeros   c   outputs an MMA   warps                         device function
//   1 to 8     1   16               1                             multirow_per_block, Algorithm 4
//   9 to 16    2   8                2                             multirow_per_block
//   17 to 32   4   4                4                             multirow_per_block
//   33 to 64   8   2                8                             multirow_per_block
//   above      8   2                8 a block, several blocks     multiblock_per_row, Algorithm 3
//
// A thread block has 8 warps. Short rows share a block, none lies in two; a row without nonzeros
// has no warp. The warps of a row divide its outputs, those of a longer row have the nonzeros of
// all its chunks of 64 added up. Tiles, the outputs of one fragment, go to the warps of a
// row in turn: of w warps each takes every w-th.
//
// Deviations: the paper gives a row above 64 nonzeros ceil(nonzeros / 64) blocks. It divides their
// N / 2 tiles, so beyond N / 16 blocks warps would have no outputs; here such blocks are not made.
// LongRows::nonzeros divides the nonzeros instead: each block takes one chunk and all outputs.
// Which rows share a block is not stated but for Fig. 4, where they stand in their order: a row
// that does not fit begins a new block, and the warps that are left over are idle.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/core/types.hpp"

namespace retensor::tca_spmm {

inline constexpr int kFragmentRows = 16;    ///< m of m16n8k8 and m16n8k16
inline constexpr int kFragmentColumns = 8;  ///< n
inline constexpr Count kWarpsPerBlock = 8;  ///< section 4.2
inline constexpr int kClasses = 5;          ///< rows of 1, 2, 4, 8 columns and longer ones
inline constexpr Index kNoRow = ~Index{0};  ///< row of a warp that has none

/// What the warps of a row above 64 nonzeros divide: its outputs (Algorithm 2) or its nonzeros.
enum class LongRows { outputs, nonzeros };
/// Rows take warps in their order (Fig. 4), or those of most warps first, which leaves no warp of
/// a block without a row but in the last one.
enum class Packing { in_order, by_class };

struct PlanOptions {
  int depth = 8;           ///< k of the MMA: 8 (the paper) or 16
  bool one_class = false;  ///< every row has 2 outputs an MMA, as eq. 1 counts
  bool one_warp = false;   ///< every row has one warp, no balancing
  LongRows long_rows = LongRows::outputs;
  Packing packing = Packing::in_order;

  /// Nonzeros of a fragment on the right.
  Count capacity() const { return static_cast<Count>(depth) * kFragmentColumns; }
};

/// What follows from the nonzeros of a row.
struct RowShape {
  int columns = 0;   ///< c, of the fragment on the right
  int outputs = 0;   ///< of an MMA, 16 / c
  Count chunks = 0;  ///< MMAs that add up to a fragment of outputs
  Count tiles = 0;   ///< fragments of outputs
  Count warps = 0;

  Count mma() const { return chunks * tiles; }  ///< eq. 2
};
/// Zeros for a row without nonzeros. `width`: N, outputs of a row.
RowShape row_shape(Count nonzeros, std::uint64_t width, const PlanOptions& options);
/// 0 to 4 as the table above; `nonzeros` > 0.
int row_class(Count nonzeros, const PlanOptions& options);

/// What a warp multiplies: tiles and chunks of a row, from the first to before the end.
struct Share {
  Count first_tile = 0, end_tile = 0;
  Count first_chunk = 0, end_chunk = 0;
  Count mma() const { return (end_tile - first_tile) * (end_chunk - first_chunk); }
};

/// The three arrays of section 4.2. Warps are numbered through all blocks.
struct Plan {
  PlanOptions options;
  std::uint64_t width = 0;                  ///< N
  std::vector<Index> row_id_for_each_warp;  ///< kNoRow where a warp has no row
  std::vector<Index> warpid_within_row;     ///< by warp
  std::vector<Index> num_warps_per_row;     ///< by row

  Count warps() const { return row_id_for_each_warp.size(); }
  Count blocks() const { return warps() / kWarpsPerBlock; }
  Count bytes() const;
  /// The part of a warp that has a row, whose nonzeros the caller tells.
  Share share(Count warp, Count nonzeros) const;
  /// Throws InputError that names the first warp or row which is not assigned as the head of this
  /// file says. `row_start`: of the CSR form of S.
  void check(std::span<const Count> row_start) const;
};

/// Throws InputError unless depth is 8 or 16, and where one warp is to divide nonzeros.
Plan make_plan(std::span<const Count> row_start, std::uint64_t width, const PlanOptions& options);

/// Sums over a plan, what rows of results tell.
struct PlanCounts {
  std::array<Count, kClasses> rows{};  ///< by class
  Count mma = 0;                       ///< eq. 2: each row as its class
  Count mma_one_class = 0;             ///< eq. 1: every row with 2 outputs an MMA
  Count without_row = 0;               ///< warps that have none
  Count without_outputs = 0;           ///< warps of a row that has less tiles than warps
  Count most_mma = 0;                  ///< of a warp

  Count idle() const { return without_row + without_outputs; }
};
PlanCounts count(const Plan& plan, std::span<const Count> row_start);

/// Blocks, and the fragments of each row, as Fig. 4 draws them: "block 0: 0 1 1 -; row 0: 8
/// nonzeros, 1 warps, 0123456789abcdef; ...". Of a block the row of each warp, of a row the output
/// (in hexadecimal) that each of the 16 rows of the left fragment belongs to.
std::string layout_text(const Plan& plan, std::span<const Count> row_start);

}  // namespace retensor::tca_spmm
