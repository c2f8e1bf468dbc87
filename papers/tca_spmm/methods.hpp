// The methods of TCA-SpMM, one factory each.
#pragma once

#include <memory>

#include "common/measure/method.hpp"
#include "papers/tca_spmm/plan.hpp"

namespace retensor::tca_spmm {

std::unique_ptr<Method> make_tca_spmm_cpu();  ///< tca_spmm.cpu

/// depth, classes, warps, long_rows, packing, dense, output.
std::vector<ParamSpec> kernel_params();
/// Sparse times dense matrix in single precision; a reason for all else.
Support supports_kernel(const Problem& problem, const Params& params);
PlanOptions plan_options(const Params& params);
/// fp16 operands, sums of a tensor core, outputs as the parameter says.
reference::Precision kernel_precision(const Params& params);
/// What a row tells of a plan: blocks, warps and those that are idle, rows by class, MMAs by
/// equations 1 and 2, the most and the mean MMAs of a warp with outputs.
Executed plan_facts(const Plan& plan, std::span<const Count> row_start);

}  // namespace retensor::tca_spmm
