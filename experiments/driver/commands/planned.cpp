// What `run`, `submit` and `gather` refuse before they do anything.
#include "experiments/driver/commands/planned.hpp"

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "experiments/driver/spec/foreign.hpp"
#include "experiments/driver/spec/methods.hpp"

namespace retensor::driver {
namespace {

/// A spec is data, whoever wrote it, until its reader says otherwise.
void refuse_foreign(const Spec& spec) {
  for (const auto& entry : spec.methods)
    if (entry.foreign && !entry.foreign->own)
      throw ParseError(entry.at, fmt::format("code from outside, {}", entry.foreign->path),
                       "--allow-foreign on the command line, which lets it run with your rights");
}

}  // namespace

Plan plan_to_measure(const std::string& spec_path, const std::string& profile,
                     const DatasetRegistry& datasets, bool allow_foreign) {
  auto spec = load_spec(spec_path, profile);
  if (!spec.of.empty())
    throw InputError(
        fmt::format("{}: this spec measures nothing: it draws the rows of {}; run that spec",
                    spec.path, spec.of));
  const auto methods = methods_for(spec);
  if (!allow_foreign) refuse_foreign(spec);
  return make_plan(spec, methods, datasets);
}

}  // namespace retensor::driver
