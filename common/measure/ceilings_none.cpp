// The device's ceilings in a build without CUDA: none.
#include "common/measure/ceilings.hpp"

namespace retensor {

std::vector<Ceiling> gpu_ceilings(double) {
  return {};
}

}  // namespace retensor
