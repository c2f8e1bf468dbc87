// The dense part of a CP-ALS update on the device beside that of the host.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/cpd/updates.hpp"

using namespace retensor;

namespace {

/// ld two above the columns, as a caller may have it.
Matrix drawn(std::uint64_t rows, std::uint64_t columns, DType dtype, std::uint64_t seed) {
  Matrix m(rows, columns, dtype, columns + 2);
  const CounterRng rng(seed);
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t r = 0; r < columns; ++r) m.set(i, r, rng.uniform(i * columns + r) - 0.5);
  return m;
}

/// A Gram matrix of rank `rank`, n x n; well conditioned where that is n.
Eigen::MatrixXd positive(Eigen::Index n, Eigen::Index rank) {
  Eigen::MatrixXd half(n, rank);
  const CounterRng rng(5);
  for (Eigen::Index i = 0; i < half.size(); ++i)
    half.data()[i] = rng.uniform(static_cast<std::uint64_t>(i)) - 0.5;
  Eigen::MatrixXd gram = half * half.transpose();
  if (rank == n) gram += Eigen::MatrixXd::Identity(n, n);
  return gram;
}

std::span<const double> numbers(const Eigen::MatrixXd& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}

Eigen::Map<const Eigen::VectorXd> vector_of(const std::vector<double>& numbers) {
  return {numbers.data(), static_cast<Eigen::Index>(numbers.size())};
}

double distance(const std::vector<double>& of, const std::vector<double>& from) {
  const auto a = vector_of(of), b = vector_of(from);
  return (a - b).norm() / std::max(b.norm(), std::numeric_limits<double>::min());
}

void check_beside_host(std::uint64_t rows, std::uint64_t rank, DType dtype,
                       const Eigen::MatrixXd& v, const Matrix& m) {
  CAPTURE(rows);
  CAPTURE(rank);
  Matrix on_host(rows, rank, dtype, rank + 2), on_device(rows, rank, dtype, rank + 2);
  const auto host = cpd::host_updates(rows, rank)(m, numbers(v), on_host);
  const auto device = cpd::device_updates(rows, rank, dtype)(m, numbers(v), on_device);
  const double eps = dtype == DType::f64 ? 1e-11 : 1e-6;
  CHECK(distance(device.norms, host.norms) < eps);
  CHECK(distance(device.gram, host.gram) < eps);
  const auto products = vector_of(host.products);
  CHECK(std::abs(vector_of(device.products).sum() - products.sum()) <
        eps * (1 + products.cwiseAbs().sum()));
  double worst = 0;
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t r = 0; r < rank; ++r)
      worst = std::max(worst, std::abs(on_device.at(i, r) - on_host.at(i, r)));
  CHECK(worst < eps);
}

}  // namespace

TEST_CASE("an update on the device is the host's") {
  for (const auto dtype : {DType::f32, DType::f64})
    for (const std::uint64_t rank : {1, 16, 33, 130})
      for (const std::uint64_t rows : {1, 100, 5000}) {
        const auto n = static_cast<Eigen::Index>(rank);
        check_beside_host(rows, rank, dtype, positive(n, n), drawn(rows, rank, dtype, 1));
      }
}

TEST_CASE("a singular system is solved by the pseudo-inverse, a zero column stays zero") {
  check_beside_host(300, 16, DType::f64, positive(16, 5), drawn(300, 16, DType::f64, 2));
  const Matrix zero(300, 16, DType::f32);
  check_beside_host(300, 16, DType::f32, Eigen::MatrixXd::Zero(16, 16), zero);
}

TEST_CASE("more rows than there is room for") {
  Matrix factor(11, 4, DType::f32);
  const auto update = cpd::device_updates(10, 4, DType::f32);
  CHECK_THROWS_AS(update(factor, numbers(positive(4, 4)), factor), LogicError);
}
