// Dense operands that a caller gives in place of those that a problem draws.
#pragma once

#include <cstddef>

#include "common/method/problem.hpp"

namespace retensor {

/// Overwrites dense operand m of a problem with a matrix of its shape and type. A method that is
/// prepared already is told by Prepared::refresh. Throws InputError for another shape or type.
void set_operand(const Problem& problem, std::size_t m, const Matrix& from);

}  // namespace retensor
