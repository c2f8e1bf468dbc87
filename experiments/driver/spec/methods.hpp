// The methods that a spec can name: this program's, and code from outside.
#pragma once

#include "common/method/registry.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

/// The methods of this program and those from outside that the spec names. An entry whose id is
/// none of this program's is looked up in the files methods/*.yaml of the working directory, and
/// gets what stands there. Throws ParseError for an id of which this program has a module.
Registry methods_for(Spec& spec);

}  // namespace retensor::driver
