// The methods of FLYCOO, one factory each, and the parameters that they share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/measure/method.hpp"
#include "papers/flycoo/format.hpp"

namespace retensor::flycoo {

std::unique_ptr<Method> make_flycoo_cpu();            ///< flycoo.cpu
std::unique_ptr<Method> make_paper_cuda();            ///< flycoo.cuda
std::unique_ptr<Method> make_tuned_cuda(bool remap);  ///< flycoo.cuda.tuned, flycoo.cuda.copies

/// kappa (0: the number of `processors`, a word for the help), partition, order, indices, ids,
/// align, remap.
std::vector<ParamSpec> format_params(const std::string& processors);
/// MTTKRP over all modes of an order from 2 on, align a power of two; a reason for all else.
Support supports_format(const Problem& problem, const Params& params);
/// The format that parameters ask for; `processors` is the number that kappa 0 stands for.
Options format_options(const Params& params, int processors, std::uint64_t seed);
/// What a row tells of a format: its options, bytes of a record, bits of a nonzero as stored and by
/// section 3.5.1, the load ratio of each mode and the largest.
Executed format_facts(const FlycooShape& tensor);
/// Rows of the result: the sum of the mode lengths.
std::uint64_t total_rows(const Dims& dims);

}  // namespace retensor::flycoo
