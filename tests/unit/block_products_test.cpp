// Products of blocks of rows beside Eigen's, for ranks with and without a rest beside whole
// vectors.
#include "common/decompose/block_products.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Dense>

#include "common/decompose/normal_equations.hpp"

using namespace retensor;
using cpd::Rows;

namespace {

double relative_error(const Rows<double>& found, const Rows<double>& expected) {
  return (found - expected).norm() / expected.norm();
}

}  // namespace

TEST_CASE("products of rows by a small matrix, and Gram matrices, are those of Eigen") {
  std::srand(1);  // of Eigen's random numbers
  for (const Eigen::Index rank : {1, 3, 8, 13, 16, 32, 40}) {
    for (const Eigen::Index n : {1, 7, 8, 33, 256}) {
      CAPTURE(rank);
      CAPTURE(n);
      const Rows<double> m = Rows<double>::Random(n, rank), w = Rows<double>::Random(rank, rank);
      Rows<double> a(n, rank), g = w;
      cpd::multiply_rows(m.data(), w.data(), a.data(), static_cast<Count>(n),
                         static_cast<Count>(rank));
      CHECK(relative_error(a, m * w) < 1e-14);
      cpd::add_block_gram(m.data(), g.data(), static_cast<Count>(n), static_cast<Count>(rank));
      const Rows<double> gram = w + m.transpose() * m;
      CHECK(relative_error(g.triangularView<Eigen::Upper>(), gram.triangularView<Eigen::Upper>()) <
            1e-14);
      Rows<double> sums = w.topRows(1);
      cpd::add_column_products(m.data(), a.data(), sums.data(), static_cast<Count>(n),
                               static_cast<Count>(rank));
      CHECK(relative_error(sums, w.row(0) + m.cwiseProduct(a).colwise().sum()) < 1e-13);
    }
  }
}

TEST_CASE("numbers below a magnitude are dropped, and no others") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> a = {1e-20, -1e-20, 1e-19, -2e-19, 0, 5, nan, -1e-300};
  cpd::drop_below(1e-19, a.data(), a.size());
  CHECK(std::isnan(a[6]));
  a[6] = 0;
  CHECK(a == std::vector<double>{0, 0, 1e-19, -2e-19, 0, 5, 0, 0});
}
