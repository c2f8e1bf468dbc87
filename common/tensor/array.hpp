// The storage of values and matrices: std::vector with memory aligned for kernels.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace retensor {

/// Memory that begins with a cache line, so that a row of 64 bytes lies in one; large arrays lie on
/// huge pages where the system grants them, since random rows of a large matrix would each miss the
/// TLB. Freed by std::free; throws std::bad_alloc.
void* allocate_array(std::size_t bytes);

template <class T>
struct ArrayAllocator {
  using value_type = T;
  ArrayAllocator() = default;
  template <class U>
  ArrayAllocator(const ArrayAllocator<U>&) {}  // NOLINT: allocators convert
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_array(n * sizeof(T))); }
  void deallocate(T* at, std::size_t) { std::free(at); }
  bool operator==(const ArrayAllocator&) const = default;
};

template <class T>
using Array = std::vector<T, ArrayAllocator<T>>;

}  // namespace retensor
