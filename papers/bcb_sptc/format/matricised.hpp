// A contraction as a product of two sparse matrices: rows are x's free coordinates, y's free
// coordinates columns, contracted coordinates between them. Only coordinates that occur are
// numbered, so no product of mode lengths has to fit in an index.
#pragma once

#include <cstdint>
#include <vector>

#include "common/tensor/coo.hpp"
#include "common/tensor/einsum.hpp"

namespace retensor::bcb_sptc {

struct Matricised {
  /// Adds up values of equal coordinates; nonzeros of x without a partner in y are left out, and
  /// rows without any. Throws InputError for 2^32 - 1 and more nonzeros.
  Matricised(const Contraction& modes, const Coo& x, const Coo& y);

  // x in compressed rows, y in compressed rows by contracted coordinate ("groups").
  std::vector<std::uint32_t> row_start{0}, x_group;
  std::vector<float> x_values;
  std::vector<std::uint32_t> group_start{0}, y_column;
  std::vector<float> y_values;
  /// Coordinates along each free mode of x by row, of y by column.
  std::vector<std::vector<Index>> row_index, column_index;
  Count columns = 0;
  Count products = 0;  ///< of two nonzeros

  Count rows() const { return row_start.size() - 1; }
  Count groups() const { return group_start.size() - 1; }
  /// Throws InputError naming the first matrix that breaks an invariant: array lengths, no empty
  /// row or group, groups of a row and columns of a group ascending and in range, the number of
  /// products, values finite.
  void check() const;
};

}  // namespace retensor::bcb_sptc
