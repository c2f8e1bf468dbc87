// A tensor for MTTKRP of one mode: nonzeros by output row, their other coordinates packed in one
// word of 32 or 64 bits. An own format: half the index bytes of coordinates, and one load for all
// of a nonzero's coordinates.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/values.hpp"

namespace retensor::pasta {

/// Bits of the coordinates beside that of `mode`.
int packed_bits(const Dims& dims, int mode);
inline constexpr int kMostPackedBits = 64;

struct PackedRows {
  Dims dims;
  int mode = 0;
  /// The other modes, ascending, those of one index last: the first has the highest bits, and a
  /// kernel may shift them without a mask.
  std::vector<int> others;
  std::vector<int> shift, width;
  std::vector<Index> run_row;    ///< rows that have nonzeros, ascending
  std::vector<Count> run_start;  ///< first nonzero of each, and the number of nonzeros
  /// A word a nonzero: of 32 bits where they suffice.
  std::variant<Array<std::uint32_t>, Array<std::uint64_t>> words;
  Values values;

  int order() const { return static_cast<int>(dims.size()); }
  Count nnz() const { return values.size(); }
  Count bytes() const {
    return run_row.size() * sizeof(Index) + run_start.size() * sizeof(Count) +
           std::visit([](const auto& w) { return w.size() * sizeof(w[0]); }, words) +
           values.bytes();
  }
  /// The nonzeros by row, those of a row in the order of the input.
  Coo to_coo() const;
  /// Throws InputError for rows that do not ascend, runs without nonzeros, array lengths that
  /// disagree, and a coordinate beyond its mode.
  void check() const;
};

/// Throws InputError for coordinates of more than kMostPackedBits bits.
PackedRows to_packed_rows(const Coo& tensor, int mode);

}  // namespace retensor::pasta
