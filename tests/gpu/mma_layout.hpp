// Which element of a fragment each lane of a warp holds in mma.sync, as the PTX ISA says under
// "Matrix Fragments for mma.m16n8k8" and its siblings. Element e counts the numbers of a lane.
#pragma once

namespace retensor {

struct Place {
  int row, column;
};

/// A, 16 x K, of fp16 and bf16 (K 8 or 16), two neighbours of a row to a register.
constexpr Place half_place_a(int lane, int e) {
  return {lane / 4 + 8 * (e / 2 % 2), 2 * (lane % 4) + e % 2 + 8 * (e / 4)};
}
/// B, K x 8.
constexpr Place half_place_b(int lane, int e) {
  return {2 * (lane % 4) + e % 2 + 8 * (e / 2), lane / 4};
}
/// A, 16 x K, of tf32 (K 4 or 8).
constexpr Place tf32_place_a(int lane, int e) {
  return {lane / 4 + 8 * (e % 2), lane % 4 + 4 * (e / 2)};
}
/// B, K x 8.
constexpr Place tf32_place_b(int lane, int e) {
  return {lane % 4 + 4 * e, lane / 4};
}
/// C and D, 16 x 8, of every type.
constexpr Place accumulator_place(int lane, int e) {
  return {lane / 4 + 8 * (e / 2), 2 * (lane % 4) + e % 2};
}

}  // namespace retensor
