// Arrays whose elements have no value at first.
#pragma once

#include <new>
#include <utility>
#include <vector>

#include "common/tensor/array.hpp"

namespace retensor {

/// Leaves new elements without a value: a parallel loop is to touch them first.
template <class T>
struct UnsetAllocator : ArrayAllocator<T> {
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }
};

template <class T>
using UnsetArray = std::vector<T, UnsetAllocator<T>>;

}  // namespace retensor
