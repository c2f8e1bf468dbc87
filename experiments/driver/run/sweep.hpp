// A plan carried out: every case ends as one row of a result file.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/run/stop.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {

struct SweepOptions {
  /// Result file, or a folder that is there, for <paper>-<artifact>.jsonl; empty: results_path().
  std::string out;
  Locations at;
  std::vector<std::string> argv;  ///< for the session line
  bool each_machine = false;      ///< measure what only other machines of the model have measured
  bool rerun = false;             ///< measure stored cases again
  bool profile = false;           ///< attach hardware counters to the rows of GPU methods
  bool keep_oracles = false;      ///< for the next spec on the same data sets
  std::set<std::string> awaited;  ///< data sets of later sweeps, whose oracles are kept anyway
  bool quiet = false;
};

struct SweepResult {
  std::string path;  ///< of the result file
  /// Cases whose row has another status than ok and those that the spec expects, stored ones too.
  std::size_t not_ok = 0;
  std::size_t stored = 0;      ///< cases that were not measured again
  std::set<std::string> keys;  ///< of the rows of all cases, stored ones too
  bool stopped = false;        ///< by a signal, before the last case
};

/// Runs the cases that the result file does not hold yet, data set by data set. Throws InputError
/// and SystemError of Store; whatever a case does ends in its row.
SweepResult run_sweep(const Plan& plan, const DatasetRegistry& datasets,
                      const SweepOptions& options, StopSignals& stop);

/// <paper>-<artifact>.jsonl.
std::string results_name(std::string artifact);
/// out/results/<device>/ and that name, the device named after the GPU that can be used, else the
/// processor.
std::string results_path(const nlohmann::json& machine, const std::string& artifact);
/// `out`; where it is a folder that is there results_name() in it, where it is empty
/// results_path().
std::string results_file(const std::string& out, const nlohmann::json& machine,
                         const std::string& artifact);
/// Lower-case letters and digits, everything else a single dash.
std::string slug(const std::string& text);

/// Cases of one data set that go to a worker together, in the order in which they run: launch by
/// launch, problems shuffled by the seed, methods shuffled within a problem. The modes of a method
/// are one group if the spec asks for rotation, the methods of a problem if it asks for turns.
std::vector<std::vector<Case>> schedule(std::vector<Case> cases, std::uint64_t seed);

}  // namespace retensor::driver
