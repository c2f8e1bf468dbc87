// Tucker decomposition: an independent implementation's values, planted subspaces, any TTM-chain.
#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/decompose/hooi.hpp"
#include "common/decompose/singular_vectors.hpp"
#include "common/generate/generators.hpp"
#include "common/method/registry.hpp"
#include "tests/support/tucker_models.hpp"

using namespace retensor;
using retensor::testing::dense_tensor;
using retensor::testing::off_orthonormal;
using retensor::testing::planted_factors;
using retensor::testing::planted_tensor;
using retensor::testing::sequential;
using retensor::testing::to_eigen;
using tucker::Hooi;
using tucker::Settings;

namespace {

using Given = std::map<std::string, ParamValue>;

const Method& registered(const std::string& id) {
  static const Registry all = all_methods();
  return all.find(id);
}

Settings settings_of(Dims ranks, int max_sweeps, double tolerance = -1, std::uint64_t seed = 1) {
  return {std::move(ranks), max_sweeps, tolerance, seed};
}

/// Sine of the largest angle between the columns' spans; `basis` is orthonormal.
double largest_sine(const Eigen::MatrixXd& basis, const Eigen::MatrixXd& columns) {
  const Eigen::MatrixXd planted = Eigen::HouseholderQR<Eigen::MatrixXd>(columns).householderQ() *
                                  Eigen::MatrixXd::Identity(columns.rows(), columns.cols());
  return (planted - basis * (basis.transpose() * planted)).jacobiSvd().singularValues()[0];
}

void sweep_to_end(Hooi& hooi) {
  while (!hooi.finished()) hooi.sweep();
}

void check_planted(const Dims& dims, const Dims& ranks, DType dtype, const Method& method,
                   const Given& given, double allowed) {
  Hooi hooi(planted_tensor(dims, ranks, dtype), settings_of(ranks, 50, 1e-9), method, given);
  const auto planted = planted_factors(dims, ranks);
  const auto sine = [&](std::size_t m) {
    return largest_sine(to_eigen(hooi.model().factors[m]), planted[m]);
  };
  CHECK(sine(0) > 0.5);  // the first factors are others
  sweep_to_end(hooi);
  CHECK(hooi.converged());
  CHECK(1 - hooi.model().fit.back() < allowed);
  for (std::size_t m = 0; m < dims.size(); ++m) {
    CHECK_MESSAGE(sine(m) < allowed, method.id());
    CHECK(off_orthonormal(hooi.model().factors[m]) < (dtype == DType::f32 ? 1e-6 : 1e-12));
  }
}

std::shared_ptr<const Coo> sparse_tensor(DType dtype) {
  return std::make_shared<const Coo>(uniform({30, 20, 25}, 900, 1, dtype));
}

std::vector<double> fit_by(const Method& method, const Given& given, int sweeps) {
  Hooi hooi(sparse_tensor(DType::f32), settings_of({5, 4, 6}, sweeps), method, given);
  sweep_to_end(hooi);
  return hooi.model().fit;
}

}  // namespace

TEST_CASE("fit, core and subspaces of an independent implementation") {
  // X(i, j, k) = sin(1 + i + 2 j + 3 k) where i + j + k is even.
  const auto x = dense_tensor({4, 3, 5}, DType::f64, [](const std::vector<Index>& at) {
    return (at[0] + at[1] + at[2]) % 2 == 0 ? std::sin(1.0 + at[0] + 2.0 * at[1] + 3.0 * at[2])
                                            : 0.0;
  });
  std::vector<Matrix> first;
  for (const auto& [rows, cols] : {std::pair{4, 2}, {3, 2}, {5, 3}}) {
    const auto mode = static_cast<int>(first.size());
    Matrix& factor = first.emplace_back(rows, cols, DType::f64);
    for (int i = 0; i < rows; ++i)
      for (int r = 0; r < cols; ++r)
        factor.set(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(r),
                   std::cos(mode + i + 2 * r) + 2 + (r == 2 ? i * i : 0));
  }
  Hooi hooi(x, settings_of({2, 2, 3}, 5), sequential());
  hooi.start(first);
  sweep_to_end(hooi);
  // Printed by tucker_values.py, as is all that follows.
  const std::vector<double> fit = {0.293350888141801, 0.412205749012301, 0.416576127051907,
                                   0.418021193822323, 0.418387743796996};
  REQUIRE(hooi.model().fit.size() == fit.size());
  for (std::size_t s = 0; s < fit.size(); ++s)
    CHECK(std::abs(hooi.model().fit[s] - fit[s]) < 1e-12);
  const std::vector<double> core = {0.00444043221906307, 1.9461787702311,      0.00016122180463285,
                                    1.11597941916738,    0.00224526595670876,  0.00190915955033967,
                                    2.10647977406611,    0.00529021249756024,  0.00226281292057742,
                                    0.0055228758190276,  0.000691648180694421, 0.477155575367215};
  REQUIRE(hooi.model().core.size() == core.size());
  for (std::size_t c = 0; c < core.size(); ++c)
    CHECK(std::abs(std::abs(hooi.model().core[c]) - core[c]) < 1e-11);
  const std::vector<std::vector<double>> projections = {
      {0.824008315819012, 0.0228984512014342, -0.379304401964399, 0.0249488048437623,
       0.0228984512014342, 0.426358296762112, -0.0173594304401527, -0.493711667526292,
       -0.379304401964399, -0.0173594304401527, 0.174709192739276, -0.00356532423342229,
       0.0249488048437623, -0.493711667526292, -0.00356532423342229, 0.574924194679598},
      {0.31898377667691, 0.04319677687759, -0.464076680475579, 0.04319677687759, 0.997260033654547,
       0.0294363278495433, -0.464076680475579, 0.0294363278495433, 0.683756189668541},
      {0.823725336970286,  0.0156549244476542,  0.337690681667568, -0.0145360416606307,
       -0.175244219738474, 0.0156549244476542,  0.463626943147285, -0.00208060217329461,
       0.498037606385209,  -0.0196503892179295, 0.337690681667568, -0.00208060217329461,
       0.351627426239872,  0.0019318981686137,  0.337553731626168, -0.0145360416606307,
       0.498037606385209,  0.0019318981686137,  0.537557947393286, 0.0182459440973051,
       -0.175244219738474, -0.0196503892179295, 0.337553731626168, 0.0182459440973051,
       0.823462346249272}};
  for (std::size_t m = 0; m < projections.size(); ++m) {
    const Eigen::MatrixXd a = to_eigen(hooi.model().factors[m]);
    const Eigen::MatrixXd expected =
        Eigen::Map<const Eigen::MatrixXd>(projections[m].data(), a.rows(), a.rows());
    CHECK((a * a.transpose() - expected).cwiseAbs().maxCoeff() < 1e-11);
  }
}

TEST_CASE("planted subspaces are found with HLSTO's chain and a sequential one") {
  check_planted({20, 17, 18}, {3, 2, 4}, DType::f64, sequential(), {}, 1e-6);
  check_planted({9, 8, 7, 6}, {2, 3, 3, 3}, DType::f64, sequential(), {}, 1e-6);
  check_planted({9, 8, 7, 6}, {3, 2, 4, 3}, DType::f64, sequential(), {}, 1e-6);
  check_planted({9, 8}, {3, 3}, DType::f64, sequential(), {}, 1e-6);
  const Method& hlsto = registered("hlsto.cpu");
  // The fit is 1 - sqrt(1 - q) with q near 1: an error e of q becomes sqrt(e).
  check_planted({20, 17, 18}, {3, 2, 4}, DType::f32, hlsto, {{"format", std::string("hls_s")}},
                1e-2);
  check_planted({20, 17, 18}, {3, 2, 4}, DType::f32, hlsto,
                {{"format", std::string("hls_d")}, {"precision", std::string("split_fp16")}}, 1e-2);
  check_planted({20, 17, 18}, {3, 2, 4}, DType::f32, hlsto, {}, 0.1);
}

TEST_CASE(
    "the chain of coordinates finds planted subspaces of any order by any number of threads") {
  const Method& chain = registered("tucker.cpu.chain");
  for (const std::int64_t threads : {1, 3, 64}) {
    check_planted({20, 17, 18}, {3, 2, 4}, DType::f32, chain, {{"threads", threads}}, 1e-2);
    check_planted({9, 8, 7, 6}, {2, 3, 3, 3}, DType::f64, chain, {{"threads", threads}}, 1e-6);
    check_planted({9, 8, 7, 6}, {3, 2, 4, 3}, DType::f64, chain, {{"threads", threads}}, 1e-6);
    check_planted({9, 8}, {3, 3}, DType::f64, chain, {{"threads", threads}}, 1e-6);
  }
}

TEST_CASE("ranks below the planted ones leave a residual") {
  Hooi hooi(planted_tensor({20, 17, 18}, {3, 2, 4}, DType::f64), settings_of({3, 2, 3}, 30, 1e-9),
            sequential());
  sweep_to_end(hooi);
  CHECK(hooi.model().fit.back() < 0.95);
  CHECK(largest_sine(to_eigen(hooi.model().factors[2]),
                     planted_factors({20, 17, 18}, {3, 2, 4})[2]) > 0.5);
}

TEST_CASE("the fit grows in every sweep, to rounding") {
  for (const std::uint64_t rank : {1, 3, 8}) {
    Hooi hooi(sparse_tensor(DType::f64), settings_of({rank, rank, rank}, 20), sequential());
    sweep_to_end(hooi);
    const auto& fit = hooi.model().fit;
    REQUIRE(fit.size() == 20);
    for (std::size_t s = 1; s < fit.size(); ++s) CHECK(fit[s] > fit[s - 1] - 1e-12);
    CHECK(fit.back() > fit.front());
  }
}

TEST_CASE("the fit is that of the reconstructed tensor") {
  Hooi hooi(sparse_tensor(DType::f64), settings_of({3, 4, 5}, 6), sequential());
  CHECK(hooi.model().core.empty());
  sweep_to_end(hooi);
  const auto& model = hooi.model();
  Eigen::VectorXd entries = Eigen::VectorXd::Zero(30 * 20 * 25);
  for (Eigen::Index cell = 0; cell < entries.size(); ++cell)
    for (std::uint64_t c = 0; c < model.core.size(); ++c)
      entries[cell] += model.core[c] *
                       model.factors[0].at(static_cast<std::uint64_t>(cell / 500), c / 20) *
                       model.factors[1].at(static_cast<std::uint64_t>(cell / 25 % 20), c / 5 % 4) *
                       model.factors[2].at(static_cast<std::uint64_t>(cell % 25), c % 5);
  const auto x = sparse_tensor(DType::f64);
  Eigen::VectorXd expected = Eigen::VectorXd::Zero(entries.size());
  for (Count p = 0; p < x->nnz(); ++p)
    expected[x->indices[0][p] * 500 + x->indices[1][p] * 25 + x->indices[2][p]] = x->values.at(p);
  CHECK(std::abs(model.fit.back() - (1 - (expected - entries).norm() / expected.norm())) < 1e-12);
}

TEST_CASE("the fit does not depend on the method, but on its precision") {
  const auto expected = fit_by(sequential(), {}, 6);
  const Method& hlsto = registered("hlsto.cpu");
  const auto off = [&](const Given& given) {
    const auto fit = fit_by(hlsto, given, 6);
    double most = 0;
    for (std::size_t s = 0; s < fit.size(); ++s)
      most = std::max(most, std::abs(fit[s] - expected[s]));
    return most;
  };
  const std::string dense = "hls_d";
  CHECK(off({{"format", std::string("hls_s")}, {"values", std::string("f32")}}) < 1e-5);
  CHECK(off({{"format", dense}, {"precision", std::string("split_fp16")}}) < 1e-5);
  const double half = off({{"format", dense}, {"precision", std::string("fp16")}});
  CHECK(half > 1e-6);
  CHECK(half < 1e-2);
}

TEST_CASE("sweeps end with a small gain or with the last that is allowed") {
  Hooi hooi(sparse_tensor(DType::f64), settings_of({3, 3, 3}, 50, 1e-3), sequential());
  sweep_to_end(hooi);
  const auto& fit = hooi.model().fit;
  CHECK(hooi.converged());
  REQUIRE(fit.size() < 50);
  REQUIRE(fit.size() > 2);
  CHECK(fit.back() - fit[fit.size() - 2] < 1e-3);
  CHECK(fit[fit.size() - 2] - fit[fit.size() - 3] >= 1e-3);
  Hooi cut(sparse_tensor(DType::f64), settings_of({3, 3, 3}, 2, 1e-9), sequential());
  sweep_to_end(cut);
  CHECK(cut.model().fit.size() == 2);
  CHECK_FALSE(cut.converged());
}

TEST_CASE("the seed decides the first factors") {
  const auto first = [](std::uint64_t seed) {
    const Hooi hooi(sparse_tensor(DType::f64), settings_of({3, 3, 3}, 5, -1, seed), sequential());
    for (const Matrix& factor : hooi.model().factors) CHECK(off_orthonormal(factor) < 1e-12);
    return to_eigen(hooi.model().factors[1]);
  };
  CHECK((first(1) - first(1)).cwiseAbs().maxCoeff() == 0);
  CHECK((first(1) - first(2)).cwiseAbs().maxCoeff() > 0.01);
}

TEST_CASE("leading vectors of tall, wide and rank-deficient matrices") {
  // diag(3, 2, 1) in the rows 4, 1, 2.
  Matrix tall(6, 3, DType::f64), wide(3, 6, DType::f64), flat(6, 3, DType::f64);
  const int rows[] = {4, 1, 2};
  for (std::uint64_t r = 0; r < 3; ++r) {
    tall.set(static_cast<std::uint64_t>(rows[r]), r, 3.0 - static_cast<double>(r));
    wide.set(r, static_cast<std::uint64_t>(rows[r]), 3.0 - static_cast<double>(r));
  }
  const Eigen::MatrixXd u = cpd::leading_vectors(tall, 2);
  for (int r = 0; r < 2; ++r) CHECK(std::abs(std::abs(u(rows[r], r)) - 1) < 1e-14);
  const Eigen::MatrixXd v = cpd::leading_vectors(wide, 2);
  for (int r = 0; r < 2; ++r) CHECK(std::abs(std::abs(v(r, r)) - 1) < 1e-14);
  flat.set(4, 1, 5.0);
  const Eigen::MatrixXd w = cpd::leading_vectors(flat, 2);
  CHECK(std::abs(std::abs(w(4, 0)) - 1) < 1e-14);
  CHECK((w.transpose() * w - Eigen::MatrixXd::Identity(2, 2)).cwiseAbs().maxCoeff() < 1e-14);
}

/// The share of |X|^2 that the vectors keep of the unfolding of a mode.
double kept(const Coo& x, int mode, const Eigen::MatrixXd& vectors) {
  Eigen::Index columns = 1;
  for (int m = 0; m < x.order(); ++m)
    if (m != mode) columns *= static_cast<Eigen::Index>(x.dims[static_cast<std::size_t>(m)]);
  Eigen::MatrixXd unfolded = Eigen::MatrixXd::Zero(vectors.rows(), columns);
  for (Count p = 0; p < x.nnz(); ++p) {
    Eigen::Index column = 0;
    for (std::size_t m = 0; m < x.dims.size(); ++m)
      if (std::cmp_not_equal(m, mode))
        column = column * static_cast<Eigen::Index>(x.dims[m]) + x.indices[m][p];
    unfolded(x.indices[static_cast<std::size_t>(mode)][p], column) = x.values.at(p);
  }
  return (vectors.transpose() * unfolded).squaredNorm() / unfolded.squaredNorm();
}

TEST_CASE("leading vectors of a long mode keep as much as those of its Gram matrix") {
  // 300 indices: 4 vectors come from subspace iteration, 150 from the Gram matrix.
  const Coo x = uniform({300, 9, 8}, 4000, 1, DType::f64);
  const Eigen::MatrixXd few = cpd::leading_vectors(x, 0, 4, 1);
  const Eigen::MatrixXd exact = cpd::leading_vectors(x, 0, 150, 1).leftCols(4);
  const auto identity = Eigen::MatrixXd::Identity(4, 4);
  CHECK((few.transpose() * few - identity).cwiseAbs().maxCoeff() < 1e-12);
  CHECK((exact.transpose() * exact - identity).cwiseAbs().maxCoeff() < 1e-12);
  const double best = kept(x, 0, exact);
  CHECK(kept(x, 0, few) > best * (1 - 1e-3));
  CHECK(kept(x, 0, few) < best * (1 + 1e-12));
  CHECK(kept(x, 0, Eigen::MatrixXd::Identity(300, 4)) < 0.5 * best);
  for (Eigen::Index r = 0; r < 4; ++r)
    CHECK(few.col(r).maxCoeff() == few.col(r).cwiseAbs().maxCoeff());
  // The same on any number of threads, and whatever the nonzeros' order.
  const int before = omp_get_max_threads();
  omp_set_num_threads(before == 1 ? 4 : 1);
  CHECK((cpd::leading_vectors(x, 0, 4, 1) - few).cwiseAbs().maxCoeff() == 0);
  omp_set_num_threads(before);
}

TEST_CASE("a decomposition that begins at singular vectors is ahead of a random one") {
  const auto fit_after_one = [](cpd::Start start) {
    auto settings = settings_of({3, 3, 3}, 1);
    settings.start = start;
    Hooi hooi(sparse_tensor(DType::f64), settings, sequential());
    hooi.sweep();
    return hooi.model().fit.front();
  };
  CHECK(fit_after_one(cpd::Start::nvecs) > fit_after_one(cpd::Start::normal));
}

TEST_CASE("a tensor of zeros is its own model") {
  Hooi hooi(std::make_shared<const Coo>(Dims{5, 4, 3}, DType::f64), settings_of({2, 2, 2}, 3),
            sequential());
  sweep_to_end(hooi);
  for (const double fit : hooi.model().fit) CHECK(fit == 1);
  for (const Matrix& factor : hooi.model().factors) CHECK(off_orthonormal(factor) < 1e-12);
}

TEST_CASE("the fit of a model of NaN is NaN") {
  Coo x = *sparse_tensor(DType::f64);
  x.values.set(7, std::nan(""));
  Hooi hooi(std::make_shared<const Coo>(x), settings_of({2, 2, 2}, 1), sequential());
  hooi.sweep();
  CHECK(std::isnan(hooi.model().fit.back()));
}

TEST_CASE("what is refused") {
  const auto x = sparse_tensor(DType::f32);
  const auto refused = [&](const Dims& ranks, const char* why) {
    CHECK_THROWS_WITH_AS(Hooi(x, settings_of(ranks, 5), sequential()), doctest::Contains(why),
                         InputError);
  };
  refused({3, 3}, "tucker: found 2 ranks, expected one for each of 3 modes");
  refused({3, 0, 3}, "found rank 0 of mode 1, expected 1 to 9");
  refused({9, 2, 3}, "found rank 9 of mode 0, expected 1 to 6");
  refused({8, 21, 8}, "found rank 21 of mode 1, expected 1 to 20");
  const auto line = std::make_shared<const Coo>(uniform({30}, 5, 1, DType::f32));
  CHECK_THROWS_WITH_AS(Hooi(line, settings_of({1}, 5), sequential()),
                       "tucker: found a tensor of order 1, expected 2 or more", InputError);
  CHECK_THROWS_WITH_AS(
      Hooi(sparse_tensor(DType::f64), settings_of({3, 3, 3}, 5), registered("hlsto.cpu")),
      doctest::Contains("hlsto.cpu: supports only single precision"), InputError);
  CHECK_THROWS_AS(Hooi(x, settings_of({3, 3, 3}, 5), registered("pasta.cpu.coo")), InputError);
  CHECK_THROWS_WITH_AS(Hooi(x, settings_of({3, 3, 3}, 5), registered("hlsto.cpu"),
                            {{"precison", std::string("fp16")}}),
                       doctest::Contains("unknown parameter 'precison'"), InputError);
  Hooi hooi(x, settings_of({3, 3, 3}, 5), sequential());
  auto factors = hooi.model().factors;
  factors[1] = Matrix(20, 4, DType::f32);
  CHECK_THROWS_WITH_AS(hooi.start(factors),
                       "tucker: found a factor of mode 1 of 20 x 4, expected 20 x 3", InputError);
  factors.pop_back();
  CHECK_THROWS_WITH_AS(hooi.start(factors), "tucker: found 2 factors, expected 3", InputError);
}
