// The CUDA side of cusparse.cuda and cusparse.cuda.ell.
#pragma once

#include <memory>
#include <string>

#include "common/method/method.hpp"

namespace retensor::cusparse {

/// CSR; parameters `types`, `dense` and `algorithm`.
std::unique_ptr<Prepared> prepare_csr(const Problem& problem, const Params& params);
/// Blocked-ELL; parameters `types` and `edge`.
std::unique_ptr<Prepared> prepare_ell(const Problem& problem, const Params& params);
/// Why the library could not be loaded; empty when it was.
std::string missing_library();

}  // namespace retensor::cusparse
