// tca_spmm.cpu against the oracle, the matricisation of section 4.1, and the count of MMAs.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/matricize.hpp"
#include "papers/tca_spmm/kernels/tca_spmm_cpu.hpp"
#include "papers/tca_spmm/methods/methods.hpp"
#include "tests/support/run_once.hpp"

using namespace retensor;
using namespace retensor::tca_spmm;
using namespace retensor::test;

namespace {

const std::vector<Count> kLengths = {0, 1, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65, 128, 1000};

/// A row of each length; its nonzeros stand at every third column, from another one in each row.
Coo matrix_of(const std::vector<Count>& lengths, std::uint64_t seed) {
  Count nnz = 0, longest = 1;
  for (const Count n : lengths) nnz += n, longest = std::max(longest, n);
  const std::uint64_t cols = 3 * longest + 1;
  Coo s({lengths.size(), cols}, DType::f32, nnz);
  const CounterRng rng(seed);
  Count x = 0;
  for (Count row = 0; row < lengths.size(); ++row)
    for (Count t = 0; t < lengths[row]; ++t, ++x) {
      s.indices[0][x] = static_cast<Index>(row);
      s.indices[1][x] = static_cast<Index>((3 * t + row) % cols);
      s.values.set(x, rng.uniform(x) - 0.5);
    }
  return s;
}

Problem problem_of(const Coo& s, std::uint64_t width) {
  ProblemSpec spec;
  spec.operation = Operation::spmm;
  spec.rank = width;
  spec.operands = ValueModel::normal;
  return Problem(spec, std::make_shared<const Coo>(s));
}

Ran run_of(const Problem& problem, const Given& given) {
  const DescribedMethod method(make_tca_spmm_cpu());
  REQUIRE(method.supports(problem, method.params().resolve(given)).ok);
  return run_once(make_tca_spmm_cpu(), problem, given);
}

reference::Precision precision_of(const Given& given) {
  return half_precision(output_of(make_tca_spmm_cpu().params.resolve(given)));
}

const std::vector<Given> kSettings = {{},
                                      {{"depth", std::int64_t{16}}},
                                      {{"classes", std::string("one")}},
                                      {{"warps", std::string("one")}},
                                      {{"long_rows", std::string("nonzeros")}},
                                      {{"packing", std::string("by_class")}},
                                      {{"dense", std::string("column_major")}},
                                      {{"output", std::string("f16")}}};

}  // namespace

TEST_CASE("rows of all classes and any number of outputs meet the bound in every setting") {
  const Coo s = matrix_of(kLengths, 1);
  for (const std::uint64_t width : {1, 7, 8, 64, 100}) {
    const auto problem = problem_of(s, width);
    for (const auto& given : kSettings) {
      const auto report =
          problem.oracle().check(run_of(problem, given).result, precision_of(given));
      INFO("width " << width << ", setting " << (&given - kSettings.data()) << ": "
                    << report.reason);
      CHECK(report.ok);
    }
  }
}

TEST_CASE("a row above 2^16 nonzeros") {
  const auto problem = problem_of(matrix_of({3, 70'000}, 2), 5);
  for (const std::string long_rows : {"outputs", "nonzeros"}) {
    const Given given = {{"long_rows", long_rows}};
    CHECK(problem.oracle().check(run_of(problem, given).result, precision_of(given)).ok);
  }
}

TEST_CASE("half precision does not meet the bound of single precision") {
  const auto problem = problem_of(matrix_of(kLengths, 3), 16);
  const auto result = run_of(problem, {}).result;
  CHECK(problem.oracle().check(result, precision_of({})).ok);
  CHECK_FALSE(problem.oracle().check(result, reference::Precision::of(DType::f32)).ok);
}

TEST_CASE("MMAs counted one by one are those of equation 2, with one class those of equation 1") {
  for (const std::uint64_t width : {7, 64, 100})
    for (const auto& given : kSettings) {
      const auto problem = problem_of(matrix_of(kLengths, 4), width);
      const auto facts = run_of(problem, given).executed;
      const bool one_class = given.contains("classes");
      CHECK(facts.at("mma") == facts.at("mma_equation_2"));
      CHECK((facts.at("mma") == facts.at("mma_equation_1")) == one_class);
    }
}

TEST_CASE("the count of MMAs and the check find a plan that leaves a warp out") {
  const auto problem = problem_of(matrix_of(kLengths, 5), 64);
  const HalfCsr s = to_half_csr(to_csr(problem.x()));
  const HalfMatrix d(problem.dense().front(), DenseOrder::row_major);
  Plan plan = make_plan(s.row_start, 64, {});
  const auto expected = count(plan, s.row_start).mma;
  Matrix out(s.rows, 64, DType::f32);
  CHECK(multiply(s, d, plan, out.view<float>(), 2) == expected);
  CHECK(problem.oracle().check(out, precision_of({})).ok);
  CHECK(multiply(s, d, plan, out.view<float>(), 2) == expected);  // of the last run alone

  plan.row_id_for_each_warp[1] = kNoRow;
  Matrix less(s.rows, 64, DType::f32);
  CHECK(multiply(s, d, plan, less.view<float>(), 2) < expected);
  CHECK_FALSE(problem.oracle().check(less, precision_of({})).ok);
}

TEST_CASE("both orders of D give the same bits, and so does any number of threads") {
  const auto problem = problem_of(matrix_of(kLengths, 6), 100);
  const auto same = [&](const Given& a, const Given& b) {
    const auto left = std::get<Matrix>(run_of(problem, a).result);
    const auto right = std::get<Matrix>(run_of(problem, b).result);
    return std::ranges::equal(left.values().as<float>(), right.values().as<float>());
  };
  CHECK(same({}, {{"dense", std::string("column_major")}}));
  CHECK(same({{"threads", std::int64_t{1}}}, {{"threads", std::int64_t{3}}}));
}

TEST_CASE("outputs in half precision are those in single precision, rounded") {
  const auto problem = problem_of(matrix_of(kLengths, 9), 10);
  const auto single = std::get<Matrix>(run_of(problem, {}).result);
  const auto half = std::get<Matrix>(run_of(problem, {{"output", std::string("f16")}}).result);
  const auto from = single.values().as<float>();
  CHECK(std::ranges::equal(from, half.values().as<float>(), {}, round_fp16));
  CHECK_FALSE(std::ranges::equal(from, half.values().as<float>()));
}

TEST_CASE("columns of a row in any order and twice; damaged CSR is refused") {
  Csr s;
  s.rows = 2, s.cols = 4;
  s.row_start = {0, 4, 5};
  s.columns = {3, 0, 3, 1, 2};
  s.values = Array<float>{1, 2, 4, 8, 16};
  Matrix dense(4, 3, DType::f32);
  for (std::uint64_t i = 0; i < 4; ++i)
    for (std::uint64_t j = 0; j < 3; ++j) dense.set(i, j, static_cast<double>(10 * i + j));
  const HalfCsr half = to_half_csr(s);
  const HalfMatrix d(dense, DenseOrder::row_major);
  const Plan plan = make_plan(half.row_start, 3, {});
  Matrix out(2, 3, DType::f32);
  multiply(half, d, plan, out.view<float>(), 1);
  for (std::uint64_t j = 0; j < 3; ++j) {
    CHECK(out.at(0, j) == 5 * dense.at(3, j) + 2 * dense.at(0, j) + 8 * dense.at(1, j));
    CHECK(out.at(1, j) == 16 * dense.at(2, j));
  }
  s.columns[2] = 4;
  CHECK_THROWS_AS(to_half_csr(s), InputError);
}

TEST_CASE("section 4.1: fragments of a row of 12 nonzeros and their traces") {
  const Coo s = matrix_of({12}, 7);
  const HalfCsr half = to_half_csr(to_csr(s));
  Matrix dense(s.dims[1], 9, DType::f32);
  for (std::uint64_t i = 0; i < dense.rows(); ++i)
    for (std::uint64_t j = 0; j < 9; ++j) dense.set(i, j, static_cast<double>(i + 100 * j));
  const HalfMatrix d(dense, DenseOrder::row_major);
  const auto right = right_fragment<8>(half, 0, 12);
  CHECK(right[0] == from_fp16_bits(half.values[0]));
  CHECK(right[7 * 8] == from_fp16_bits(half.values[7]));  // column-wise: row 7 of column 0
  CHECK(right[1] == from_fp16_bits(half.values[8]));      // row 0 of column 1
  CHECK(right[4 * 8 + 1] == 0);                           // padding
  const auto left = left_fragment<8>(half, 0, 12, d, 8, 2);
  CHECK(left[0] == dense.at(half.columns[0], 8));
  CHECK(left[8] == dense.at(half.columns[8], 8));  // row-wise: row 1 begins with nonzero 8
  CHECK(left[8 + 4] == 0);
  CHECK(left[16] == 0);  // column 9 is beyond the last

  Accumulator sums{};
  for (std::size_t p = 0; p < sums.size(); ++p) sums[p] = static_cast<float>(p);
  CHECK(trace(sums, 1, 3) == 3 * 8);
  CHECK(trace(sums, 2, 1) == 2 * 8 + (3 * 8 + 1));
  CHECK(trace(sums, 8, 1) == 8 * 8 * 8 + 8 * 28 + 28);
}

TEST_CASE("what the kernels cannot do is refused with a reason") {
  const DescribedMethod method(make_tca_spmm_cpu());
  const auto problem = problem_of(matrix_of({3}, 8), 4);
  const auto reason = [&](const Given& given) {
    return method.supports(problem, method.params().resolve(given)).reason;
  };
  CHECK(reason({}).empty());
  CHECK(reason({{"depth", std::int64_t{12}}}) == "found an MMA of depth 12, expected 8 or 16");
  CHECK_FALSE(
      reason({{"warps", std::string("one")}, {"long_rows", std::string("nonzeros")}}).empty());
}
