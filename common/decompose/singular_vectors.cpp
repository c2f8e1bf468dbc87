#include "common/decompose/singular_vectors.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "common/core/rng.hpp"
#include "common/decompose/normal_equations.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::cpd {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr Index kDense = 256;         // rows up to which a Gram matrix of the unfolding is made
constexpr Index kOversampling = 10;   // as Halko, Martinsson and Tropp advise
constexpr int kMostIterations = 100;  // of the subspace
constexpr double kStill = 1e-5;       // relative change of the sum of squared singular values
constexpr Index kLine = 8;            // numbers of a cache line

/// Eigenvectors of the largest eigenvalues of a symmetric matrix, the largest first.
MatrixXd leading_eigenvectors(const MatrixXd& symmetric, Index count) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(symmetric);
  return solver.eigenvectors().rightCols(count).rowwise().reverse();
}

/// The columns of an unfolding that are not zero.
class Unfolding {
 public:
  Unfolding(const Coo& x, int mode) : rows_(static_cast<Index>(x.dims[as_size(mode)])) {
    std::vector<int> others;
    for (int m = 0; m < x.order(); ++m)
      if (m != mode) others.push_back(m);
    const auto order = sort_permutation(x, others);
    row_.reserve(order.size());
    value_.reserve(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) {
      const bool same = p > 0 && std::all_of(others.begin(), others.end(), [&](int m) {
                          const auto& index = x.indices[as_size(m)];
                          return index[order[p]] == index[order[p - 1]];
                        });
      if (!same) begin_.push_back(p);
      row_.push_back(static_cast<Index>(x.indices[as_size(mode)][order[p]]));
      value_.push_back(x.values.at(order[p]));
    }
    begin_.push_back(order.size());
  }

  Index rows() const { return rows_; }

  /// Calls f(places in row and value of a column, first and end) for every column.
  template <class F>
  void columns(F&& f) const {
    for (std::size_t c = 0; c + 1 < begin_.size(); ++c) f(begin_[c], begin_[c + 1]);
  }

  /// X X^T.
  MatrixXd gram() const {
    MatrixXd sum = MatrixXd::Zero(rows_, rows_);
    columns([&](std::size_t first, std::size_t end) {
      for (std::size_t p = first; p < end; ++p)
        for (std::size_t q = first; q < end; ++q) sum(row_[p], row_[q]) += value_[p] * value_[q];
    });
    return sum;
  }

  /// X X^T Q, whose columns fill cache lines. Threads share out the columns of Q, so that no two
  /// write to the same number.
  MatrixXd times_gram(const MatrixXd& q) const {
    Rows<double> in = q, out = Rows<double>::Zero(q.rows(), q.cols());
#pragma omp parallel for schedule(dynamic, 1)
    for (Index from = 0; from < q.cols(); from += kLine)
      columns([&](std::size_t first, std::size_t end) {
        Eigen::Array<double, 1, kLine> sums = decltype(sums)::Zero();
        for (std::size_t p = first; p < end; ++p)
          sums += value_[p] * in.row(row_[p]).segment<kLine>(from).array();
        for (std::size_t p = first; p < end; ++p)
          out.row(row_[p]).segment<kLine>(from).array() += value_[p] * sums;
      });
    return out;
  }

 private:
  static std::size_t as_size(int mode) {
    return static_cast<std::size_t>(mode);
  }

  const Index rows_;
  std::vector<std::size_t> begin_;  // of each column, then the end
  std::vector<Index> row_;
  std::vector<double> value_;
};

MatrixXd random_directions(Index rows, Index count, std::uint64_t seed) {
  const CounterRng rng(seed);
  MatrixXd drawn(rows, count);
  for (Index k = 0; k < drawn.size(); ++k) drawn.data()[k] = rng.normal(static_cast<Count>(k));
  return orthonormal(drawn);
}

/// A^T B of tall matrices: a product of Eigen would have its threads wait for one another.
MatrixXd inner_products(const MatrixXd& a, const MatrixXd& b) {
  MatrixXd sum(a.cols(), b.cols());
  const auto entries = static_cast<std::size_t>(sum.size());
  RowSums(entries, 0)(static_cast<std::uint64_t>(a.rows()), {sum.data(), entries},
                      [&](Count first, Count n, std::span<double> sums, double*) {
                        const auto of = [&](const MatrixXd& m) {
                          return m.middleRows(static_cast<Index>(first), static_cast<Index>(n));
                        };
                        Eigen::Map<MatrixXd>(sums.data(), a.cols(), b.cols()).noalias() +=
                            of(a).transpose() * of(b);
                      });
  return sum;
}

MatrixXd by_subspace_iteration(const Unfolding& x, Index count, std::uint64_t seed) {
  const Index columns = (count + kOversampling + kLine - 1) / kLine * kLine;
  MatrixXd q = random_directions(x.rows(), columns, seed);
  double before = 0;
  for (int iteration = 1;; ++iteration) {
    MatrixXd product = x.times_gram(q);
    const Eigen::SelfAdjointEigenSolver<MatrixXd> small(inner_products(q, product));
    const double squares = small.eigenvalues().tail(count).sum();
    if (squares - before <= kStill * squares || iteration == kMostIterations)
      return q * small.eigenvectors().rightCols(count).rowwise().reverse();
    before = squares;
    q = orthonormal(product);
  }
}

}  // namespace

MatrixXd orthonormal(const MatrixXd& columns) {
  return Eigen::HouseholderQR<MatrixXd>(columns).householderQ() *
         MatrixXd::Identity(columns.rows(), columns.cols());
}

MatrixXd leading_vectors(const Matrix& matrix, Index count) {
  const MatrixXd y = to_eigen(matrix);
  if (y.rows() <= y.cols()) return leading_eigenvectors(y * y.transpose(), count);
  return orthonormal(y * leading_eigenvectors(gram(matrix), count));
}

MatrixXd leading_vectors(const Coo& x, int mode, Index count, std::uint64_t seed) {
  const Unfolding unfolding(x, mode);
  MatrixXd vectors = unfolding.rows() <= std::max(kDense, 2 * count)
                         ? leading_eigenvectors(unfolding.gram(), count)
                         : by_subspace_iteration(unfolding, count, seed);
  for (auto column : vectors.colwise()) {
    Index largest = 0;
    column.cwiseAbs().maxCoeff(&largest);
    if (column[largest] < 0) column = -column;
  }
  return vectors;
}

}  // namespace retensor::cpd
