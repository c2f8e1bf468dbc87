// What passes over several processes share, whether rows are exchanged on the host or on the
// device.
#pragma once

#include <string>
#include <utility>

#include "common/distribute/local_runs.hpp"
#include "common/distribute/passes.hpp"

namespace retensor::distribute {

class DistributedPasses : public Prepared, public Passes {
 public:
  DistributedPasses(int processes, const Share& share, const ProblemSpec& spec, LocalRuns local)
      : processes_(processes), share_(share), spec_(spec), local_(std::move(local)) {}

  void run(StageTimer& timer) override;
  Result result() override;
  Executed executed() const override;
  Footprint footprint() const override;
  Work work() const override { return local_.all().front()->work(); }
  void refresh(int m) override {
    for (const auto& each : local_.all()) each->refresh(m);
  }
  Passes* passes() override { return this; }

 protected:
  /// Where rows are exchanged, for `executed`.
  virtual std::string exchanged() const = 0;
  int order() const { return static_cast<int>(share_.grid.size()); }
  Count length(int mode) const { return share_.of_mode(0).dims[static_cast<std::size_t>(mode)]; }

  const int processes_;
  const Share& share_;
  const ProblemSpec spec_;
  LocalRuns local_;
};

/// Null where the runs of the method keep factors and results to themselves, and in a build without
/// CUDA.
std::unique_ptr<Prepared> passes_on_device(communicate::Communicator& processes, const Share& share,
                                           const ProblemSpec& spec, LocalRuns& local);

}  // namespace retensor::distribute
