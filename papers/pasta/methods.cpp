// Registers the suite's methods; the files named after a format and backend hold them.
#include "papers/pasta/methods.hpp"

#include "common/measure/registry.hpp"

namespace retensor {

void register_pasta(Registry& registry);

void register_pasta(Registry& registry) {
  registry.add(pasta::make_coo_cpu());
  registry.add(pasta::make_hicoo_cpu());
  registry.add(pasta::make_coo_cuda());
  registry.add(pasta::make_coo_cuda_tuned());
}

}  // namespace retensor
