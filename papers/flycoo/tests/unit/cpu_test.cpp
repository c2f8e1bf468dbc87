// flycoo.cpu: right answers of every setting, one owner of each output row, a tensor that comes
// back to mode 0's order.
#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/core/rng.hpp"
#include "common/generate/generators.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "papers/flycoo/kernels/flycoo_cpu.hpp"
#include "papers/flycoo/methods/methods.hpp"

using namespace retensor;
using namespace retensor::flycoo;

namespace {

using Given = std::map<std::string, ParamValue>;

// Half of the nonzeros in slice 5 of mode 0; slices from 60 on are empty.
Coo hot_row(int order, Count nnz) {
  Coo x(Dims(static_cast<std::size_t>(order), 9), DType::f64, nnz);
  x.dims.front() = 100;
  for (std::size_t m = 0; m < x.dims.size(); ++m)
    for (Count p = 0; p < nnz; ++p)
      x.indices[m][p] = static_cast<Index>(CounterRng(3, m).below(p, m == 0 ? 60 : 9));
  for (Count p = 0; p < nnz; p += 2) x.indices[0][p] = 5;
  for (Count p = 0; p < nnz; ++p) x.values.set(p, CounterRng(4).uniform(p) - 0.5);
  return x;
}

Problem problem_of(const Coo& x, std::uint64_t rank, DType dtype) {
  ProblemSpec spec;
  spec.operation = Operation::mttkrp_all;
  spec.rank = rank;
  spec.dtype = dtype;
  return {spec, std::make_shared<const Coo>(x)};
}

Measurement measured(const Problem& problem, const Given& given) {
  static const Registry registry = all_methods();
  const Method& method = registry.find("flycoo.cpu");
  const Trial trials[] = {{&method, &problem, method.params().resolve(given)}};
  return measure(trials, {.warmup = 0, .samples = 2}).front();
}

std::vector<Given> all_settings() {
  std::vector<Given> list;
  for (const char* order : {"arrival", "row"})
    for (const char* indices : {"plain", "packed"})
      for (const char* ids : {"record", "stream"})
        for (const bool remap : {true, false})
          list.push_back({{"order", std::string(order)},
                          {"indices", std::string(indices)},
                          {"ids", std::string(ids)},
                          {"remap", remap},
                          {"threads", std::int64_t{3}},
                          {"kappa", std::int64_t{7}}});
  for (const char* partition : {"least_loaded", "cyclic", "contiguous", "random"})
    for (const std::int64_t align : {4, 16, 32})
      list.push_back({{"partition", std::string(partition)},
                      {"align", align},
                      {"threads", std::int64_t{2}},
                      {"kappa", std::int64_t{200}}});
  return list;
}

// Tags each row of an output with the partition that writes it first.
class Owners {
 public:
  explicit Owners(std::uint64_t rows) : owner_(rows) {
    for (auto& owner : owner_) owner = kNobody;
  }
  void operator()(std::uint32_t partition, Index row) {
    std::uint32_t nobody = kNobody;
    if (!owner_[row].compare_exchange_strong(nobody, partition) && nobody != partition)
      ++conflicts_;
  }
  int conflicts() const { return conflicts_; }

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::vector<std::atomic<std::uint32_t>> owner_;
  std::atomic<int> conflicts_ = 0;
};

// Updates of rows by a second partition over all modes of the format.
int conflicts(const Coo& x, Flycoo format) {
  constexpr std::uint64_t kRank = 4;
  const Problem problem = problem_of(x, kRank, x.dtype());
  std::array<const double*, kMaxOrder> factors{};
  for (std::size_t m = 0; m < x.dims.size(); ++m)
    factors[m] = problem.dense()[m].view<double>().data;
  RunTensor tensor(std::move(format), true);
  int found = 0;
  for (int mode = 0; mode < x.order(); ++mode) {
    const std::uint64_t rows = x.dims[static_cast<std::size_t>(mode)];
    Owners owners(rows);
    std::vector<double> out(rows * kRank);
    const TensorPass pass = tensor.pass(mode);
    for (std::uint32_t k = 0; k + 1 < pass.start.size(); ++k)
      run_partition(pass, k, factors, out.data(), kRank, owners);
    tensor.swap();
    found += owners.conflicts();
  }
  return found;
}

}  // namespace

TEST_CASE("right answers: orders 2 to 6, every layout and partition, ranks around a cache line") {
  for (int order = 2; order <= 6; ++order)
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Problem problem = problem_of(hot_row(order, 300), order == 3 ? 37 : 16, dtype);
      for (const Given& given : all_settings()) {
        const Measurement m = measured(problem, given);
        CHECK_MESSAGE(m.status == "ok", "order " << order << ": " << m.reason);
      }
    }
}

TEST_CASE("many nonzeros on many threads") {
  const Coo x = uniform({300, 200, 100}, 60000, 1, DType::f32);
  const Problem problem = problem_of(x, 32, DType::f32);
  CHECK(measured(problem, {{"threads", std::int64_t{4}}, {"kappa", std::int64_t{16}}}).status ==
        "ok");
}

TEST_CASE("no second partition writes an output row") {
  const Coo x = hot_row(4, 500);
  for (const auto how :
       {Assignment::least_loaded, Assignment::cyclic, Assignment::contiguous, Assignment::random})
    for (const auto arrangement : {Arrangement::arrival, Arrangement::row})
      CHECK(conflicts(
                x, to_flycoo(x, {.kappa = 6, .assignment = how, .arrangement = arrangement})) == 0);
}

TEST_CASE("the owners find a partition that ends inside a row") {
  const Coo x = hot_row(3, 500);
  Flycoo f = to_flycoo(x, {.kappa = 6});
  // The slice with half of the nonzeros is alone in partition 0; its last nonzero goes to the next.
  REQUIRE(f.modes[0].load(0) >= 250);
  --f.modes[0].start[1];
  CHECK(conflicts(x, f) == 1);
}

TEST_CASE("after a run the tensor lies in the order of mode 0 again") {
  for (int order = 2; order <= 6; ++order)
    for (const auto ids : {Ids::record, Ids::stream}) {
      const Coo x = hot_row(order, 400);
      const Problem problem = problem_of(x, 8, DType::f64);
      RunTensor tensor(to_flycoo(x, {.kappa = 5, .indices = Indices::packed, .ids = ids}), true);
      const auto records = [&] {
        return std::vector<std::uint32_t>(tensor.records().begin(), tensor.records().end());
      };
      const auto before = records();
      Matrix out(std::accumulate(x.dims.begin(), x.dims.end(), Count{0}), 8, DType::f64);
      for (int run = 0; run < 3; ++run) {
        mttkrp_all<double>(tensor, problem.dense(), out.view<double>(), 2, [](auto, auto) {});
        CHECK(records() == before);
      }
      CHECK(tensor.pass(0).in == tensor.records().data());
    }
}

TEST_CASE("each pass leaves the next mode's order") {
  const Coo x = hot_row(3, 400);
  const Problem problem = problem_of(x, 1, DType::f64);
  const Flycoo format = to_flycoo(x, {.kappa = 5});
  RunTensor tensor(format, true);
  std::vector<double> out(100);
  std::array<const double*, kMaxOrder> factors{};
  for (std::size_t m = 0; m < 3; ++m) factors[m] = problem.dense()[m].view<double>().data;
  for (int mode = 0; mode < 3; ++mode) {
    for (Count p = 0; p < 400; ++p)
      REQUIRE(remap_id(format.layout,
                       tensor.records().data() + p * static_cast<Count>(format.layout.words),
                       mode) == p);
    for (std::uint32_t k = 0; k < 5; ++k)
      run_partition(tensor.pass(mode), k, factors, out.data(), 1, [](auto, auto) {});
    tensor.swap();
  }
}

TEST_CASE("a pass out of turn is refused") {
  for (const bool remaps : {true, false}) {
    RunTensor tensor(to_flycoo(hot_row(3, 40), {.kappa = 2}), remaps);
    tensor.pass(0);
    tensor.swap();
    CHECK_THROWS_WITH_AS(tensor.pass(0), "a pass over mode 0, but the tensor is in mode 1's order",
                         LogicError);
  }
}

TEST_CASE("what ran is told") {
  const Problem problem = problem_of(hot_row(3, 300), 16, DType::f32);
  Measurement m = measured(problem, {{"kappa", std::int64_t{4}}});
  CHECK(m.executed.at("record_bytes") == "28");
  CHECK(m.executed.at("nonzero_bits") == "224");
  CHECK(m.executed.at("partition") == "least_loaded");
  // 7 + 4 + 4 bits of indices, 9 of each id.
  CHECK(m.executed.at("nonzero_bits_whole") == "74");
  CHECK(m.executed.at("load_ratio_0") == "1.0000");
  REQUIRE(m.stages.front().size() == 2);
  CHECK(m.stages.front()[0].first == "zero");
  CHECK(m.stages.front()[1].first == "kernel");
  CHECK(m.footprint.format_bytes == 2 * 300 * 28 + 3 * 5 * 8);
  m = measured(problem, {{"kappa", std::int64_t{4}}, {"remap", false}});
  CHECK(m.footprint.format_bytes == 3 * 300 * 28 + 3 * 5 * 8);
  CHECK(m.executed.at("remap") == "none, a copy per mode");
}

TEST_CASE("what is declined") {
  const Problem vector = problem_of(hot_row(1, 10), 4, DType::f32);
  CHECK(measured(vector, {}).status == "unsupported");
  const Problem problem = problem_of(hot_row(3, 10), 4, DType::f32);
  CHECK(measured(problem, {{"align", std::int64_t{8}}}).status == "unsupported");
}
