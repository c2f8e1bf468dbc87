// The methods of FLYCOO, one factory each, and the parameters that they share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/measure/method.hpp"

namespace retensor::flycoo {

std::unique_ptr<Method> make_flycoo_cpu();            ///< flycoo.cpu
std::unique_ptr<Method> make_paper_cuda();            ///< flycoo.cuda
std::unique_ptr<Method> make_tuned_cuda(bool remap);  ///< flycoo.cuda.tuned, flycoo.cuda.copies

/// kappa (0: the number of `processors`, a word for the help), partition, order, indices, ids,
/// align, remap.
std::vector<ParamSpec> format_params(const std::string& processors);
/// MTTKRP over all modes of an order from 2 on, align a power of two; a reason for all else.
Support supports_format(const Problem& problem, const Params& params);

}  // namespace retensor::flycoo
