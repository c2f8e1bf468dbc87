// What is asserted here are speeds, so it runs without a sanitiser.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/device/device.hpp"
#include "common/generate/generators.hpp"
#include "common/machine/ceilings.hpp"
#include "common/method/registry.hpp"

using namespace retensor;

namespace {

/// Follows a chain of positions, each load waiting for the one before.
__global__ void chase(const std::uint32_t* next, int hops, std::uint32_t* out) {
  std::uint32_t at = 0;
  for (int h = 0; h < hops; ++h) at = next[at];
  *out = at;
}

__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

/// Best of several chases through 4 MiB, with or without a flush before each.
double chase_seconds(bool flushed) {
  constexpr std::uint32_t kHops = 4096, kStride = 256;
  std::vector<std::uint32_t> chain(kHops * kStride);
  for (std::uint32_t h = 0; h < kHops; ++h)
    chain[h * kStride] = (h * 1229 + 1) % kHops * kStride;  // a full cycle: 1228 divides by 4
  const device::Buffer<std::uint32_t> next(chain);
  device::Buffer<std::uint32_t> out(1);
  const auto timer = device::make_event_timer();
  double best = 1;
  for (int run = 0; run < 5; ++run) {
    if (flushed) device::flush_cache();
    timer->start();
    RETENSOR_CUDA_LAUNCH(chase, 1, 1, 0, static_cast<cudaStream_t>(timer->stream()), next.data(),
                         static_cast<int>(kHops), out.data());
    best = std::min(best, timer->stop().front().second);
  }
  return best;
}

/// Passes its stream on and counts no stages.
class SilentTimer final : public StageTimer {
 public:
  explicit SilentTimer(StageTimer& timer) : timer_(timer) {}
  void start() override {}
  void stage(std::string_view) override {}
  StageTimes stop() override { return {}; }
  void* stream() const override { return timer_.stream(); }

 private:
  StageTimer& timer_;
};

/// Median of a run's microseconds, of which `together` follow each other between two events.
double microseconds(int together, const std::function<void(StageTimer&)>& run) {
  const auto timer = device::make_event_timer();
  SilentTimer silent(*timer);
  std::vector<double> samples(15);
  for (double& sample : samples) {
    timer->start();
    for (int r = 0; r < together; ++r) run(silent);
    sample = 1e6 * timer->stop().front().second / together;
  }
  std::nth_element(samples.begin(), samples.begin() + 7, samples.end());
  return samples[7];
}

/// A short run of a hundred may wait for its launch instead.
void compare_alone_and_together(const std::string& what,
                                const std::function<void(StageTimer&)>& run) {
  const double alone = microseconds(1, run), together = microseconds(100, run);
  MESSAGE(what << ": alone " << alone << " us, one of 100 " << together << " us");
  if (alone > 10) CHECK_MESSAGE(together < 1.02 * alone, what);
}

}  // namespace

TEST_CASE("a run between two events of its own takes no less than one of a hundred") {
  const Registry registry = all_methods();
  for (const Count nnz : {8192, 67109, 671089, 1342177, 3355443}) {
    const auto s = std::make_shared<const Coo>(uniform({8192, 8192}, nnz, 1, DType::f32));
    for (const std::uint64_t width : {64, 128, 256}) {
      ProblemSpec spec;
      spec.operation = Operation::spmm;
      spec.rank = width;
      const Problem problem(spec, s);
      using Given = std::map<std::string, ParamValue>;
      for (const auto& [id, given] : std::vector<std::pair<std::string, Given>>{
               {"sputnik.cuda", {{"types", std::string("f16")}}},
               {"sputnik.cuda", {{"types", std::string("f32")}}},
               {"cusparse.cuda", {{"algorithm", std::string("csr3")}}}}) {
        const Method& method = registry.find(id);
        const auto prepared = method.prepare(problem, method.params().resolve(given));
        compare_alone_and_together(id + " " + std::get<std::string>(given.begin()->second) + ", " +
                                       std::to_string(nnz) +
                                       " nonzeros, N = " + std::to_string(width),
                                   [&](StageTimer& timer) { prepared->run(timer); });
      }
    }
  }
}

TEST_CASE("a flushed cache makes dependent loads slower") {
  const double warm = chase_seconds(false), cold = chase_seconds(true);
  MESSAGE("warm " << 1e6 * warm << " us, cold " << 1e6 * cold << " us");
  CHECK(cold > 1.3 * warm);
}

TEST_CASE("the event timer gives each stage the time that its kernels take") {
  const auto timer = device::make_event_timer();
  const auto work = [&](long long cycles) {
    RETENSOR_CUDA_LAUNCH(spin, 1, 1, 0, static_cast<cudaStream_t>(timer->stream()), cycles);
  };
  for (int run = 0; run < 3; ++run) {
    timer->start();
    timer->stage("zero");
    work(500'000);
    timer->stage("kernel");
    work(4'000'000);
    timer->stage("zero");
    work(500'000);
    const auto stages = timer->stop();
    CHECK(stages[0].second > 100e-6);  // a million cycles at less than 10 GHz
    CHECK(stages[1].second > 2 * stages[0].second);
    CHECK(stages[1].second < 0.1);
  }
}

TEST_CASE("the device's ceilings are plausible") {
  std::map<std::string, double> found;
  for (const auto& c : gpu_ceilings(3)) {
    found[c.what] = c.value;
    MESSAGE(c.what << " " << c.value << " " << c.unit << " (" << c.detail << ")");
  }
  for (const char* what :
       {"copy_dram", "copy_llc", "triad_dram", "triad_llc", "gather", "gather_128", "gather_dram",
        "atomic", "atomic_dram", "scatter", "peak_f32", "mma_f16"})
    REQUIRE_MESSAGE(found.count(what) == 1, what);
  CHECK(found["copy_dram"] > 500);
  CHECK(found["copy_dram"] < 20000);
  CHECK(found["triad_dram"] == doctest::Approx(found["copy_dram"]).epsilon(0.3));
  CHECK(found["triad_llc"] > found["triad_dram"]);
  CHECK(found["gather"] > found["gather_dram"]);
  CHECK(found["atomic"] >= found["atomic_dram"]);
  CHECK(found["atomic"] > 1);
  CHECK(found["scatter"] > 1);
  CHECK(found["peak_f32"] > 5000);
  CHECK(found["mma_f16"] > 2 * found["peak_f32"]);
}
