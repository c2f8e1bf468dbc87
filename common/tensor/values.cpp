// Memory of values and matrices, and conversion between the value types.
#include "common/tensor/values.hpp"

#include <sys/mman.h>

#include <new>

#include "common/core/message.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor {

void* allocate_array(std::size_t bytes) {
  constexpr std::size_t kLine = 64, kHugePage = std::size_t{2} << 20;
  // Smaller arrays would lose much of a huge page to rounding.
  const bool huge = bytes >= 2 * kHugePage;
  void* at = nullptr;
  if (posix_memalign(&at, huge ? kHugePage : kLine, bytes) != 0) throw std::bad_alloc();
  // A request: its failure changes speed alone.
  if (huge) madvise(at, bytes, MADV_HUGEPAGE);
  return at;
}

Values Values::cast(DType type) const {
  return visit([type](const auto& from) {
    return dispatch(type, [&from]<class T>() {
      Array<T> to(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from[i]);
      return Values(std::move(to));
    });
  });
}

Matrix::Matrix(std::uint64_t rows, std::uint64_t cols, DType type, std::uint64_t ld)
    : rows_(rows), cols_(cols), ld_(ld == 0 ? cols : ld) {
  if (ld_ < cols_) throw input_error("leading dimension {} is below the {} columns", ld_, cols_);
  values_ = Values(type, checked_volume({rows_, ld_}));
}

}  // namespace retensor
