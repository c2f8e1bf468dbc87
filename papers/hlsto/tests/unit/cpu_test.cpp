// hlsto.cpu against the oracle on random tensors, and the count of MMAs.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

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

Result result_of(const Problem& problem, const Given& given) {
  return run_once(make_hlsto_cpu(), problem, given).result;
}

reference::CheckReport report_of(const Problem& problem, const Given& given,
                                 const std::string& precision) {
  const DescribedMethod method(make_hlsto_cpu());
  const auto bound =
      method.precision(problem, method.params().resolve({{"precision", ParamValue(precision)}}));
  return problem.oracle().check(result_of(problem, given), bound);
}

}  // namespace

TEST_CASE("both operations meet the bound of each precision, whatever tiles are dense") {
  const CounterRng rng(7);
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
    const std::string precision(name(static_cast<Arithmetic>(turn / 3 % 4)));
    const auto threshold = static_cast<std::int64_t>(upto(40));
    const std::int64_t edge = 2 << (turn % 5);
    const auto report = report_of(
        problem, {{"precision", precision}, {"threshold", threshold}, {"edge", edge}}, precision);
    INFO("turn " << turn << ", precision " << precision << ": " << report.reason);
    CHECK(report.ok);
  }
}

TEST_CASE("half precision does not meet the bound of split halves") {
  const auto problem = problem_of(Operation::mttkrp, {40, 40, 40}, 5000, 0, 16, 1);
  const std::map<std::string, ParamValue> dense = {{"format", std::string("hls_d")}};
  CHECK(report_of(problem, dense, "fp16").ok);
  CHECK_FALSE(report_of(problem, dense, "split_fp16").ok);
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
