// A spec expanded into cases, nothing run yet, and which of them a machine's methods decline.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/method/registry.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

struct Skip {
  Case what;
  std::string reason;
  Count memory = 0;  ///< bytes that the case needs, where the spec allows fewer
};

struct Plan {
  std::string artifact, title;
  std::string spec_path, spec_sha256;
  MeasureSpec measure;
  std::vector<Case> cases;
  std::vector<Skip> skips;
  std::vector<std::string> notes;  ///< on exclusions that match no case: profiles may need them
};

/// Crosses axes, walks zips, applies exclusions, resolves parameters; a case for every launch. Data
/// sets are outermost, then operations. Combinations that differ only in what their operation does
/// not use are one case. What can't run becomes a skip: exclusions, private data, a mode or variant
/// that does not fit the tensor, an estimate above the spec's memory. Throws ParseError at the
/// spec's line for unknown methods, data sets or parameters, values out of range, and more than
/// 100,000 combinations. Loads no tensor but those given by path: `mode: all` uses the registry's
/// dims. NAME@all becomes a stand-in and its variants.
Plan make_plan(const Spec& spec, const Registry& methods, const DatasetRegistry& datasets);

/// The peak of a worker's host memory in bytes, of loading from the cache, oracle and method, as if
/// the nonzeros were drawn uniformly. Text that is parsed, recipes and the CUDA driver come on top.
Count memory_estimate(const Case& c, const DatasetRegistry& datasets, const Method& method);

/// Moves the cases that `run` would record as unsupported on this machine to the end of the skips,
/// with the method's reason; returns how many. Methods are asked about the tensor itself where the
/// cache folder has it and it is small, else about its order and mode lengths: a method that
/// declines only because of the nonzeros of a large tensor, or of one that is not here, keeps its
/// case.
std::size_t skip_declined(Plan& plan, const Registry& methods, const DatasetRegistry& datasets,
                          const std::string& cache_dir);

/// Throws InputError for a spec that measures nothing, and ParseError for one that names code from
/// outside unless it may run.
Plan plan_to_measure(const std::string& spec_path, const std::string& profile,
                     const DatasetRegistry& datasets, bool allow_foreign);

/// Checks the figure of a spec against the row schema and against the axes, parameters and values
/// of the spec that measures its rows. Throws ParseError with the nearest valid name. The names
/// under `executed` and `phases.stages` are the methods' own: only rows tell them.
void check_figure(const Spec& spec, const Registry& methods);

/// Checks that each case of a figure of speedups has one case to be compared with at most, and that
/// no series which `to` or `of` names is left out. Throws ParseError; where only rows tell, plots
/// do.
void check_comparison(const Spec& spec, const Registry& methods, const std::vector<Case>& cases);

}  // namespace retensor::driver
