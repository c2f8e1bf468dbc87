// Values of tensors as numbers, and tensors of few nonzeros.
#pragma once

#include <vector>

#include "common/tensor/coo.hpp"

namespace retensor::test {

inline std::vector<double> doubles(const Values& v) {
  std::vector<double> d(v.size());
  for (Count i = 0; i < v.size(); ++i) d[i] = v.at(i);
  return d;
}

/// In single precision, with the values 1, 2, ... in the order of the coordinates.
inline Coo numbered(const Dims& dims, const std::vector<std::vector<Index>>& coordinates) {
  Coo tensor(dims, DType::f32, coordinates.size());
  for (Count p = 0; p < tensor.nnz(); ++p) {
    for (std::size_t m = 0; m < dims.size(); ++m) tensor.indices[m][p] = coordinates[p][m];
    tensor.values.set(p, static_cast<double>(p + 1));
  }
  return tensor;
}

}  // namespace retensor::test
