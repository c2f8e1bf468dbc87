// Products of fragments by the tensor cores of the device.
#pragma once

#include <vector>

#include "tests/gpu/mma_kind.hpp"

namespace retensor {

/// Sets d to A B + C of every fragment: WMMA for N = 16, mma.sync for N = 8.
void multiply_on_device(const MmaKind& kind, const Fragments& x, std::vector<float>& d);

/// The same by WMMA with sums in half precision, of fragments m16n16k16 of fp16 whose c are halves.
void multiply_in_halves_on_device(const Fragments& x, std::vector<float>& d);

}  // namespace retensor
