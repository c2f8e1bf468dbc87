// The threshold of the cost model from planted times.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "papers/hlsto/methods/cost_model.hpp"
#include "papers/hlsto/methods/methods.hpp"

using namespace retensor;
using namespace retensor::hlsto;

namespace {

/// What a run in one format counts and takes, run after run; the last time stays.
struct Planted {
  Executed facts;
  std::vector<double> kernel_seconds;
};

/// Tells the planted times of the run that it times.
class PlantedTimer : public StageTimer {
 public:
  void start() override {}
  void stage(std::string_view) override {}
  StageTimes stop() override { return {{"zero", 1}, {"kernel", seconds}}; }
  double seconds = 0;
};

class PlantedRun : public Prepared {
 public:
  PlantedRun(Planted planted, PlantedTimer& timer) : planted_(std::move(planted)), timer_(timer) {}
  void run(StageTimer&) override {
    timer_.seconds = planted_.kernel_seconds[next_];
    if (next_ + 1 < planted_.kernel_seconds.size()) ++next_;
  }
  Result result() override { return {}; }
  Executed executed() const override { return planted_.facts; }
  Footprint footprint() const override { return {}; }
  Work work() const override { return {}; }

 private:
  const Planted planted_;
  PlantedTimer& timer_;
  std::size_t next_ = 0;
};

/// The threshold that follows when the formats run as planted.
std::int64_t threshold_of(const Planted& sparse, const Planted& dense) {
  const auto schema = make_hlsto_cuda().params;
  PlantedTimer timer;
  const auto make = [&](const Params& params) -> std::unique_ptr<Prepared> {
    CHECK(params.word("precision") == "bf16");
    const std::string& format = params.word("format");
    REQUIRE((format == "hls_s" || format == "hls_d"));
    return std::make_unique<PlantedRun>(format == "hls_s" ? sparse : dense, timer);
  };
  const auto params = schema.resolve({{"threshold", kByModel}, {"precision", std::string("bf16")}});
  const auto found = with_model_threshold(schema, params, make, timer);
  CHECK(found.word("precision") == "bf16");
  CHECK(found.word("format") == "hls");
  return found.integer("threshold");
}

Planted sparse(int nonzeros, double seconds) {
  return {{{"sparse_nonzeros", std::to_string(nonzeros)}}, {seconds}};
}
Planted dense(int tiles, double seconds) {
  return {{{"dense_tiles", std::to_string(tiles)}}, {seconds}};
}

}  // namespace

TEST_CASE("a tile is dense from as many nonzeros on as cost what it does") {
  CHECK(threshold_of(sparse(4096, 0.25), dense(128, 0.25)) == 32);
  CHECK(threshold_of(sparse(4096, 0.5), dense(128, 0.25)) == 16);
  CHECK(threshold_of(sparse(4096, 0.5), dense(100, 0.25)) == 21);  // 20.48 nonzeros
}

TEST_CASE("the least of several runs counts") {
  const Planted slow_at_first = {{{"dense_tiles", "128"}}, {4, 0.25, 0.5}};
  CHECK(threshold_of(sparse(4096, 0.25), slow_at_first) == 32);
}

TEST_CASE("the threshold stays among those that the parameter takes") {
  CHECK(threshold_of(sparse(1000, 1), dense(1000, 1e-9)) == 1);
  CHECK(threshold_of(sparse(1000, 1e-9), dense(1000, 1)) == kMostThreshold);
  CHECK(threshold_of(sparse(0, 1), dense(0, 1)) == 0);
}
