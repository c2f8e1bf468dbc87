// Sums over the rows of factors that CP-ALS takes (Kolda and Bader 2009, section 3.4). All in fp64,
// in an order that no number of threads changes, so that results are the same bits on any.
#pragma once

#include <omp.h>

#include <Eigen/Dense>
#include <algorithm>
#include <span>
#include <vector>

#include "common/tensor/matrix.hpp"
#include "common/tensor/result.hpp"

namespace retensor::cpd {

/// Rows of I x R, row by row.
template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A matrix seen by Eigen.
template <class T>
auto rows_of(MatrixView<T> m) {
  using Plain = Rows<std::remove_const_t<T>>;
  using Seen = std::conditional_t<std::is_const_v<T>, const Plain, Plain>;
  using Eigen::Index;
  return Eigen::Map<Seen, 0, Eigen::OuterStride<>>(m.data, static_cast<Index>(m.rows),
                                                   static_cast<Index>(m.cols),
                                                   Eigen::OuterStride<>(static_cast<Index>(m.ld)));
}

/// Numbers that are added up over blocks of rows, in room that is taken once. Parts of the rows are
/// added up side by side, and what they give meets in their order.
class RowSums {
 public:
  static constexpr Count kBlock = 256;  ///< rows, whose copy in fp64 stays in a core's caches

  /// Room for `sums` numbers, and for blocks of so many columns.
  RowSums(std::size_t sums, std::size_t columns)
      : threads_(omp_get_max_threads()),
        columns_(columns),
        stride_((sums + 7) / 8 * 8),
        parts_(static_cast<Eigen::Index>(kParts * stride_)),
        blocks_(static_cast<Eigen::Index>(threads_ * 2 * kBlock * columns)) {}

  /// Calls f(first row, rows, sums, block) for blocks of rows that cover all of them. f adds to
  /// `sums`, of which there are as many as in `total`; `block` has room for 2 * kBlock * columns
  /// numbers. Writes what all add up to to `total`. All lie at whole cache lines, since Eigen's
  /// rounding follows the alignment.
  template <class F>
  void operator()(std::uint64_t rows, std::span<double> total, F&& f) {
    const Count parts = std::min<Count>((rows + kBlock - 1) / kBlock, kParts);
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1)
    for (Count p = 0; p < parts; ++p) {
      const std::span<double> sums(parts_.data() + p * stride_, total.size());
      std::fill(sums.begin(), sums.end(), 0.0);
      double* const block =
          blocks_.data() + static_cast<std::size_t>(omp_get_thread_num()) * 2 * kBlock * columns_;
      const Count end = rows * (p + 1) / parts;
      for (Count first = rows * p / parts; first < end; first += kBlock)
        f(first, std::min(kBlock, end - first), sums, block);
    }
    std::fill(total.begin(), total.end(), 0.0);
    for (Count p = 0; p < parts; ++p)
      for (std::size_t k = 0; k < total.size(); ++k) total[k] += parts_.data()[p * stride_ + k];
  }

 private:
  static constexpr Count kParts = 64;
  const int threads_;
  const std::size_t columns_, stride_;  // between the sums of parts
  Eigen::VectorXd parts_, blocks_;
};

Eigen::MatrixXd to_eigen(const Matrix& m);

/// The 2-norm of all values.
double norm_of(const Values& values);

/// A^T A, R x R.
Eigen::MatrixXd gram(const Matrix& a);

/// |model|^2.
double square_of(const KruskalModel& model);

/// <X, model>: the sum over the nonzeros of their values times the model's. Factors have the type
/// of the tensor.
double inner_product(const Coo& x, const KruskalModel& model);

}  // namespace retensor::cpd
