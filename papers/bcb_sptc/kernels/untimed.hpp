// Timers of runs inside of a run or before the first.
#pragma once

#include <string_view>

#include "common/core/stage_timer.hpp"

namespace retensor::bcb_sptc {

/// The timer of a run that nobody times, on the default stream of a device.
class NoTimer : public StageTimer {
 public:
  void start() override {}
  void stage(std::string_view) override {}
  StageTimes stop() override { return {}; }
};

/// The same on a stream of a device.
class StreamTimer : public NoTimer {
 public:
  explicit StreamTimer(void* stream) : stream_(stream) {}
  void* stream() const override { return stream_; }

 private:
  void* const stream_;
};

}  // namespace retensor::bcb_sptc
