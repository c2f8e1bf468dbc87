// What the fields of a figure may be: those of the rows that its spec makes.
#pragma once

#include "common/method/registry.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

/// Checks the figure of a spec against the row schema and against the axes, parameters and values
/// of the spec that measures its rows. Throws ParseError with the nearest valid name. The names
/// under `executed` and `phases.stages` are the methods' own: only rows tell them.
void check_figure(const Spec& spec, const Registry& methods);

}  // namespace retensor::driver
