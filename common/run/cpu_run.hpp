// What runs on the CPU share: the problem, the threads and the facts of a run.
#pragma once

#include <omp.h>

#include <string>
#include <utility>

#include "common/method/method.hpp"
#include "common/method/work.hpp"

namespace retensor {

/// The value of the parameter `threads`, or every core the process may use.
inline int thread_count(const Params& params) {
  const auto asked = static_cast<int>(params.integer("threads"));
  return asked > 0 ? asked : omp_get_max_threads();
}

/// Base of the runs: problem, threads and the row's facts.
class CpuRun : public Prepared {
 public:
  CpuRun(const Problem& problem, int threads, std::string kernel)
      : problem_(problem), threads_(threads) {
    executed_["kernel"] = std::move(kernel);
    executed_["threads"] = std::to_string(threads);
  }
  Executed executed() const override { return executed_; }
  Footprint footprint() const override { return {format_bytes_, 0}; }
  Work work() const override { return work_model(problem_); }

 protected:
  const Problem& problem_;
  const int threads_;
  Executed executed_;
  Count format_bytes_ = 0;
};

}  // namespace retensor
