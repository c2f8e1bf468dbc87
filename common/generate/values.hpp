// Models for the values of nonzeros and dense operands.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/core/types.hpp"
#include "common/tensor/values.hpp"

namespace retensor {

/// stored: as in the file (for dense operands: uniform). uniform: (0, 1]. signed_uniform: [-1, 1).
/// normal: mean 0, deviation 1. lognormal: exp of a normal. ratings: integers 1 to 5.
/// near_overflow: magnitudes whose pairwise products lie just below the largest fp16 (65504).
/// integers: -4 to 4 without 0, for exact tests. ones: all 1.
enum class ValueModel {
  stored,
  uniform,
  signed_uniform,
  normal,
  lognormal,
  ratings,
  near_overflow,
  integers,
  ones
};

std::string_view name(ValueModel model);
/// Throws InputError naming the valid models.
ValueModel value_model_from_name(std::string_view text);

/// n values; element i depends on (model, seed, stream, i) alone. `stored` acts as uniform.
Values draw_values(ValueModel model, DType type, Count n, std::uint64_t seed, std::uint64_t stream);

}  // namespace retensor
