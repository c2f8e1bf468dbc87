// Methods that misbehave, for tests of the driver. Each wraps pasta.cpu.coo and does one thing
// wrong in its run; `good` does none. They are registered in the test program retensor-faulty
// alone.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "common/measure/registry.hpp"
#include "experiments/driver/worker.hpp"

namespace retensor {

void register_pasta(Registry&);
void register_faulty(Registry&);

namespace {

using Fault = std::function<void()>;

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

class FaultyMethod : public Method {
 public:
  FaultyMethod(std::string name, Fault fault)
      : id_("faulty.cpu." + name), fault_(std::move(fault)) {
    register_pasta(sound_);
  }
  std::string_view id() const override { return id_; }
  std::string_view summary() const override { return "misbehaves on purpose"; }
  Backend backend() const override { return Backend::cpu; }
  ParamSchema params() const override {
    return {{"delay", std::int64_t{0}, "milliseconds that each run takes longer", 0, 10000, {}},
            {"copy", std::int64_t{0}, "tells apart cases that are otherwise equal", 0, 1000, {}},
            {"on_mode", std::int64_t{-1}, "the only mode with the fault, -1: all", -1, 7, {}}};
  }
  Support supports(const Problem& p, const Params&) const override {
    if (id_ == "faulty.cpu.unsupported") return Support::no("never supports anything");
    return inner().supports(p, inner().params().resolve({}));
  }
  std::unique_ptr<Prepared> prepare(const Problem& p, const Params& params) const override {
    const auto mode = params.integer("on_mode");
    const bool faulty = mode < 0 || mode == p.mode();
    const std::chrono::milliseconds delay(params.integer("delay"));
    return std::make_unique<FaultyPrepared>(
        inner().prepare(p, inner().params().resolve({})),
        [fault = faulty ? fault_ : Fault(), delay] {
          if (delay.count() > 0) std::this_thread::sleep_for(delay);
          if (fault) fault();
        },
        faulty && id_ == "faulty.cpu.wrong");
  }

 private:
  const Method& inner() const { return sound_.find("pasta.cpu.coo"); }

  std::string id_;
  Fault fault_;
  Registry sound_;
};

void segfault() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Takes memory in pieces small enough for any limit to be met, and touches it.
void hog() {
  std::vector<std::vector<char>> pieces;
  for (;;) pieces.emplace_back(std::size_t{16} << 20, 'x');
}

void hog_in_thread() {
#pragma omp parallel num_threads(2)
  hog();
}

void say(const std::string& text) {
  if (write(driver::kWorkerSocket, text.data(), text.size()) < 0) std::abort();
}

}  // namespace

void register_faulty(Registry& registry) {
  const auto add = [&](const std::string& name, const Fault& fault) {
    registry.add(std::make_unique<FaultyMethod>(name, fault));
  };
  add("good", {});
  add("wrong", {});
  add("unsupported", {});
  add("segfault", segfault);
  add("abort", [] { std::abort(); });
  add("hang", hang);
  add("hog", hog);
  add("hog_in_thread", hog_in_thread);
  add("exception", [] { throw std::runtime_error("the method gave up"); });
  add("thrown_in_thread", [] { std::thread([] { throw std::runtime_error("lost"); }).join(); });
  add("half_row", [] {
    say("{\"status\":\"ok\",\"reason\":\"\",\"rows\":[{\"stat");
    _exit(0);
  });
  add("not_a_row", [] { say("chatter on the wrong channel\n"); });
  add("quit", [] { std::exit(0); });
  add("last_words", [] {
    std::puts("printed");
    std::fputs("complained\n", stderr);
    std::fflush(nullptr);
    std::raise(SIGTERM);
  });
}

}  // namespace retensor
