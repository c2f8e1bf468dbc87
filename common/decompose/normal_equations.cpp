#include "common/decompose/normal_equations.hpp"

#include <cmath>

#include "common/decompose/block_products.hpp"

namespace retensor::cpd {
namespace {

using Eigen::Index;

/// Entry of the model at nonzero p.
template <class T>
double entry(const Coo& x, const std::vector<double>& weights,
             const std::vector<MatrixView<const T>>& factors, Count p) {
  double sum = 0;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    double product = weights[r];
    for (std::size_t m = 0; m < factors.size(); ++m) product *= factors[m](x.indices[m][p], r);
    sum += product;
  }
  return sum;
}

}  // namespace

Eigen::MatrixXd to_eigen(const Matrix& m) {
  return dispatch(m.dtype(), [&]<class T>() -> Eigen::MatrixXd {
    return rows_of(m.view<T>()).template cast<double>();
  });
}

double norm_of(const Values& values) {
  return values.visit([](const auto& all) {
    double squares = 0;
    for (const auto v : all) squares += static_cast<double>(v) * static_cast<double>(v);
    return std::sqrt(squares);
  });
}

Eigen::MatrixXd gram(const Matrix& a) {
  const auto rank = static_cast<Index>(a.cols());
  Eigen::MatrixXd sum(rank, rank);
  RowSums add_up(a.cols() * a.cols(), a.cols());
  dispatch(a.dtype(), [&]<class T>() {
    const auto all = rows_of(a.view<T>());
    add_up(a.rows(), {sum.data(), a.cols() * a.cols()},
           [&](Count first, Count n, std::span<double> sums, double* room) {
             Eigen::Map<Rows<double>> block(room, static_cast<Index>(n), rank);
             block = all.middleRows(static_cast<Index>(first), static_cast<Index>(n))
                         .template cast<double>();
             add_block_gram(block.data(), sums.data(), n, a.cols());
           });
  });
  return sum
      .selfadjointView<Eigen::Lower>();  // what lies row by row in `sum` is above the diagonal
}

double square_of(const KruskalModel& model) {
  const Eigen::Map<const Eigen::VectorXd> weights(model.weights.data(),
                                                  static_cast<Index>(model.weights.size()));
  Eigen::MatrixXd product = weights * weights.transpose();
  for (const Matrix& factor : model.factors) product.array() *= gram(factor).array();
  return product.sum();
}

double inner_product(const Coo& x, const KruskalModel& model) {
  double total = 0;
  dispatch(x.dtype(), [&]<class T>() {
    std::vector<MatrixView<const T>> factors;
    for (const Matrix& factor : model.factors) factors.push_back(factor.view<T>());
    const auto values = x.values.as<T>();
    RowSums(1, 0)(x.nnz(), {&total, 1}, [&](Count first, Count n, std::span<double> sums, double*) {
      for (Count p = first; p < first + n; ++p)
        sums[0] += static_cast<double>(values[p]) * entry(x, model.weights, factors, p);
    });
  });
  return total;
}

}  // namespace retensor::cpd
