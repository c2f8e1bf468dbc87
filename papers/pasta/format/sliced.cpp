#include "papers/pasta/format/sliced.hpp"

#include <algorithm>
#include <limits>

#include "common/core/error.hpp"

namespace retensor::pasta {
namespace {

struct Piece {
  Count first;  ///< nonzero
  std::uint32_t length;
  Index row;
};

/// The longest first.
std::vector<Piece> pieces_of(const FiberArrays& fibers) {
  std::vector<Piece> pieces;
  for (Count f = 0; f < fibers.fibers(); ++f) {
    const Count end = fibers.start[f + 1];
    const bool is_cut = end - fibers.start[f] > kPieceNonzeros;
    const Index row = static_cast<Index>(f) | (is_cut ? kSharedRow : 0);
    for (Count first = fibers.start[f]; first < end; first += kPieceNonzeros)
      pieces.push_back(
          {first, static_cast<std::uint32_t>(std::min(kPieceNonzeros, end - first)), row});
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.length > b.length; });
  return pieces;
}

Count records_of(const Piece& piece) {
  return (piece.length + kRecordNonzeros - 1) / kRecordNonzeros;
}

}  // namespace

SlicedFibers to_sliced(const FiberArrays& fibers, unsigned pieces_of_slice) {
  if (fibers.fibers() >= kSharedRow) throw InputError("found 2^31 fibers or more");
  const std::vector<Piece> pieces = pieces_of(fibers);
  SlicedFibers sliced;
  sliced.pieces_of_slice = pieces_of_slice;
  Count records = 0;
  for (Count p = 0; p < pieces.size(); p += pieces_of_slice) {
    sliced.start.push_back(static_cast<Index>(records));
    records += records_of(pieces[p]) * pieces_of_slice;
    if (records > std::numeric_limits<Index>::max())
      throw InputError("found 2^32 records of fibers or more");
  }
  sliced.start.push_back(static_cast<Index>(records));
  sliced.row.assign(sliced.slices() * pieces_of_slice, kNoRow);
  sliced.indices.resize(records);
  sliced.values.resize(records);
  const auto values = fibers.value.as<float>();
#pragma omp parallel for
  for (Count p = 0; p < pieces.size(); ++p) {
    sliced.row[p] = pieces[p].row;
    const Count first = sliced.start[p / pieces_of_slice] + p % pieces_of_slice;
    std::uint32_t place = 0;
    for (const Count parity : {p % 2, (p + 1) % 2})
      for (Count z = pieces[p].first; z < pieces[p].first + pieces[p].length; ++z) {
        if (fibers.index[z] % 2 != parity) continue;
        const Count record = first + place / kRecordNonzeros * pieces_of_slice;
        sliced.indices[record][place % kRecordNonzeros] =
            static_cast<std::uint16_t>(fibers.index[z]);
        sliced.values[record][place++ % kRecordNonzeros] = values[z];
      }
  }
  for (Count f = 0; f < fibers.fibers(); ++f)
    if (fibers.start[f + 1] - fibers.start[f] > kPieceNonzeros) sliced.shared.push_back(f);
  return sliced;
}

}  // namespace retensor::pasta
