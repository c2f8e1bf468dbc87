// The run of bcb_sptc.cuda.rows.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::bcb_sptc {

std::unique_ptr<Prepared> prepare_rows_cuda(const Problem& problem);

}  // namespace retensor::bcb_sptc
