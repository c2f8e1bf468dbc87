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
};

/// All tensors of one order, 1 to 5, with values in [-1, 1).
std::vector<Scenario> scenarios(int order);

}  // namespace retensor::contract
