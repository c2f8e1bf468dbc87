// The format that a method's parameters ask for, and what a row tells of it.
#pragma once

#include <cstdint>

#include "common/method/method.hpp"
#include "papers/flycoo/format/flycoo.hpp"

namespace retensor::flycoo {

/// The format that parameters ask for; `processors` is the number that kappa 0 stands for.
Options format_options(const Params& params, int processors, std::uint64_t seed);
/// What a row tells of a format: its options, bytes of a record, bits of a nonzero as stored and by
/// section 3.5.1, the load ratio of each mode and the largest.
Executed format_facts(const FlycooShape& tensor);
/// Rows of the result: the sum of the mode lengths.
std::uint64_t total_rows(const Dims& dims);

}  // namespace retensor::flycoo
