// bcb_sptc.cuda.dense and bcb_sptc.cuda.rows of operands that are made. Included by .cu files
// alone.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::bcb_sptc {

struct DeviceMatricised;
struct GroupedOperands;

std::unique_ptr<Prepared> prepare_dense_cuda(const Problem& problem, GroupedOperands operands);
std::unique_ptr<Prepared> prepare_rows_cuda(const Problem& problem, DeviceMatricised matrices);

}  // namespace retensor::bcb_sptc
