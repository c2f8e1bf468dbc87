// Aligned allocation; madvise is a request, so that its failure changes speed alone.
#include "common/tensor/array.hpp"

#include <sys/mman.h>

#include <new>

namespace retensor {

void* allocate_array(std::size_t bytes) {
  constexpr std::size_t kLine = 64, kHugePage = std::size_t{2} << 20;
  // Smaller arrays would lose much of a huge page to rounding.
  const bool huge = bytes >= 2 * kHugePage;
  void* at = nullptr;
  if (posix_memalign(&at, huge ? kHugePage : kLine, bytes) != 0) throw std::bad_alloc();
  if (huge) madvise(at, bytes, MADV_HUGEPAGE);
  return at;
}

}  // namespace retensor
