// Coordinate form, the interchange format of the project (PASTA section III.A).
#pragma once

#include <string>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/values.hpp"

namespace retensor {

/// Sparse tensor of order 1 to 8: one index array per mode and one value per nonzero. No order of
/// the nonzeros is implied; duplicates are legal until `dedupe`.
struct Coo {
  Dims dims;
  std::vector<std::vector<Index>> indices;  ///< indices[mode][nonzero], 0-based
  Values values;

  Coo() = default;
  /// `nnz` zero coordinates and values; throws InputError unless 1 <= order <= 8.
  Coo(Dims mode_lengths, DType type, Count nnz = 0);

  int order() const { return static_cast<int>(dims.size()); }
  Count nnz() const { return values.size(); }
  DType dtype() const { return values.dtype(); }
  /// Storage of section III.A: 4 (N + 1) M bytes in single precision.
  Count bytes() const;
  const Coo& to_coo() const { return *this; }

  /// Invariants: array lengths agree, every index below its mode length, values finite. Throws
  /// InputError that names the first offending nonzero and mode.
  void check() const;
};

/// The coordinate of nonzero x for messages, 1-based as in files: "(4, 1, 17)".
std::string coordinate_text(const Coo& tensor, Count x);

}  // namespace retensor
