// Contraction of two tensors in einsum notation, "abk,kcd->abcd": one letter per mode; letters that
// both operands share are summed over, all others appear in the result.
#pragma once

#include <string>
#include <vector>

#include "common/core/types.hpp"

namespace retensor {

/// The modes of a contraction by role. contracted_x[c] and contracted_y[c] are summed together;
/// free modes ascend; result mode k is mode `mode` of x or of y.
struct Contraction {
  struct Source {
    bool from_x;
    int mode;
  };
  std::vector<int> contracted_x, contracted_y;
  std::vector<int> free_x, free_y;
  std::vector<Source> result;

  /// Throws InputError when an operand's letters do not match its order or repeat, when contracted
  /// modes differ in length, or when the result is not made of each free letter once or has not 1
  /// to 8 modes.
  Contraction(const std::string& einsum, const Dims& x, const Dims& y);
  Dims result_dims(const Dims& x, const Dims& y) const;
};

}  // namespace retensor
