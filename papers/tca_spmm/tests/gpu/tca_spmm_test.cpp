// Sparse times dense matrix on the device: rows of every class and length, any number of outputs,
// every parameter, against the oracle.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/core/rng.hpp"
#include "common/device/device.hpp"
#include "common/generate/generators.hpp"
#include "common/method/registry.hpp"
#include "tests/contract/battery.hpp"

using namespace retensor;

namespace {

/// Below and at the ends of the classes, of one and of several chunks.
const std::vector<Count> kLengths = {0, 1, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65, 128, 1000};

/// A row of each length; its nonzeros stand at every third column and descend in every other row.
std::shared_ptr<const Coo> rows_of_all_lengths() {
  Count nnz = 0;
  for (const Count n : kLengths) nnz += n;
  const std::uint64_t cols = 3 * kLengths.back() + 1;
  auto s = std::make_shared<Coo>(Dims{kLengths.size(), cols}, DType::f32, nnz);
  const CounterRng rng(1);
  Count x = 0;
  for (Count row = 0; row < kLengths.size(); ++row)
    for (Count t = 0; t < kLengths[row]; ++t, ++x) {
      const Count at = row % 2 == 0 ? t : kLengths[row] - 1 - t;
      s->indices[0][x] = static_cast<Index>(row);
      s->indices[1][x] = static_cast<Index>((3 * at + row) % cols);
      s->values.set(x, rng.uniform(x) - 0.5);
    }
  return s;
}

/// More rows and columns than a tile has, every cell with the probability `density`.
std::shared_ptr<const Coo> uniform_cells(double density) {
  const std::uint64_t rows = 150, cols = 333;
  return std::make_shared<const Coo>(uniform(
      {rows, cols}, static_cast<Count>(density * static_cast<double>(rows * cols)), 2, DType::f32));
}

Problem problem_of(std::shared_ptr<const Coo> s, std::uint64_t width) {
  ProblemSpec spec;
  spec.operation = Operation::spmm;
  spec.rank = width;
  spec.operands = ValueModel::normal;
  return Problem(spec, std::move(s));
}

Result run_of(const Method& method, const Problem& problem, const Params& params) {
  const auto prepared = method.prepare(problem, params);
  const auto timer = device::make_event_timer();
  for (int run = 0; run < 2; ++run) {
    timer->start();
    prepared->run(*timer);
    timer->stop();
  }
  return prepared->result();
}

void check(const Method& method, const Problem& problem, const Params& params) {
  if (!method.supports(problem, params).ok) return;
  const auto report =
      problem.oracle().check(run_of(method, problem, params), method.precision(problem, params));
  std::string given;
  for (const auto& [name, value] : params.all()) given += " " + name + "=" + text(value);
  CHECK_MESSAGE(report.ok, method.id()
                               << given << ", N = " << problem.rank() << ": " << report.reason);
}

const char* const kMethods[] = {
    "tca_spmm.cuda", "tca_spmm.cuda.tiles", "tca_spmm.cuda.tuned", "tca_spmm.cuda.gather",
    "sputnik.cuda",  "flashsparse.cuda",    "voltrix.cuda"};
/// Their kernels are not ours: a sanitiser has nothing to find in them.
const char* const kLibraries[] = {"cusparse.cuda", "cusparse.cuda.ell", "cublas.cuda"};

}  // namespace

TEST_CASE("rows of all lengths and any number of outputs with every parameter") {
  const Registry registry = all_methods();
  const auto s = rows_of_all_lengths();
  for (const std::uint64_t width : {1, 7, 8, 64, 100, 130}) {
    const Problem problem = problem_of(s, width);
    for (const char* id : kMethods)
      for (const Params& params : contract::settings(registry.find(id)))
        check(registry.find(id), problem, params);
  }
}

TEST_CASE("tiles and panels from nearly empty to full") {
  const Registry registry = all_methods();
  for (const double density : {0.001, 0.1, 0.6, 1.0}) {
    const Problem problem = problem_of(uniform_cells(density), 72);
    for (const char* id : {"tca_spmm.cuda.tiles", "tca_spmm.cuda.tuned"})
      for (const Params& params : contract::settings(registry.find(id)))
        check(registry.find(id), problem, params);
  }
}

TEST_CASE("tiles in more rounds of the ring than one, on several blocks") {
  const Registry registry = all_methods();
  const Method& method = registry.find("tca_spmm.cuda.tiles");
  const auto s = std::make_shared<const Coo>(uniform({600, 4000}, 240000, 3, DType::f32));
  for (const std::uint64_t width : {64, 200})
    for (const Params& params : contract::settings(method))
      check(method, problem_of(s, width), params);
}

TEST_CASE("one small product with each walk over rows and each type") {
  const Registry registry = all_methods();
  const Method& method = registry.find("sputnik.cuda");
  const auto s = std::make_shared<const Coo>(uniform({70, 600}, 1500, 2, DType::f32));
  for (const std::uint64_t width : {72, 136})
    for (const char* walk : {"in_turn", "ahead", "shuffled"})
      for (const char* types : {"f16", "f16_f32", "f32"})
        check(
            method, problem_of(s, width),
            method.params().resolve({{"walk", std::string(walk)}, {"types", std::string(types)}}));
}

TEST_CASE("one small product with each method") {  // short under a sanitiser
  const Registry registry = all_methods();
  const auto s = std::make_shared<const Coo>(uniform({40, 600}, 3000, 2, DType::f32));
  const Problem problem = problem_of(s, 72);
  for (const char* id : kMethods)
    check(registry.find(id), problem, registry.find(id).params().resolve({}));
  const Method& tuned = registry.find("tca_spmm.cuda.tuned");
  check(tuned, problem, tuned.params().resolve({{"groups", std::string("16")}}));
}

TEST_CASE("libraries" * doctest::skip()) {
  const Registry registry = all_methods();
  const auto s = rows_of_all_lengths();
  for (const std::uint64_t width : {1, 7, 8, 64, 100})
    for (const char* id : kLibraries) {
      const Method& method = registry.find(id);
      const Problem problem = problem_of(s, width);
      const auto support = method.supports(problem, method.params().resolve({}));
      CHECK_MESSAGE(support.ok, id << ": " << support.reason);
      for (const Params& params : contract::settings(method)) check(method, problem, params);
    }
}

TEST_CASE("the check finds a result of which a row lacks") {
  const Registry registry = all_methods();
  const Method& method = registry.find("tca_spmm.cuda");
  const Params params = method.params().resolve({});
  const Problem problem = problem_of(rows_of_all_lengths(), 8);
  auto result = std::get<Matrix>(run_of(method, problem, params));
  CHECK(problem.oracle().check(result, method.precision(problem, params)).ok);
  for (std::uint64_t j = 0; j < 8; ++j) result.set(kLengths.size() - 1, j, 0);
  CHECK_FALSE(problem.oracle().check(result, method.precision(problem, params)).ok);
}
