// The plan, the order of D and the types that a method's parameters ask for, and what a row tells
// of a plan.
#pragma once

#include <span>

#include "common/method/method.hpp"
#include "papers/tca_spmm/format/operands.hpp"
#include "papers/tca_spmm/format/plan.hpp"

namespace retensor::tca_spmm {

PlanOptions plan_options(const Params& params);
/// The parameter `dense`.
DenseOrder dense_order(const Params& params);
/// The parameter `output`.
Element output_of(const Params& params);
/// The parameter `types` of the competitors; sums are in single precision with any.
struct Types {
  Element operands, output;
};
Types types_of(const Params& params);
/// What a row tells of a plan: blocks, warps and those that are idle, rows by class, MMAs by
/// equations 1 and 2, the most and the mean MMAs of a warp with outputs.
Executed plan_facts(const Plan& plan, std::span<const Count> row_start);

}  // namespace retensor::tca_spmm
