// S as panels: an own format, the sparse row as an MMA's column.
//
// Eight rows of S are a group. Their nonzeros stand in blocks of 16 columns x 8 rows, the right
// operand of an MMA m16n8k16, of columns with a nonzero alone; the left operand is the 16 rows of D
// transposed, so nothing but a group's last block is padded. Several groups are a panel: the
// distinct columns of its rows are listed in ascending order and cut into stages of 256, and blocks
// name places in a stage, so that a thread block gathers a row of D once for the whole panel.
// Rows of similar length stand together, otherwise in their order.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/csr.hpp"

namespace retensor::tca_spmm {

inline constexpr unsigned kGroupRows = 8;
inline constexpr unsigned kBlockColumns = 16;
inline constexpr unsigned kStageColumns = 256;
inline constexpr unsigned kStageRowBytes = 128;  ///< of a row of D in a stage
inline constexpr unsigned kPlaceClasses = 4;     ///< places that differ by 4 have equal banks
/// Blocks behind the last that may be read.
inline constexpr unsigned kReadAhead = 8;
/// No row, no column.
inline constexpr Index kNone = ~Index{0};

/// Where the row of D at `place` stands in a stage, in bytes; its 16-byte vector v is at v * 16
/// exclusive-or this. Vectors 2 v and 2 v + 1 of places of four classes are in all 32 banks.
constexpr unsigned place_in_stage(unsigned place) {
  return place * kStageRowBytes | place % kPlaceClasses * 32;
}

/// 16 columns x 8 rows of S. Lane 4 g + t has of row g the columns 2 t, 2 t + 1, 2 t + 8 and
/// 2 t + 9 (binary16, the first in the low bits); `places` of the same four columns by t.
struct alignas(32) RowBlock {
  std::uint32_t values[32][2];
  std::uint16_t places[4][4];  ///< place_in_stage
};
static_assert(sizeof(RowBlock) == 288);

struct Panels {
  unsigned groups = 0;  ///< of a panel
  std::uint64_t rows = 0, cols = 0;
  std::vector<Index> row_order;    ///< by place in a panel, kNone behind the last
  std::vector<Index> stage_start;  ///< by panel, the last is the number of stages
  std::vector<Index> columns;      ///< kStageColumns a stage, kNone behind a panel's last
  /// First block, by panel, group, and stage of the panel and the one behind its last.
  std::vector<Index> block_start;
  std::vector<RowBlock> blocks;  ///< and kReadAhead zeros

  Count panels() const { return stage_start.size() - 1; }
  Index stages(Count panel) const { return stage_start[panel + 1] - stage_start[panel]; }
  /// Place in block_start of a panel's group 0, stage 0; a group has stages + 1 entries.
  Count starts(Count panel) const { return (stage_start[panel] + panel) * groups; }
  /// Columns that are listed, those of all panels.
  Count listed() const;
  Count bytes() const;
  /// The elements that are not zero, block by block, in single precision.
  Coo to_coo() const;
  /// Throws InputError naming the first row, column or block that breaks an invariant: array
  /// lengths, every row once, columns of a panel ascending, blocks that follow each other and name
  /// rows and columns that there are, values finite, zeros behind the last block.
  void check() const;
};

/// Calls f(block, number of its stage, its eight rows) for each block in their order.
template <class F>
void for_each_block(const Panels& panels, const F& f) {
  for (Count p = 0; p < panels.panels(); ++p)
    for (unsigned group = 0; group < panels.groups; ++group)
      for (Index s = 0; s < panels.stages(p); ++s) {
        const Index* const start =
            &panels.block_start[panels.starts(p) + group * (panels.stages(p) + Count{1}) + s];
        for (Index b = start[0]; b < start[1]; ++b)
          f(panels.blocks[b], panels.stage_start[p] + Count{s},
            &panels.row_order[(p * panels.groups + group) * kGroupRows]);
      }
}

/// `matrix` in single precision, columns of a row ascending; equal coordinates are added up, then
/// rounded. Throws InputError where it breaks an invariant of CSR or makes 2^32 blocks.
Panels to_panels(const Csr& matrix, unsigned groups);

}  // namespace retensor::tca_spmm
