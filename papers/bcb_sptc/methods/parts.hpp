// Contractions of a part of a problem's nonzeros, and their untimed runs.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "common/core/stage_timer.hpp"
#include "common/method/problem.hpp"

namespace retensor::bcb_sptc {

/// The timer of a run that nobody times, on a stream of the device, by default the default one.
class NoTimer : public StageTimer {
 public:
  explicit NoTimer(void* stream = nullptr) : stream_(stream) {}
  void start() override {}
  void stage(std::string_view) override {}
  StageTimes stop() override { return {}; }
  void* stream() const override { return stream_; }

 private:
  void* const stream_;
};

/// Stays with the caller.
inline std::shared_ptr<const Coo> borrowed(const Coo& tensor) {
  return {std::shared_ptr<const Coo>(), &tensor};
}

/// Nonzeros `first` to last - 1.
std::shared_ptr<const Coo> part(const Coo& tensor, Count first, Count last);

/// The contraction of `problem` with other nonzeros and another alpha.
Problem with_operands(const Problem& problem, std::shared_ptr<const Coo> x,
                      std::shared_ptr<const Coo> y, double alpha);

}  // namespace retensor::bcb_sptc
