// retensor schema: the described form of the files that users write.
#include <iostream>
#include <map>

#include "common/core/text.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/judge/artifacts.hpp"
#include "experiments/driver/judge/audit/findings.hpp"
#include "experiments/driver/judge/claims.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

namespace {

const std::map<std::string, ShapePtr (*)()>& shapes() {
  static const std::map<std::string, ShapePtr (*)()> all = {
      {"spec", spec_shape},           {"registry", registry_shape}, {"recipes", recipes_shape},
      {"claims", claims_shape},       {"findings", findings_shape}, {"artifacts", artifacts_shape},
      {"methods", foreign_file_shape}};
  return all;
}

int schema_command(const Given& given) {
  const auto kind =
      given.positional("spec, registry, recipes, claims, findings, artifacts or methods");
  place_among(names_of(shapes()), kind, "unknown kind of file");
  std::cout << json_schema(*shapes().at(kind)(), "ReTensor: " + kind).dump(2) << '\n';
  return 0;
}

}  // namespace

Interface schema_interface() {
  const Usage usage{"schema spec|registry|recipes|claims|findings|artifacts|methods",
                    "Prints the JSON Schema (draft 2020-12) of a kind of file, for editors.",
                    "retensor schema spec > spec.schema.json", 1, "its output is JSON already"};
  return {usage, {}, schema_command};
}

}  // namespace retensor::driver
