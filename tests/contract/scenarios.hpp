// Tensors of the contract battery.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/tensor/coo.hpp"

namespace retensor::contract {

struct Scenario {
  std::string name;
  std::shared_ptr<const Coo> x;
  bool duplicates = false;  ///< some coordinates occur more than once
  /// Second operand of tew, of other pattern and mode lengths; null: x's pattern.
  std::shared_ptr<const Coo> y = nullptr;
  bool covers = true;  ///< y holds every coordinate of x, so that x may be divided by it
};

/// All tensors of one order, 1 to 8, with values in [-1, 1).
std::vector<Scenario> scenarios(int order);

/// The one of them whose nonzeros are in no order, with values of a type.
std::shared_ptr<const Coo> unsorted_tensor(int order, DType dtype);

}  // namespace retensor::contract
