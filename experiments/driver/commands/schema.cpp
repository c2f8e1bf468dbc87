// retensor schema: the described form of the files that users write.
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/judge/artifacts.hpp"
#include "experiments/driver/judge/audit/findings.hpp"
#include "experiments/driver/judge/claims.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

int schema_command(const Args& args) {
  const std::map<std::string, ShapePtr (*)()> shapes = {
      {"spec", spec_shape},     {"registry", registry_shape}, {"recipes", recipes_shape},
      {"claims", claims_shape}, {"findings", findings_shape}, {"artifacts", artifacts_shape}};
  const Usage usage{"schema KIND",
                    "Writes the JSON Schema (draft 2020-12) of a kind of file, for editors: spec, "
                    "registry, recipes, claims, findings, artifacts.",
                    "retensor schema spec > spec.schema.json", 1};
  const auto given = parse_options(usage, po::options_description(), args);
  if (!given) return 0;

  const auto kind = given->positional("spec, registry, recipes, claims, findings or artifacts");
  const auto known = shapes.find(kind);
  if (known == shapes.end())
    throw InputError(fmt::format("no kind of file '{}', the nearest is '{}'", kind,
                                 nearest(kind, names_of(shapes))));
  std::cout << json_schema(*known->second(), "ReTensor: " + kind).dump(2) << '\n';
  return 0;
}

}  // namespace retensor::driver
