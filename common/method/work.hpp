// Work models: flops and bytes of an operation, declared once for all methods.
#pragma once

#include "common/core/types.hpp"

namespace retensor {

class Problem;

/// Counts of one run. `bytes` is the paper's model (PASTA Table I: irregular accesses counted in
/// full); `compulsory_bytes` counts every operand once, the floor that no method passes.
struct Work {
  double flops = 0;
  double bytes = 0;
  double compulsory_bytes = 0;
  double atomics = 0;
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
  Work& operator+=(const Work& other);
};

/// The model of the problem's operation on coordinates, any order: N indices of 4 bytes and a value
/// per nonzero; M_F fibers counted from the tensor. Formulas and sources stand in work.cpp.
Work work_model(const Problem& problem);

}  // namespace retensor
