#include "common/measure/registry.hpp"

namespace retensor {

void register_pasta(Registry&);

void register_pasta(Registry&) {}

}  // namespace retensor
