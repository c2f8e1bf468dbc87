// A method whose later preparation takes from an earlier one: what shows that the checks of
// variants that take turns can fail.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "common/core/error.hpp"
#include "common/method/method.hpp"
#include "tests/support/planted_method.hpp"

namespace retensor::test {

/// As a kernel that has the shared memory of the latest preparation. More warps take less time.
class LoweredMethod final : public Method {
 public:
  std::string_view id() const override { return "lowered.cpu"; }
  std::string_view summary() const override { return "runs with no more than was allowed last"; }
  Backend backend() const override { return Backend::cpu; }
  ParamSchema params() const override {
    return {param("warps", 4, "as much as a run needs").range(1, 8)};
  }
  Support supports(const Problem& p, const Params& params) const override {
    return right_.supports(p, params);
  }
  std::unique_ptr<Prepared> prepare(const Problem& p, const Params& params) const override {
    allowed_ = params.integer("warps");
    return std::make_unique<Run>(right_.prepare(p, {}), allowed_, allowed_);
  }

 private:
  class Run final : public Prepared {
   public:
    Run(std::unique_ptr<Prepared> inner, std::int64_t needed, const std::int64_t& allowed)
        : inner_(std::move(inner)), needed_(needed), allowed_(allowed) {}
    void run(StageTimer& timer) override {
      if (needed_ > allowed_) throw LogicError("invalid argument");
      for (std::int64_t turn = needed_; turn <= 8; turn *= 2) inner_->run(timer);
    }
    Result result() override { return inner_->result(); }
    Executed executed() const override { return inner_->executed(); }
    Footprint footprint() const override { return inner_->footprint(); }
    Work work() const override { return inner_->work(); }

   private:
    const std::unique_ptr<Prepared> inner_;
    const std::int64_t needed_;
    const std::int64_t& allowed_;
  };

  const PlantedMethod right_{Fault::none};
  mutable std::int64_t allowed_ = 0;
};

}  // namespace retensor::test
