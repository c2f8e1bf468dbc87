// Sweeps of HOOI on the device beside those of the host.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <utility>

#include "common/core/error.hpp"
#include "common/decompose/hooi.hpp"
#include "common/generate/generators.hpp"
#include "tests/support/tucker_models.hpp"

using namespace retensor;
using namespace retensor::testing;
using tucker::Hooi;
using tucker::Model;
using tucker::Settings;

namespace {

Settings settings_of(Dims ranks, int max_sweeps, double tolerance = -1) {
  Settings settings;
  settings.ranks = std::move(ranks);
  settings.max_sweeps = max_sweeps;
  settings.tolerance = tolerance;
  return settings;
}

/// The sign of a singular vector is free: spans are compared.
void check_same(const Model& device, const Model& host, double bound) {
  REQUIRE(device.fit.size() == host.fit.size());
  for (std::size_t s = 0; s < host.fit.size(); ++s)
    CHECK(std::abs(device.fit[s] - host.fit[s]) < bound);
  for (std::size_t m = 0; m < host.factors.size(); ++m) {
    const Eigen::MatrixXd a = to_eigen(device.factors[m]), b = to_eigen(host.factors[m]);
    CHECK((a - b * (b.transpose() * a)).norm() < 100 * bound);
    CHECK(off_orthonormal(device.factors[m]) < 10 * bound);
  }
  REQUIRE(device.core.size() == host.core.size());
  double squares = 0;
  for (const double entry : host.core) squares += entry * entry;
  for (std::size_t c = 0; c < host.core.size(); ++c)
    CHECK(std::abs(std::abs(device.core[c]) - std::abs(host.core[c])) <
          100 * bound * std::sqrt(squares));
}

void check_beside_host(const Dims& dims, const Dims& ranks, Count nnz, DType dtype, double bound,
                       tucker::Solver solver = tucker::Solver::syevd) {
  CAPTURE(dims.size());
  CAPTURE(ranks.front());
  const auto x = std::make_shared<const Coo>(uniform(dims, nnz, 1, dtype));
  auto settings = settings_of(ranks, 3);
  settings.start = cpd::Start::nvecs;
  settings.solver = solver;
  Hooi device(x, settings);
  Hooi host(x, settings, sequential());
  for (int sweep = 0; sweep < 3; ++sweep) device.sweep(), host.sweep();
  check_same(device.model(), host.model(), bound);
}

}  // namespace

TEST_CASE("sweeps on the device give the host's spans, core and fit") {
  // Modes longer and shorter than the product of the other ranks, slices of several segments.
  check_beside_host({300, 9, 25}, {4, 3, 3}, 9000, DType::f64, 1e-9);
  check_beside_host({7, 200, 150}, {5, 4, 4}, 9000, DType::f64, 1e-9);
  check_beside_host({40, 30}, {3, 3}, 500, DType::f64, 1e-9);
  check_beside_host({20, 12, 15, 18}, {2, 3, 3, 3}, 8000, DType::f64, 1e-9);
  check_beside_host({9, 8, 10, 7, 8}, {3, 2, 2, 2, 2}, 8000, DType::f64, 1e-9);
  check_beside_host({300, 90, 25}, {4, 3, 3}, 9000, DType::f32, 1e-5);
}

TEST_CASE("every function of eigenvectors gives the host's spans") {
  for (const auto solver : {tucker::Solver::xsyevd, tucker::Solver::syevdx}) {
    CAPTURE(tucker::kSolverNames[static_cast<std::size_t>(solver)]);
    check_beside_host({300, 9, 25}, {4, 3, 3}, 9000, DType::f64, 1e-9, solver);
    check_beside_host({7, 200, 150}, {5, 4, 4}, 9000, DType::f32, 1e-5, solver);
  }
}

TEST_CASE("a range finder ends near the host's fit, and finds planted subspaces") {
  const auto fit_of = [](std::shared_ptr<const Coo> x, const Dims& ranks, tucker::Solver solver) {
    auto settings = settings_of(ranks, 6);
    settings.solver = solver;
    Hooi hooi(std::move(x), settings);
    while (!hooi.finished()) hooi.sweep();
    for (const Matrix& factor : hooi.model().factors) CHECK(off_orthonormal(factor) < 1e-8);
    return hooi.model().fit.back();
  };
  for (const Dims& dims : {Dims{300, 9, 25}, Dims{7, 200, 150}}) {
    const auto x = std::make_shared<const Coo>(uniform(dims, 9000, 1, DType::f64));
    const double exact = fit_of(x, {4, 3, 3}, tucker::Solver::syevd);
    CHECK(std::abs(fit_of(x, {4, 3, 3}, tucker::Solver::range) - exact) < 0.02 * exact);
  }
  CHECK(fit_of(planted_tensor({60, 47, 38}, {3, 2, 4}, DType::f64), {3, 2, 4},
               tucker::Solver::range) > 1 - 1e-6);
}

TEST_CASE("any ranks find planted subspaces") {
  const auto found = [](const Dims& dims, const Dims& ranks, DType dtype) {
    Hooi hooi(planted_tensor(dims, ranks, dtype), settings_of(ranks, 50, 1e-12));
    while (!hooi.finished()) hooi.sweep();
    for (const Matrix& factor : hooi.model().factors)
      CHECK(off_orthonormal(factor) < (dtype == DType::f64 ? 1e-10 : 1e-5));
    return hooi.model().fit.back();
  };
  CHECK(found({20, 17, 18}, {3, 2, 4}, DType::f64) > 1 - 1e-6);
  CHECK(found({9, 8, 7, 6}, {2, 4, 3, 2}, DType::f64) > 1 - 1e-6);
  CHECK(found({6, 5, 7, 4, 5}, {2, 3, 2, 2, 4}, DType::f64) > 1 - 1e-6);
  CHECK(found({20, 17, 18}, {3, 2, 4}, DType::f32) > 1 - 1e-2);
}

TEST_CASE("a model begins anew, and a tensor of low rank leaves no number that is none") {
  const auto x = planted_tensor({60, 17, 18}, {2, 2, 2}, DType::f64);
  Hooi hooi(x, settings_of({4, 3, 4}, 3));
  hooi.sweep();
  const Model first = hooi.model();
  CHECK(first.fit.back() > 1 - 1e-6);
  for (const Matrix& factor : first.factors) CHECK(to_eigen(factor).allFinite());
  hooi.sweep();
  CHECK(std::isfinite(hooi.model().fit.back()));
  hooi.start(first.factors);
  CHECK(hooi.model().fit.empty());
  hooi.sweep();
  CHECK(hooi.model().fit.back() > 1 - 1e-6);
}

TEST_CASE("a tensor without nonzeros is its own model") {
  Hooi hooi(std::make_shared<const Coo>(Dims{5, 4, 3}, DType::f32), settings_of({2, 2, 2}, 2));
  hooi.sweep();
  CHECK(hooi.model().fit.back() == 1);
}

TEST_CASE("what the device does not take is refused") {
  const auto x = std::make_shared<const Coo>(uniform({3, 3, 3, 3, 3, 3}, 50, 1, DType::f32));
  CHECK_THROWS_WITH_AS(Hooi(x, settings_of({2, 2, 2, 2, 2, 2}, 2)),
                       "tucker: found a tensor of order 6, expected 2 to 5 on the device",
                       InputError);
  CHECK_THROWS_AS(Hooi(x, settings_of({2, 2}, 2)), InputError);
}
