// The pattern of an element-wise result, which the paper predicts before the timed kernel (PASTA
// section III.B).
#pragma once

#include <string>
#include <vector>

#include "common/tensor/coo.hpp"

namespace retensor::pasta {

enum class Arithmetic { add, sub, mul, div };
/// Throws InputError for anything but add, sub, mul and div.
Arithmetic arithmetic(const std::string& variant);

/// Equal shape and equal coordinates in equal order: the case that the paper analyses.
bool same_pattern(const Coo& x, const Coo& y);

/// Where the other operand has no entry.
inline constexpr Count kAbsent = ~Count{0};

/// The predicted result of an element-wise operation, values still zero. For equal patterns in
/// equal order the maps stay empty; else z's entry i combines x[from_x[i]] and y[from_y[i]].
struct TewPattern {
  Coo z;
  std::vector<Count> from_x, from_y;
  bool equal() const { return from_x.empty() && from_y.empty(); }
};

/// The union of the patterns for add and sub, the intersection for mul, x's pattern for div, where
/// an absent denominator throws InputError with its coordinate. Tensors of different shape are
/// combined in the smallest shape that holds both.
TewPattern predict_pattern(const Coo& x, const Coo& y, Arithmetic op);

}  // namespace retensor::pasta
