// A spec expanded into cases, nothing run yet.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/measure/registry.hpp"
#include "common/measure/timing.hpp"
#include "experiments/driver/case.hpp"
#include "experiments/driver/datasets.hpp"
#include "experiments/driver/spec.hpp"

namespace retensor::driver {

struct Skip {
  Case what;
  std::string reason;
};

struct Plan {
  std::string artifact, title;
  std::string spec_path, spec_sha256;
  MeasureSpec measure;
  nlohmann::json figure;  ///< the spec's figure map, passed through to plots
  std::vector<Case> cases;
  std::vector<Skip> skips;
};

/// Crosses axes, walks zips, applies exclusions, resolves parameters. Throws InputError at the
/// spec's line for unknown methods, data sets, operations or values out of range. Loads no tensor:
/// `mode: all` uses the registry's dims.
Plan make_plan(const Spec& spec, const Registry& methods, const DatasetRegistry& datasets);

/// Bytes that a case needs at least: tensor, operands, result, oracle.
Count memory_estimate(const Case& c, const DatasetRegistry& datasets);

}  // namespace retensor::driver
