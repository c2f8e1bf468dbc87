// Methods that misbehave, for tests of the driver: each wraps a sound method and does one thing
// wrong in its run.
#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "common/method/registry.hpp"

namespace retensor {

void register_pasta(Registry&);

namespace test {

using Fault = std::function<void()>;  ///< what a run does before its sound part; may be empty

class FaultyPrepared : public Prepared {
 public:
  FaultyPrepared(std::unique_ptr<Prepared> inner, Fault fault, bool wrong)
      : inner_(std::move(inner)), fault_(std::move(fault)), wrong_(wrong) {}
  void run(StageTimer& timer) override {
    if (fault_) fault_();
    inner_->run(timer);
  }
  Result result() override {
    auto result = inner_->result();
    if (wrong_) {
      auto& values = std::get<Coo>(result).values;
      values.set(0, values.at(0) * 1.01);
    }
    return result;
  }
  Executed executed() const override { return {{"process", std::to_string(getpid())}}; }
  Footprint footprint() const override { return inner_->footprint(); }
  Work work() const override { return inner_->work(); }

 private:
  std::unique_ptr<Prepared> inner_;
  Fault fault_;
  bool wrong_;
};

/// `sound` is the id of the method that is wrapped. A method whose id ends with .wrong changes a
/// value of its result, one that ends with .unsupported declines, one that ends with .once can't be
/// prepared again in its process.
class FaultyMethod : public Method {
 public:
  FaultyMethod(std::string id, std::string sound, Fault fault)
      : id_(std::move(id)), inner_(std::move(sound)), fault_(std::move(fault)) {
    register_pasta(sound_);
  }
  std::string_view id() const override { return id_; }
  std::string_view summary() const override { return "misbehaves on purpose"; }
  Backend backend() const override { return inner().backend(); }
  ParamSchema params() const override {
    return {param("delay", 0, "milliseconds that each run takes longer").range(0, 10000),
            param("copy", 0, "tells apart cases that are otherwise equal").range(0, 1000),
            param("on_mode", -1, "the only mode with the fault, -1: all").range(-1, 7)};
  }
  Support supports(const Problem& p, const Params&) const override {
    if (id_.ends_with(".unsupported")) return Support::no("never supports anything");
    return inner().supports(p, inner().params().resolve({}));
  }
  std::unique_ptr<Prepared> prepare(const Problem& p, const Params& params) const override {
    if (id_.ends_with(".once") && prepared_++ > 0)
      throw std::runtime_error("the second preparation gave up");
    const auto mode = params.integer("on_mode");
    const bool faulty = mode < 0 || mode == p.mode();
    const std::chrono::milliseconds delay(params.integer("delay"));
    return std::make_unique<FaultyPrepared>(
        inner().prepare(p, inner().params().resolve({})),
        [fault = faulty ? fault_ : Fault(), delay] {
          if (delay.count() > 0) std::this_thread::sleep_for(delay);
          if (fault) fault();
        },
        faulty && id_.ends_with(".wrong"));
  }

 private:
  const Method& inner() const { return sound_.find(inner_); }

  std::string id_, inner_;
  Fault fault_;
  Registry sound_;
  mutable int prepared_ = 0;
};

}  // namespace test
}  // namespace retensor
