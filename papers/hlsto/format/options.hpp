// The format and the arithmetic that a method's parameters ask for, and what a row tells of a
// format.
#pragma once

#include "common/method/method.hpp"
#include "common/numeric/tensor_core.hpp"
#include "papers/hlsto/format/hls.hpp"

namespace retensor::hlsto {

Options format_options(const Problem& problem, const Params& params);
Arithmetic arithmetic_of(const Params& params);
/// The largest magnitude of a factor, at most 1, of the factor where that is least; the output's is
/// left out.
double least_of_factors(const Problem& problem);
/// What checks assume of two chained products on values as they are stored.
reference::Precision precision_of(const Problem& problem, const Params& params);
/// The same where the products are sums in half precision.
reference::Precision precision_of_halves(const Problem& problem, const Params& params);
/// Whether the elements of the result are halves too.
bool half_result(const Params& params);
/// What a row tells of sums in half precision.
Executed half_facts(const Params& params);
/// What a row tells of a format: threshold, tiles, dense tiles, sparse nonzeros, bits of an index
/// by eq. 11 and 13, bytes by eq. 16 and as stored.
Executed format_facts(const HlsShape& hls);

}  // namespace retensor::hlsto
