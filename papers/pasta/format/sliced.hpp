// Fibers of a short mode as sliced ELLPACK (SELL-C-sigma, Kreutzer et al., SIAM J. Sci. Comput.
// 2014), sorted by length over all: what TTV and TTM read when the product's factor fits into the
// shared memory of a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "papers/pasta/format/fibers.hpp"

namespace retensor::pasta {

/// Nonzeros of a record, and the most of a piece of a fiber.
inline constexpr Count kRecordNonzeros = 4, kPieceNonzeros = 256;
/// In place of a piece's row: there is none. A row that several pieces add to has kSharedRow set.
inline constexpr Index kNoRow = 0xffffffff;
inline constexpr Index kSharedRow = 0x80000000;

/// Pieces of similar length stand in slices of `pieces_of_slice`; record r of piece p of a slice is
/// number start + r pieces_of_slice + p. What fills a slice up has the value zero. Even pieces have
/// their even indices first and odd ones their odd indices, so that rows of 64 bytes that two
/// pieces read at a time mostly lie in different banks of shared memory.
struct SlicedFibers {
  unsigned pieces_of_slice = 0;
  std::vector<Index> start;   ///< first record of each slice, and the end
  std::vector<Index> row;     ///< fiber of each piece
  std::vector<Count> shared;  ///< fibers of several pieces
  std::vector<std::array<std::uint16_t, kRecordNonzeros>> indices;  ///< by record
  std::vector<std::array<float, kRecordNonzeros>> values;

  Count slices() const { return start.size() - 1; }
  Count bytes() const {
    return (start.size() + row.size()) * sizeof(Index) + shared.size() * sizeof(Count) +
           indices.size() * sizeof(indices[0]) + values.size() * sizeof(values[0]);
  }
};

/// Fibers in single precision of a mode of at most 2^16 indices. Throws InputError for 2^31 fibers
/// or 2^32 records and more.
SlicedFibers to_sliced(const FiberArrays& fibers, unsigned pieces_of_slice);

}  // namespace retensor::pasta
