// The device's ceilings in a build without CUDA: none.
#include "common/machine/ceilings.hpp"

namespace retensor {

std::vector<Ceiling> gpu_ceilings(double) {
  return {};
}

}  // namespace retensor
