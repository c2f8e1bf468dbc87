// What a worker answers: it loads one data set at a time and measures. Each error ends as a status,
// and each step's time is known.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/machine/ceilings.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/run/bench/precision.hpp"
#include "experiments/driver/run/bench/problems.hpp"
#include "experiments/driver/run/gpu_state.hpp"
#include "experiments/driver/run/worker.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {

/// The answer of `work`, or the status of the error that ended it.
nlohmann::json guarded(const std::function<nlohmann::json()>& work);
/// Seconds that `work` takes.
double timed(const std::function<void()>& work);

/// Ceilings as a session has them.
nlohmann::json ceilings_json(const std::vector<Ceiling>& ceilings);

class Bench {
 public:
  explicit Bench(const WorkerSetup& setup);

  /// The answer to a request (worker.hpp). Throws what a step throws.
  nlohmann::json answer(const nlohmann::json& request);
  /// The row that is to be profiled has been checked already.
  void run_profiled(const Case& c);

 private:
  struct Round;  ///< what a request to measure asks for, and what came of it

  const GpuState& gpu();
  nlohmann::json machine();
  nlohmann::json facts(const std::string& name) const;
  nlohmann::json shape(const std::string& name);
  void load(const std::string& name);
  nlohmann::json choose(const Case& c);
  nlohmann::json measure(const nlohmann::json& request);
  nlohmann::json pose(const Case& c, Round& round);
  nlohmann::json foreign_row(const Case& c, const Round& round);
  void measure_posed(const nlohmann::json& request, Round& round);

  Registry methods_;
  DatasetRegistry datasets_;
  std::string cache_dir_;
  std::unique_ptr<GpuState> gpu_;  ///< made when first needed
  std::string name_;
  std::shared_ptr<const Coo> tensor_;
  nlohmann::json data_;
  double load_seconds_ = 0;
  Count load_peak_ = 0;  ///< resident bytes while data was loaded and its facts were counted
  PosedProblems problems_;
};

}  // namespace retensor::driver
