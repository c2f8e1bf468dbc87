// parti.cuda: MTTKRP on coordinates with atomics, as the ParTI library does it on GPUs.
#include "common/method/registry.hpp"

namespace retensor {
namespace parti {
Prepare prepare_cuda;  // parti_cuda.cu
}

void register_parti(Registry& registry) {
  registry.add({
      .id = "parti.cuda",
      .summary = "MTTKRP on coordinates, one atomic add per nonzero and column (ParTI)",
      .operations = {Operation::mttkrp},
      .prepare = RETENSOR_DEVICE_PART(parti::prepare_cuda),
      .converts_least = true,
  });
}

}  // namespace retensor
