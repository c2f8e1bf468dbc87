// The one loop. Trials that are timed together are all prepared and checked first; then come
// rounds, each of which runs every trial once, in an order that the options fix. Nothing allocates
// between a timer's start and the end of the run; results, clocks and cache flushes lie outside.
#include "common/measure/timing.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/core/stage_log.hpp"
#include "common/device/device.hpp"
#include "common/machine/machine.hpp"
#include "common/run/all_modes.hpp"

namespace retensor {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

class HostTimer final : public StageTimer {
 public:
  void start() override {
    log_.clear();
    marks_[0] = Clock::now();
  }
  void stage(std::string_view name) override {
    if (log_.size() > 0) marks_.at(log_.size()) = Clock::now();
    log_.add(name);
  }
  StageTimes stop() override {
    const auto end = Clock::now();
    if (log_.size() == 0) log_.add("kernel");
    marks_[log_.size()] = end;
    return log_.collect([this](std::size_t k) { return seconds(marks_[k + 1] - marks_[k]); });
  }

 private:
  std::array<Clock::time_point, StageLog::kCapacity + 1> marks_;
  StageLog log_;
};

template <class F>
double timed(F&& f) {
  const auto begin = Clock::now();
  f();
  return seconds(Clock::now() - begin);
}

double total(const StageTimes& stages) {
  return std::accumulate(stages.begin(), stages.end(), 0.0,
                         [](double sum, const auto& s) { return sum + s.second; });
}

/// Clocks, timers and the flush of both backends, made when first needed and shared by all trials.
class Bench {
 public:
  StageTimer& timer(Backend backend) {
    auto& timer = backend == Backend::cpu ? host_ : device_;
    if (timer == nullptr)
      timer = backend == Backend::cpu ? make_host_timer() : device::make_event_timer();
    return *timer;
  }

  double clock(Backend backend) const {
    return backend == Backend::cpu ? core_clock_mhz() : device::sm_clock_mhz();
  }

  void flush(Backend backend) {
    if (backend == Backend::cuda) return device::flush_cache();
    constexpr Count kUnknownCache = Count{64} << 20;
    if (sweep_.empty()) {
      const Count cache = cpu_facts().llc_bytes;
      sweep_.resize(2 * (cache > 0 ? cache : kUnknownCache));
    }
    ++pass_;
    const auto n = static_cast<std::int64_t>(sweep_.size());
    unsigned char* const at = sweep_.data();
    const auto value = static_cast<unsigned char>(pass_);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) at[i] = value;
  }

 private:
  std::unique_ptr<StageTimer> host_, device_;
  std::vector<unsigned char> sweep_;
  unsigned pass_ = 0;
};

/// One trial on its way through the loop.
class Runner {
 public:
  Runner(const Trial& trial, Bench& bench, Measurement& out)
      : trial_(trial), bench_(bench), out_(out) {}

  void prepare() {
    guarded([this] {
      const auto support = supports(*trial_.method, *trial_.problem, trial_.params);
      if (!support.ok) return fail("unsupported", support.reason);
      build();
      timer_ = &bench_.timer(trial_.method->backend());
      run_once();
      describe();
      out_.check = check_result("first run");
    });
  }

  void warm_up() {
    if (ok()) guarded([this] { run_once(); });
  }

  void sample(Cache cache) {
    if (!ok()) return;
    guarded([this, cache] {
      const Backend backend = trial_.method->backend();
      if (clocks_.empty()) clocks_.push_back(bench_.clock(backend));
      if (cache == Cache::flushed) bench_.flush(backend);
      StageTimes stages = run_once();
      out_.samples.push_back(total(stages));
      out_.stages.push_back(std::move(stages));
      clocks_.push_back(bench_.clock(backend));
    });
  }

  void finish() {
    if (!ok()) return;
    guarded([this] {
      describe();
      if (const auto last = check_result("last run"); !last.ok) out_.check = last;
      const auto [low, high] = std::minmax_element(clocks_.begin(), clocks_.end());
      out_.clock_drift = *high > 0 ? (*high - *low) / *high : 0;
    });
  }

 private:
  bool ok() const { return out_.status == "ok"; }

  void build() {
    reset_peak_resident();
    const Count before = peak_resident_bytes();
    out_.prepare_seconds = timed(
        [this] { prepared_ = retensor::prepare(*trial_.method, *trial_.problem, trial_.params); });
    out_.peak_host_bytes = peak_resident_bytes() - before;
    if (prepared_ == nullptr) throw LogicError("prepare returned nothing");
  }

  /// Before a check, so that the row of a wrong result says what ran.
  void describe() {
    out_.executed = prepared_->executed();
    out_.footprint = prepared_->footprint();
    out_.work = prepared_->work();
  }

  StageTimes run_once() {
    timer_->start();
    prepared_->run(*timer_);
    return timer_->stop();
  }

  reference::CheckReport check_result(const char* which) {
    Result result;
    out_.fetch_seconds = timed([&] { result = prepared_->result(); });
    const auto precision = trial_.method->precision(*trial_.problem, trial_.params);
    auto report = trial_.problem->oracle().check(result, precision);
    if (!report.ok) fail("wrong", fmt::format("{}: {}", which, report.reason));
    return report;
  }

  /// A failed trial keeps no samples and frees its memory for the others.
  void fail(const char* status, const std::string& reason) {
    out_.status = status;
    out_.reason = reason;
    out_.samples.clear();
    out_.stages.clear();
    prepared_.reset();
  }

  template <class F>
  void guarded(F&& f) {
    try {
      f();
    } catch (const OutOfMemory& e) {
      fail("oom", e.what());
    } catch (const std::bad_alloc&) {
      fail("oom", "the host's memory does not suffice");
    } catch (const std::exception& e) {
      fail("failed", e.what());
    } catch (...) {
      fail("failed", "an exception of unknown type");
    }
  }

  const Trial& trial_;
  Bench& bench_;
  Measurement& out_;
  std::unique_ptr<Prepared> prepared_;
  StageTimer* timer_ = nullptr;
  std::vector<double> clocks_;
};

/// The order of the trials in one round; a shuffle is drawn anew for every round.
std::vector<std::size_t> round_order(std::size_t trials, const TimingOptions& options, int round) {
  std::vector<std::size_t> order(trials);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (options.order != Order::shuffled) return order;
  const CounterRng rng(options.seed, static_cast<std::uint64_t>(round));
  for (std::size_t left = trials; left > 1; --left)
    std::swap(order[left - 1], order[rng.below(left, left)]);
  return order;
}

void measure_together(std::span<const Trial> trials, const TimingOptions& options, Bench& bench,
                      std::span<Measurement> out) {
  std::vector<std::unique_ptr<Runner>> runners;
  for (std::size_t t = 0; t < trials.size(); ++t)
    runners.push_back(std::make_unique<Runner>(trials[t], bench, out[t]));
  for (auto& runner : runners) runner->prepare();
  for (int round = 0; round < options.warmup + options.samples; ++round)
    for (const auto t : round_order(trials.size(), options, round)) {
      if (round < options.warmup)
        runners[t]->warm_up();
      else
        runners[t]->sample(options.cache);
    }
  for (auto& runner : runners) runner->finish();
}

void check_arguments(std::span<const Trial> trials, const TimingOptions& options) {
  if (options.warmup < 0 || options.samples < 1)
    throw LogicError("timing needs at least one sample and no negative warm-up");
  for (const auto& trial : trials)
    if (trial.method == nullptr || trial.problem == nullptr)
      throw LogicError("a trial needs a method and a problem");
}

}  // namespace

std::vector<Measurement> measure(std::span<const Trial> trials, const TimingOptions& options) {
  check_arguments(trials, options);
  std::vector<Measurement> out(trials.size());
  const std::span<Measurement> all(out);
  Bench bench;
  // Blocked trials share no round, so each is built and freed before the next.
  const std::size_t together = options.order == Order::blocked ? 1 : trials.size();
  for (std::size_t t = 0; t < trials.size(); t += together)
    measure_together(trials.subspan(t, together), options, bench, all.subspan(t, together));
  return out;
}

void run_profiled(const Trial& trial) {
  const auto prepared = prepare(*trial.method, *trial.problem, trial.params);
  const auto timer = device::make_event_timer();
  timer->start();
  prepared->run(*timer);
  timer->stop();
  timer->start();  // its own kernel stays outside
  {
    const device::ProfiledRange range;
    prepared->run(*timer);
  }
  timer->stop();
}

std::unique_ptr<StageTimer> make_host_timer() {
  return std::make_unique<HostTimer>();
}

}  // namespace retensor
