// Stage times by CUDA events: one event where each stage begins and one at the end, all created
// before the first run. A short wait on the device precedes the first event, so that the host has
// enqueued the first kernels by then and the launch latency of an idle stream is not timed.
#include <array>

#include "common/core/stage_log.hpp"
#include "common/device/cuda.cuh"
#include "common/device/device.hpp"

namespace retensor::device {
namespace {

/// About 20 us at 2 GHz: longer than a few launches take, shorter than anybody notices.
constexpr long long kHeadStartCycles = 40'000;

__global__ void wait(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

class EventTimer final : public StageTimer {
 public:
  void start() override {
    log_.clear();
    stream_.synchronise();
    RETENSOR_CUDA_LAUNCH(wait, 1, 1, 0, stream_.get(), kHeadStartCycles);
    marks_[0].record(stream_.get());
  }

  void stage(std::string_view name) override {
    if (log_.size() > 0) marks_.at(log_.size()).record(stream_.get());
    log_.add(name);
  }

  StageTimes stop() override {
    if (log_.size() == 0) log_.add("kernel");
    Event& end = marks_[log_.size()];
    end.record(stream_.get());
    end.synchronise();
    return log_.collect([this](std::size_t k) { return marks_[k + 1].seconds_since(marks_[k]); });
  }

  void* stream() const override { return stream_.get(); }

 private:
  Stream stream_;
  std::array<Event, StageLog::kCapacity + 1> marks_;
  StageLog log_;
};

}  // namespace

std::unique_ptr<StageTimer> make_event_timer() {
  return std::make_unique<EventTimer>();
}

}  // namespace retensor::device
