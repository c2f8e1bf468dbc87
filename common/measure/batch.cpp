// Apart from the loop of measure(), which rows are compared by: it stays as it was.
#include "common/measure/batch.hpp"

#include <algorithm>

#include "common/core/stage_log.hpp"
#include "common/device/device.hpp"
#include "common/run/all_modes.hpp"

namespace retensor {

BatchTime time_in_batch(const Trial& trial, int runs) {
  const auto prepared = prepare(*trial.method, *trial.problem, trial.params);
  const auto timer =
      trial.method->backend() == Backend::cuda ? device::make_event_timer() : make_host_timer();
  timer->start();
  prepared->run(*timer);
  const auto stages = static_cast<int>(std::max<std::size_t>(1, timer->stop().size()));
  BatchTime batch{std::clamp(static_cast<int>(StageLog::kCapacity) / stages, 1, runs), 0};
  timer->start();
  for (int k = 0; k < batch.runs; ++k) prepared->run(*timer);
  for (const auto& [stage, seconds] : timer->stop()) batch.seconds += seconds;
  return batch;
}

}  // namespace retensor
