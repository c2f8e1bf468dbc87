// Whether what a user asks for fits into the memory of the machine.
#pragma once

#include "common/core/types.hpp"

namespace retensor {

/// Throws OutOfMemory where the factors of a decomposition, with `ranks` columns by mode, are more
/// than the machine holds: the kernel would end the program without a word.
void expect_room_for_factors(const Dims& dims, const Dims& ranks, DType type);

}  // namespace retensor
