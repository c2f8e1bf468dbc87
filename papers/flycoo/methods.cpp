// Registers the methods of FLYCOO.
#include "common/measure/registry.hpp"

namespace retensor {

void register_flycoo(Registry& registry);

void register_flycoo(Registry&) {}

}  // namespace retensor
