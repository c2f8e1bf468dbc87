// The CUDA side of cusparse_spgemm.cuda.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::cusparse_spgemm {

/// Why the library cannot be used here; empty where it can.
std::string library_refusal();
/// Parameter `algorithm`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::cusparse_spgemm
