// The operands in half precision: S in CSR, D in either order of its elements.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/csr.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor::tca_spmm {

/// S, rows x cols (section 4.1: row_ptr, col_idx and values of CSR). Columns of a row may stand in
/// any order and more than once.
struct HalfCsr {
  std::uint64_t rows = 0, cols = 0;
  std::vector<Count> row_start;  ///< rows + 1 entries
  std::vector<Index> columns;
  Array<std::uint16_t> values;  ///< binary16, rounded to nearest even

  Count nnz() const { return values.size(); }
  Count bytes() const;
  /// The nonzeros row by row, those of a row in stored order, in single precision.
  Coo to_coo() const;
  /// Throws InputError as Csr does, and for a value that is not finite.
  void check() const;
};
/// `matrix` in single precision; throws InputError where `matrix` breaks an invariant of CSR.
HalfCsr to_half_csr(const Csr& matrix);

/// Elements of operands and results in memory.
enum class Element { half, single };
inline Count size_of(Element e) {
  return e == Element::half ? sizeof(std::uint16_t) : sizeof(float);
}

/// Order of the elements of D.
enum class DenseOrder { row_major, column_major };

/// D, rows x cols, in binary16, rounded to nearest even.
class HalfMatrix {
 public:
  /// `matrix` in single precision.
  HalfMatrix(const Matrix& matrix, DenseOrder order);
  std::uint64_t cols() const { return cols_; }
  Count bytes() const { return values_.size() * sizeof(std::uint16_t); }
  std::uint16_t operator()(std::uint64_t i, std::uint64_t j) const {
    return values_[i * row_stride_ + j * column_stride_];
  }

 private:
  std::uint64_t cols_, row_stride_, column_stride_;
  Array<std::uint16_t> values_;
};

}  // namespace retensor::tca_spmm
