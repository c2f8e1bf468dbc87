// The CP oracle against an ALS written independently, and its checks.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>

#include "common/core/error.hpp"
#include "reference_case.hpp"
#include "temporary_folder.hpp"

using namespace reference_case;
using retensor::testing::TemporaryFolder;

namespace {

constexpr int kSweeps = 8;

Eigen::MatrixXd eigen_of(const Matrix& m) {
  Eigen::MatrixXd e(m.rows(), m.cols());
  for (Eigen::Index i = 0; i < e.rows(); ++i)
    for (Eigen::Index j = 0; j < e.cols(); ++j) e(i, j) = m.at(i, j);
  return e;
}

double squared_distance(const Coo& x, const KruskalModel& model) {
  const Dense a(x);
  double sum = 0;
  for_each_coordinate(x.dims, [&](const Coordinate& c) {
    double value = 0;
    for (std::size_t r = 0; r < model.weights.size(); ++r) {
      double term = model.weights[r];
      for (std::size_t m = 0; m < c.size(); ++m) term *= model.factors[m].at(c[m], r);
      value += term;
    }
    sum += (a.value(c) - value) * (a.value(c) - value);
  });
  return sum;
}

// CP-ALS by normal equations; the fit by the distance to the dense tensor.
KruskalModel als(const Coo& x, std::vector<Matrix> factors, int sweeps, DType type) {
  double square = 0;
  for (Count p = 0; p < x.nnz(); ++p) square += x.values.at(p) * x.values.at(p);
  KruskalModel model;
  model.weights.resize(factors.front().cols());
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t mode = 0; mode < factors.size(); ++mode) {
      Eigen::MatrixXd gram = Eigen::MatrixXd::Ones(static_cast<Eigen::Index>(model.weights.size()),
                                                   static_cast<Eigen::Index>(model.weights.size()));
      for (std::size_t m = 0; m < factors.size(); ++m)
        if (m != mode)
          gram.array() *= (eigen_of(factors[m]).transpose() * eigen_of(factors[m])).array();
      const Eigen::MatrixXd product =
          eigen_of(brute_mttkrp(x, factors, static_cast<int>(mode), type));
      const Eigen::MatrixXd solved = gram.ldlt().solve(product.transpose()).transpose();
      for (std::size_t r = 0; r < model.weights.size(); ++r) {
        const auto column = static_cast<Eigen::Index>(r);
        model.weights[r] = solved.col(column).norm();
        for (std::uint64_t i = 0; i < factors[mode].rows(); ++i)
          factors[mode].set(i, r, solved(static_cast<Eigen::Index>(i), column) / model.weights[r]);
      }
    }
    model.factors = factors;
    model.fit.push_back(1 - std::sqrt(squared_distance(x, model) / square));
  }
  return model;
}

struct Setup {
  Coo x;
  std::vector<Matrix> initial;
  Expected oracle;
  KruskalModel model;
};

Setup setup(const Dims& dims, std::uint64_t rank, DType type = DType::f64) {
  Coo x = random_tensor(dims, 40, 3, type);
  auto initial = random_factors(dims, Dims(dims.size(), rank), 4, type);
  Expected oracle = reference::cpd(x, initial, kSweeps, -1);
  KruskalModel model = als(x, initial, kSweeps, type);
  return {std::move(x), std::move(initial), std::move(oracle), std::move(model)};
}

}  // namespace

TEST_CASE("an independent ALS passes for orders 2 to 4 and both value types") {
  for (const Dims& dims : {Dims{6, 7}, Dims{5, 4, 6}, Dims{3, 4, 3, 4}})
    for (const DType type : {DType::f64, DType::f32}) {
      const Setup s = setup(dims, 3, type);
      const CheckReport report = s.oracle.check(s.model, Precision::of(type));
      CHECK_MESSAGE(report.ok, report.reason);
      CHECK(report.entries == kSweeps + 2);
    }
}

TEST_CASE("permuted components and flipped signs pass") {
  Setup s = setup({5, 4, 6}, 3);
  std::swap(s.model.weights[0], s.model.weights[2]);
  for (Matrix& factor : s.model.factors)
    for (std::uint64_t i = 0; i < factor.rows(); ++i) {
      const double first = factor.at(i, 0);
      factor.set(i, 0, factor.at(i, 2));
      factor.set(i, 2, first);
    }
  for (const std::size_t m : {0, 1})
    for (std::uint64_t i = 0; i < s.model.factors[m].rows(); ++i)
      s.model.factors[m].set(i, 1, -s.model.factors[m].at(i, 1));
  CHECK(s.oracle.check(s.model, kF64).ok);
}

TEST_CASE("an exact low-rank tensor is fitted to 1 and the sweeps stop") {
  const Dims dims{4, 3, 5};
  const auto truth = random_factors(dims, {1, 1, 1}, 8);
  Coo x = random_tensor(dims, 2000, 1);
  REQUIRE(x.nnz() == 60);
  for (Count p = 0; p < x.nnz(); ++p)
    x.values.set(p, truth[0].at(x.indices[0][p], 0) * truth[1].at(x.indices[1][p], 0) *
                        truth[2].at(x.indices[2][p], 0));
  const auto initial = random_factors(dims, {1, 1, 1}, 9);
  KruskalModel model = als(x, initial, 2, DType::f64);
  CHECK(model.fit.back() == doctest::Approx(1).epsilon(1e-6));
  const Expected oracle = reference::cpd(x, initial, 50, 1e-3);
  CHECK(oracle.check(model, kF64).ok);
  model.fit.insert(model.fit.end(), 49, 1.0);  // more sweeps than allowed
  CHECK_FALSE(oracle.check(model, kF64).ok);
}

TEST_CASE("components that coincide and empty tensors are solved") {
  const Dims dims{4, 3, 5};
  const Coo x = random_tensor(dims, 20, 2);
  auto initial = random_factors(dims, {2, 2, 2}, 3);
  for (Matrix& factor : initial)
    for (std::uint64_t i = 0; i < factor.rows(); ++i) factor.set(i, 1, factor.at(i, 0));
  CHECK_NOTHROW(reference::cpd(x, initial, 5, 1e-5));

  KruskalModel zero;
  zero.weights = {0, 0};
  zero.fit = {1};
  for (const auto n : dims) zero.factors.emplace_back(n, 2, DType::f64);
  const Expected nothing = reference::cpd(Coo(dims, DType::f64), initial, 5, 1e-5);
  CHECK(nothing.check(zero, kF64).ok);
  zero.weights[0] = 1;
  CHECK_FALSE(nothing.check(zero, kF64).ok);
}

TEST_CASE("the expected fit is NaN where squares overflow, which no model meets") {
  Setup s = setup({5, 4, 6}, 3, DType::f64);
  s.x.values.set(3, 1e200);
  const Expected oracle = reference::cpd(s.x, s.initial, kSweeps, 0);
  KruskalModel fitted = s.model;
  for (double& fit : fitted.fit) fit = 1;
  const CheckReport report = oracle.check(fitted, kF64);
  CHECK_FALSE(report.ok);
  CHECK_MESSAGE(report.reason.find("nan") != std::string::npos, report.reason);
}

TEST_CASE("wrong models are caught") {
  for (const DType type : {DType::f64, DType::f32}) {
    const Setup s = setup({5, 4, 6}, 3, type);
    const Precision precision = Precision::of(type);
    const auto caught = [&](const KruskalModel& wrong, const std::string& what) {
      CAPTURE(what);
      const CheckReport report = s.oracle.check(wrong, precision);
      CHECK_FALSE(report.ok);
      CHECK_FALSE(report.reason.empty());
      CHECK(report.error_over_bound > 1);
    };
    Coo dropped(s.x.dims, type, s.x.nnz() - 1);
    for (std::size_t m = 0; m < 3; ++m)
      dropped.indices[m].assign(s.x.indices[m].begin(), s.x.indices[m].end() - 1);
    for (Count p = 0; p < dropped.nnz(); ++p) dropped.values.set(p, s.x.values.at(p));
    caught(als(dropped, s.initial, kSweeps, type), "dropped nonzero");
    Coo swapped = s.x;
    std::swap(swapped.indices[0][0], swapped.indices[0][1]);
    REQUIRE(swapped.indices[0][0] != swapped.indices[0][1]);
    caught(als(swapped, s.initial, kSweeps, type), "swapped indices");
    caught(als(random_tensor({5, 4, 6}, 40, 77, type), s.initial, kSweeps, type), "stale model");
    caught(als(s.x, s.initial, kSweeps - 1, type), "last sweep missing");

    KruskalModel wrong = s.model;
    for (double& w : wrong.weights) w *= 2;
    caught(wrong, "weights accumulated twice");
    wrong = s.model;
    wrong.fit[2] += 0.01;
    caught(wrong, "fit curve");
    wrong = s.model;
    wrong.factors[1].set(0, 0, -wrong.factors[1].at(0, 0));
    caught(wrong, "one element's sign");
    wrong = s.model;
    for (std::uint64_t i = 0; i < 5; ++i) wrong.factors[0].set(i, 0, 2 * wrong.factors[0].at(i, 0));
    wrong.weights[0] /= 2;
    caught(wrong, "columns not of unit norm");
    for (const std::size_t part : {0, 1, 2}) {
      wrong = s.model;
      const double nan = std::nan("");
      if (part == 0) wrong.fit[1] = nan;
      if (part == 1) wrong.weights[0] = nan;
      if (part == 2) wrong.factors[2].set(1, 1, nan);
      caught(wrong, "NaN");
    }
    wrong = s.model;
    wrong.factors.pop_back();
    caught(wrong, "a factor less");
    wrong = s.model;
    wrong.weights.pop_back();
    caught(wrong, "a weight less");
    wrong = s.model;
    wrong.fit.clear();
    caught(wrong, "no fit");
  }
}

TEST_CASE("CP oracles survive storage; operands that do not fit are refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("cpd");
  const Setup s = setup({5, 4, 6}, 3, DType::f32);
  s.oracle.save(path);
  const Expected loaded = Expected::load(path);
  CHECK(loaded.check(s.model, kF32).ok);
  CHECK_THROWS_AS(loaded.check(Coo({5, 4, 6}, DType::f32), kF32), LogicError);
  CHECK_THROWS_AS(reference::cpd(s.x, {}, 5, 0), InputError);
  CHECK_THROWS_AS(reference::cpd(s.x, random_factors({5, 4, 6}, {2, 3, 2}, 1), 5, 0), InputError);
  CHECK_THROWS_AS(reference::cpd(s.x, s.initial, 0, 0), InputError);
}
