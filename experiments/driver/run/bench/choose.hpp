// The planner's choice for a case of the method `auto`.
#pragma once

#include <memory>

#include <nlohmann/json.hpp>

#include "common/method/registry.hpp"
#include "common/tensor/coo.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {

/// {case, executed}: the case with what the planner takes for `auto`, and what it expects, for a
/// tensor of which tensor_facts() says `facts`. Throws InputError where nothing solves it.
nlohmann::json choose_planned(const Registry& methods, Case c,
                              const std::shared_ptr<const Coo>& tensor,
                              const nlohmann::json& facts);

}  // namespace retensor::driver
