// Runs of methods that are not timed.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "common/device/device.hpp"
#include "common/measure/method.hpp"
#include "common/measure/timing.hpp"

namespace retensor::test {

using Given = std::map<std::string, ParamValue>;

/// A clock for runs on the host or on the device.
inline std::unique_ptr<StageTimer> timer_of(Backend backend) {
  return backend == Backend::cpu ? make_host_timer() : device::make_event_timer();
}

/// Runs as the timing loop does; the stages of the last one.
inline StageTimes run(Prepared& prepared, Backend backend, int times = 1) {
  const auto timer = timer_of(backend);
  StageTimes stages;
  for (int k = 0; k < times; ++k) {
    timer->start();
    prepared.run(*timer);
    stages = timer->stop();
  }
  return stages;
}

/// What a method prepared, after some runs.
inline std::unique_ptr<Prepared> after_runs(const Method& method, const Problem& problem,
                                            const Params& params, int times = 1) {
  auto prepared = method.prepare(problem, params);
  run(*prepared, method.backend(), times);
  return prepared;
}

/// With the method's standard parameters but for those given.
inline Result result_of(const Method& method, const Problem& problem, const Given& given = {}) {
  return after_runs(method, problem, method.params().resolve(given))->result();
}

}  // namespace retensor::test
