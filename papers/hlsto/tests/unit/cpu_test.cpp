// hlsto.cpu against the oracle on random tensors, and the count of MMAs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "common/core/rng.hpp"
#include "common/generate/generators.hpp"
#include "papers/hlsto/format/chain.hpp"
#include "papers/hlsto/methods/methods.hpp"
#include "tests/support/run_once.hpp"

using namespace retensor;
using namespace retensor::hlsto;
using namespace retensor::test;

namespace {

Problem problem_of(Operation operation, const Dims& dims, Count nnz, int mode, std::uint64_t rank,
                   std::uint64_t seed) {
  ProblemSpec spec;
  spec.operation = operation;
  spec.mode = mode;
  spec.rank = rank;
  spec.rank2 = rank > 2 ? rank - 2 : rank;
  spec.operands = ValueModel::normal;
  spec.values = ValueModel::normal;
  spec.seed = seed;
  return Problem(spec, std::make_shared<const Coo>(uniform(dims, nnz, seed, DType::f32)));
}

/// The result of one method beside the bound of another, with the same parameters.
reference::CheckReport report_of(MethodSpec method, const Method& bound_of, const Problem& problem,
                                 const Given& given, const Given& of_bound) {
  const auto bound = bound_of.precision(problem, bound_of.params().resolve(of_bound));
  return problem.oracle().check(run_once(std::move(method), problem, given).result, bound);
}

/// Sums in half precision.
reference::CheckReport half_report(const Problem& problem, const Given& given) {
  return report_of(make_hlsto_cpu_half(), DescribedMethod(make_hlsto_cpu_half()), problem, given,
                   given);
}

/// MTTKRP of a tensor without zeros, all of one number, with factors of ones.
Problem constant_problem(const Dims& dims, float value) {
  ProblemSpec spec;
  spec.rank = 4;
  spec.operands = ValueModel::ones;
  auto x = uniform(dims, checked_volume(dims), 1, DType::f32);
  std::ranges::fill(x.values.as<float>(), value);
  return Problem(spec, std::make_shared<const Coo>(std::move(x)));
}

reference::CheckReport report_of(const Problem& problem, const Given& given,
                                 const std::string& precision) {
  return report_of(make_hlsto_cpu(), DescribedMethod(make_hlsto_cpu()), problem, given,
                   {{"precision", precision}});
}

/// Calls check(turn, problem, threshold and edge) for both operations on 60 drawn tensors of orders
/// 3 to 5.
template <class F>
void on_drawn_problems(std::uint64_t seed, F check) {
  const CounterRng rng(seed);
  std::uint64_t draw = 0;
  const auto upto = [&](std::uint64_t n) {
    return 1 + static_cast<std::uint64_t>(rng.uniform(draw++) * static_cast<double>(n));
  };
  for (int turn = 0; turn < 60; ++turn) {
    const int order = 3 + turn % 3;
    Dims dims;
    for (int m = 0; m < order; ++m) dims.push_back(upto(order == 3 ? 60 : 12));
    const Count nnz = std::min<Count>(upto(600), checked_volume(dims) / 2);
    const auto operation = turn % 2 == 0 ? Operation::mttkrp : Operation::ttm_chain;
    const auto problem = problem_of(operation, dims, nnz, turn % order, upto(order == 3 ? 20 : 5),
                                    static_cast<std::uint64_t>(turn));
    check(turn, problem,
          Given{{"threshold", static_cast<std::int64_t>(upto(40))},
                {"edge", std::int64_t{2} << (turn % 5)}});
  }
}

}  // namespace

TEST_CASE("both operations meet the bound of each precision, whatever tiles are dense") {
  on_drawn_problems(7, [](int turn, const Problem& problem, Given given) {
    const std::string precision(name(static_cast<Arithmetic>(turn / 3 % 4)));
    given["precision"] = precision;
    const auto report = report_of(problem, given, precision);
    INFO("turn " << turn << ", precision " << precision << ": " << report.reason);
    CHECK(report.ok);
  });
}

TEST_CASE("half precision does not meet the bound of split halves") {
  const auto problem = problem_of(Operation::mttkrp, {40, 40, 40}, 5000, 0, 16, 1);
  const std::map<std::string, ParamValue> dense = {{"format", std::string("hls_d")}};
  CHECK(report_of(problem, dense, "fp16").ok);
  CHECK_FALSE(report_of(problem, dense, "split_fp16").ok);
}

TEST_CASE("sums of the first product that underflow meet the bound") {
  // A nonzero of 2^-12 a row and slice, and a row of C of 2^-14: as halves the sums are zeros.
  Coo x({2, 16, 16}, DType::f32, 32);
  for (Count k = 0; k < x.nnz(); ++k) {
    x.indices[0][k] = static_cast<Index>(k / 16);
    x.indices[1][k] = x.indices[2][k] = static_cast<Index>(k % 16);
    x.values.set(k, 0x1p-12);
  }
  ProblemSpec spec;
  spec.rank = 4;
  auto factors = std::make_shared<std::vector<Matrix>>();
  for (const auto length : x.dims) {
    const double value = factors->size() == 2 ? 0x1p-14 : 1;
    factors->emplace_back(length, spec.rank, DType::f32);
    factors->back().values().visit([&](auto& values) { std::ranges::fill(values, value); });
  }
  const auto problem =
      Problem::with_factors(spec, std::make_shared<const Coo>(std::move(x)), factors);
  const Given dense = {{"format", std::string("hls_d")}};
  const auto found = std::get<Matrix>(run_once(make_hlsto_cpu(), problem, dense).result);
  CHECK(found.at(0, 0) == 0);
  CHECK(report_of(problem, dense, "fp16").ok);
  // Two halves hold the sum, and single precision misses none.
  const Given tf32 = {{"format", std::string("hls_d")}, {"precision", std::string("tf32")}};
  CHECK(report_of(problem, tf32, "tf32").ok);
  CHECK_FALSE(report_of(make_hlsto_cpu(), DescribedMethod(make_hlsto_cpu()), problem, dense,
                        {{"precision", std::string("tf32")}})
                  .ok);
}

TEST_CASE("MMAs of a tile: a slice takes one pair of products for 16 columns") {
  const Coo one = uniform({16, 16, 16}, 100, 1, DType::f32);
  const auto count = [&](Operation operation, std::uint64_t rank, int edge_bits,
                         Arithmetic arithmetic) {
    const auto problem = problem_of(operation, {16, 16, 16}, 100, 0, rank, 1);
    const Hls hls = to_hls(one, {.edge_bits = edge_bits, .threshold = 1});
    return mma_count(hls, Chain(problem), arithmetic);
  };
  CHECK(count(Operation::mttkrp, 16, 4, Arithmetic::fp16) == 16 * 2);
  CHECK(count(Operation::mttkrp, 17, 4, Arithmetic::fp16) == 16 * 2 * 2);
  CHECK(count(Operation::mttkrp, 16, 4, Arithmetic::split_fp16) == 16 * 2 * 3);
  CHECK(count(Operation::mttkrp, 16, 5, Arithmetic::fp16) == 32 * (4 + 2));
  CHECK(count(Operation::ttm_chain, 18, 4, Arithmetic::fp16) == 16 * 2 * 2);  // 18 x 16 columns
}

TEST_CASE("sums in half precision meet their bound, whatever tiles are dense") {
  on_drawn_problems(8, [](int turn, const Problem& problem, Given given) {
    given["result"] = std::string(turn / 6 % 2 == 0 ? "f32" : "f16");
    const auto report = half_report(problem, given);
    INFO("turn " << turn << ": " << report.reason);
    CHECK(report.ok);
  });
}

TEST_CASE("a result of halves does not meet the bound of one in single precision") {
  // 1600 nonzeros add up in a row.
  const auto problem = constant_problem({2, 40, 40}, 1.3f);
  const Given sparse = {{"format", std::string("hls_s")}},
              halves = {{"format", std::string("hls_s")}, {"result", std::string("f16")}};
  CHECK(half_report(problem, sparse).ok);
  CHECK(half_report(problem, halves).ok);
  CHECK_FALSE(report_of(make_hlsto_cpu_half(), DescribedMethod(make_hlsto_cpu_half()), problem,
                        halves, sparse)
                  .ok);
}

TEST_CASE("what the types of the sums do to a slice of 256 nonzeros of 33") {
  // Halves from 8192 on lie 8 apart, and all of these sums are halves.
  const auto one_tile = constant_problem({1, 16, 16}, 33);
  const Given dense = {{"format", std::string("hls_d")}};
  const Given halves = {{"format", std::string("hls_d")}, {"result", std::string("f16")}};
  const auto first = [](const Problem& problem, MethodSpec method, const Given& given) {
    return std::get<Matrix>(run_once(std::move(method), problem, given).result).at(0, 0);
  };
  CHECK(first(one_tile, make_hlsto_cpu_half(), dense) == 8448);
  const auto two_tiles = constant_problem({1, 16, 17}, 33);
  CHECK(first(two_tiles, make_hlsto_cpu(), dense) == 8976);
  CHECK(first(two_tiles, make_hlsto_cpu_half(), dense) == 8976);
  CHECK(first(two_tiles, make_hlsto_cpu_half(), halves) == 8976);
  // 272 times 33.25: 9044 is not a half; its tiles' 8512 and 532 are.
  const auto between = constant_problem({1, 16, 17}, 33.25f);
  CHECK(first(between, make_hlsto_cpu_half(), dense) == 9044);
  CHECK(first(between, make_hlsto_cpu_half(), halves) == 9040);
  // 65504 is the largest half.
  const auto beyond = constant_problem({1, 16, 16}, 260);
  CHECK(first(beyond, make_hlsto_cpu(), dense) == 66560);
  CHECK(std::isinf(first(beyond, make_hlsto_cpu_half(), dense)));
}
