// Allocation of dense matrices.
#include "common/tensor/matrix.hpp"

#include <fmt/format.h>

#include "common/core/error.hpp"

namespace retensor {

Matrix::Matrix(std::uint64_t rows, std::uint64_t cols, DType type, std::uint64_t ld)
    : rows_(rows), cols_(cols), ld_(ld == 0 ? cols : ld) {
  if (ld_ < cols_)
    throw InputError(fmt::format("leading dimension {} is below the {} columns", ld_, cols_));
  values_ = Values(type, checked_volume({rows_, ld_}));
}

}  // namespace retensor
