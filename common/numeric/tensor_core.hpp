// One product of 16 x 16 x 16 on an emulated tensor core, in half precision and three others.
#pragma once

#include <array>
#include <string_view>

#include "common/numeric/stored.hpp"

namespace retensor {

/// split_fp16 takes each operand as the sum of two halves, x = h + l with h = fp16(x) and
/// l = fp16(x - h), and adds the products hh, hl and lh: l carries 11 more bits, so that what is
/// left out is of relative size 2^-22.
enum class Arithmetic { fp16, bf16, tf32, split_fp16 };
std::string_view name(Arithmetic arithmetic);
/// Throws InputError for any other name.
Arithmetic arithmetic_from_name(std::string_view text);
/// The narrowest storage that loses nothing more: f16, bf16, and f32 for the others.
ValueType storage_of(Arithmetic arithmetic);
/// MMAs of the hardware behind one product: 3 with split operands.
int products_of(Arithmetic arithmetic);

/// A fragment of 16 x 16, row-major.
inline constexpr Index kFragmentEdge = 16;
using Fragment = std::array<float, kFragmentEdge * kFragmentEdge>;

/// c += a b with operands rounded as the arithmetic says and sums as the tensor core makes them.
void multiply_add(Arithmetic arithmetic, const Fragment& a, const Fragment& b, Fragment& c);
/// The same in fp16 with sums in fp16 too; c holds such numbers. The core aligns and adds as it
/// does in single precision, but that a subnormal c is aligned as 2^-14 is, then rounds the sum to
/// the nearest half, ties to even; what becomes zero is +0 (tests/gpu/mma_test.cpp compares it with
/// WMMA).
void multiply_add_in_halves(const Fragment& a, const Fragment& b, Fragment& c);

}  // namespace retensor
