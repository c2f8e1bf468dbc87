#include "common/cpd/normal_equations.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/cpd/updates.hpp"
#include "common/method/method_spec.hpp"

namespace retensor::cpd {
namespace {

template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Eigen::Index;

/// Rows of a block: few enough for its copy in fp64 to stay in a core's caches (1 MiB at R = 32).
constexpr Count kBlock = 4096;

/// A matrix seen by Eigen.
template <class T>
auto rows_of(MatrixView<T> m) {
  using Plain = Rows<std::remove_const_t<T>>;
  using Seen = std::conditional_t<std::is_const_v<T>, const Plain, Plain>;
  return Eigen::Map<Seen, 0, Eigen::OuterStride<>>(m.data, static_cast<Index>(m.rows),
                                                   static_cast<Index>(m.cols),
                                                   Eigen::OuterStride<>(static_cast<Index>(m.ld)));
}

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

/// Calls f(block, first row, rows) for every block, in parallel.
template <class F>
void for_blocks(std::uint64_t rows, F&& f) {
  const Count blocks = (rows + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(static)
  for (Count b = 0; b < blocks; ++b)
    f(b, static_cast<Index>(b * kBlock), static_cast<Index>(std::min(kBlock, rows - b * kBlock)));
}

/// The sum of part(first row, rows), each `height` x `width`, over all blocks in ascending order.
template <class F>
Eigen::MatrixXd sum_of_blocks(std::uint64_t rows, Index height, Index width, F&& part) {
  std::vector<Eigen::MatrixXd> parts((rows + kBlock - 1) / kBlock);
  for_blocks(rows, [&](Count b, Index first, Index n) { parts[b] = part(first, n); });
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(height, width);
  for (const auto& p : parts) sum += p;
  return sum;
}

template <class Numbers>
std::vector<double> numbers_of(const Numbers& numbers) {
  return {numbers.data(), numbers.data() + numbers.size()};
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
  return dispatch(a.dtype(), [&]<class T>() -> Eigen::MatrixXd {
    const auto rows = rows_of(a.view<T>());
    return sum_of_blocks(a.rows(), rows.cols(), rows.cols(), [&](Index first, Index n) {
      const Rows<double> block = rows.middleRows(first, n).template cast<double>();
      return Eigen::MatrixXd(block.transpose() * block);
    });
  });
}

Eigen::VectorXd solve_rows(const Matrix& product, const Eigen::MatrixXd& inverse, Matrix& factor,
                           std::span<double> room) {
  if (room.size() < product.rows() * product.cols())
    throw LogicError("solve_rows has less room than its product");
  return dispatch(product.dtype(), [&]<class T>() -> Eigen::VectorXd {
    const auto from = rows_of(product.view<T>());
    auto to = rows_of(factor.view<T>());
    Eigen::Map<Rows<double>> solved(room.data(), from.rows(), from.cols());
    const Eigen::MatrixXd squares =
        sum_of_blocks(product.rows(), 1, from.cols(), [&](Index first, Index n) {
          auto block = solved.middleRows(first, n);
          block.noalias() = from.middleRows(first, n).template cast<double>() * inverse;
          return Eigen::MatrixXd(block.colwise().squaredNorm());
        });
    const Eigen::VectorXd norms = squares.transpose().cwiseSqrt();
    const Eigen::VectorXd scale = norms.unaryExpr([](double n) { return n > 0 ? 1 / n : 0.0; });
    for_blocks(product.rows(), [&](Count, Index first, Index n) {
      to.middleRows(first, n) =
          (solved.middleRows(first, n) * scale.asDiagonal()).template cast<T>();
    });
    return norms;
  });
}

Eigen::VectorXd column_products(const Matrix& a, const Matrix& b) {
  return dispatch(a.dtype(), [&]<class T>() -> Eigen::VectorXd {
    const auto left = rows_of(a.view<T>()), right = rows_of(b.view<T>());
    const auto sums = [&](Index first, Index n) -> Eigen::MatrixXd {
      const auto in_fp64 = [&](const auto& m) {
        return m.middleRows(first, n).template cast<double>();
      };
      return in_fp64(left).cwiseProduct(in_fp64(right)).colwise().sum();
    };
    return sum_of_blocks(a.rows(), 1, left.cols(), sums).transpose();
  });
}

std::vector<double> pseudo_inverse(std::span<const double> v, std::uint64_t rank) {
  const Eigen::MatrixXd matrix = square(v, rank);
  const Eigen::MatrixXd inverse = matrix.completeOrthogonalDecomposition().pseudoInverse();
  return numbers_of(inverse);
}

Updates host_updates(std::uint64_t rows, std::uint64_t rank) {
  std::vector<double> room(rows * rank);  // for the solution of the longest mode
  return [rank, room = std::move(room)](const Matrix& m, std::span<const double> v,
                                        Matrix& factor) mutable -> Update {
    const auto inverse = pseudo_inverse(v, rank);
    const auto norms = solve_rows(m, square(inverse, rank), factor, room);
    return {numbers_of(norms), numbers_of(gram(factor)), numbers_of(column_products(m, factor))};
  };
}

#ifndef RETENSOR_CUDA
Updates device_updates(std::uint64_t, std::uint64_t, DType) {
  no_cuda();
}
#endif

double inner_product(const Coo& x, const KruskalModel& model) {
  return dispatch(x.dtype(), [&]<class T>() -> double {
    std::vector<MatrixView<const T>> factors;
    for (const Matrix& factor : model.factors) factors.push_back(factor.view<T>());
    const auto values = x.values.as<T>();
    return sum_of_blocks(x.nnz(), 1, 1, [&](Index first, Index n) {
      double sum = 0;
      for (auto p = static_cast<Count>(first); p < static_cast<Count>(first + n); ++p)
        sum += static_cast<double>(values[p]) * entry(x, model.weights, factors, p);
      return Eigen::MatrixXd::Constant(1, 1, sum).eval();
    })(0, 0);
  });
}

}  // namespace retensor::cpd
