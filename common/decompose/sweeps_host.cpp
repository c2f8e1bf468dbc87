// CP-ALS sweeps on the host, over the passes of any method. An update goes over the rows twice, a
// block that stays in the caches at a time: A = M V^+ with the squares of its columns, then columns
// of unit norm with their Gram matrix and the column sums of M o A. Room is taken once; results of
// passes are read where they lie if the method keeps them, else it hands over a copy.
//
// Non-negative factors take steps of coordinate descent in place of the product: for each component
// r in turn a_r = max(0, a_r + (m_r - A v_r) / v_rr), from the factor at hand times the weights.
// Rows depend on no other row, so that a block of them takes all its steps at once.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/core/message.hpp"
#include "common/decompose/block_products.hpp"
#include "common/decompose/normal_equations.hpp"
#include "common/decompose/rounding.hpp"
#include "common/decompose/sweeps.hpp"
#include "common/method/operands.hpp"
#include "common/run/all_modes.hpp"

namespace retensor::cpd {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Lends its stream to a pass. A run has more passes than a timer has entries for stages.
class StreamOf final : public StageTimer {
 public:
  explicit StreamOf(const StageTimer& timer) : stream_(timer.stream()) {}
  void start() override {}
  void stage(std::string_view) override {}
  StageTimes stop() override { return {}; }
  void* stream() const override { return stream_; }

 private:
  void* const stream_;
};

/// f(S) of a symmetric positive semidefinite S, f taking its eigenvalues but for those that are no
/// larger than `rounding` of the largest, which become 0.
template <class F>
MatrixXd of_eigenvalues(const MatrixXd& s, double rounding, F&& f) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> of(s);
  const double least = rounding * of.eigenvalues().maxCoeff();
  const VectorXd values = of.eigenvalues().unaryExpr(
      [&f, least](double value) { return value > least ? f(value) : 0.0; });
  return of.eigenvectors() * values.asDiagonal() * of.eigenvectors().transpose();
}

/// V^+ of a symmetric positive semidefinite V: by Cholesky's factorisation, and where an eigenvalue
/// may be no larger than `rounding` of the largest by its eigenvalues.
class Inverse {
 public:
  Inverse(Index rank, double rounding)
      : rounding_(rounding), cholesky_(rank), inverse_(rank, rank) {}
  const MatrixXd& operator()(const MatrixXd& v) {
    cholesky_.compute(v);
    inverse_.setIdentity();
    cholesky_.solveInPlace(inverse_);
    // Pivots of a singular matrix can be far larger than its least eigenvalue, which is at least
    // one over the trace of the inverse.
    if (cholesky_.info() != Eigen::Success ||
        !(rounding_ * v.diagonal().maxCoeff() * inverse_.trace() < 1)) {
      inverse_ = of_eigenvalues(v, rounding_, [](double value) { return 1 / value; });
      for (Index r = 0; r < v.rows(); ++r) {
        if (v(r, r) != 0) continue;  // else a component that vanished, whose rounding must not grow
        inverse_.row(r).setZero();
        inverse_.col(r).setZero();
      }
    }
    return inverse_;
  }

 private:
  const double rounding_;
  Eigen::LLT<MatrixXd> cholesky_;
  MatrixXd inverse_;
};

template <class T>
class HostSweeps final : public Sweeps {
 public:
  HostSweeps(const Problem& passes, Prepared& mttkrp, double norm, Constraint constraint)
      : problem_(passes),
        mttkrp_(mttkrp),
        kept_(dynamic_cast<const KeptResults*>(&mttkrp)),
        norm_(norm),
        constraint_(constraint),
        rank_(static_cast<Index>(passes.rank())),
        grams_(passes.dense().size(), MatrixXd(rank_, rank_)),
        product_(rank_, rank_),
        inverse_(rank_, rounding_of_system<T>(static_cast<unsigned>(rank_))),
        weights_(VectorXd::Zero(rank_)),
        scale_(rank_),
        totals_(passes.rank() * (passes.rank() + 1)),
        add_up_(totals_.size(), passes.rank()) {}

  void begin(const std::vector<Matrix>& factors, const std::vector<double>* weights) override {
    for (std::size_t m = 0; m < factors.size(); ++m) {
      set_operand(problem_, m, factors[m]);
      grams_[m] = gram(factors[m]);
      mttkrp_.refresh(static_cast<int>(m));
    }
    scaled_ = weights != nullptr;
    weights_.setOnes();
    if (weights != nullptr) std::copy(weights->begin(), weights->end(), weights_.begin());
  }

  void spread(StageTimer& timer) override {
    StreamOf stream(timer);
    for (int mode = 0; mode < problem_.x().order(); ++mode) {
      const auto at = static_cast<std::size_t>(mode);
      const Matrix& result = pass(mode, stream);
      // The orthonormal matrix next to M is M (M^T M)^(-1/2).
      write_product(result, at,
                    of_eigenvalues(gram(result), rounding_of_gram<T>(static_cast<unsigned>(rank_)),
                                   [](double value) { return 1 / std::sqrt(value); }));
      grams_[at] = gram(problem_.dense()[at]);
      mttkrp_.refresh(mode);
    }
  }

  void run(StageTimer& timer, std::span<double> fit) override {
    StreamOf stream(timer);
    for (double& after : fit) {
      for (int mode = 0; mode < problem_.x().order(); ++mode) {
        update(static_cast<std::size_t>(mode), pass(mode, stream));
        mttkrp_.refresh(mode);
      }
      multiply_grams(grams_.size());
      product_ *= weights_.asDiagonal();
      const Eigen::Map<const VectorXd> sums(totals_.data() + rank_ * rank_, rank_);
      after = fit_of(norm_, (weights_.transpose() * product_).sum(), weights_.dot(sums));
    }
  }

  void fetch(KruskalModel& model) override {
    std::copy(weights_.begin(), weights_.end(), model.weights.begin());
    model.factors = problem_.dense();
  }

 private:
  /// Entries of a column of unit norm that no sum in this type would miss. Those of components that
  /// do not meet a row shrink from sweep to sweep; as products of subnormal numbers, which some
  /// processors take in their slow path, they would come to cost more than all others.
  static inline const double kNegligible = std::sqrt(std::numeric_limits<T>::min());

  const Matrix& pass(int mode, StageTimer& stream) {
    mttkrp_.passes()->run_mode(mode, stream);
    if (kept_ != nullptr) return kept_->kept_result(mode);
    return handed_over_ = mttkrp_.passes()->mode_result(mode);
  }

  /// product_: of the Gram matrices of all modes but `left_out`, entry by entry.
  void multiply_grams(std::size_t left_out) {
    product_.setOnes();
    for (std::size_t m = 0; m < grams_.size(); ++m)
      if (m != left_out) product_.array() *= grams_[m].array();
  }

  Eigen::Map<Rows<double>> block_of(double* room, Count n) const {
    return {room, static_cast<Index>(n), rank_};
  }
  double* second_of(double* room) const { return room + RowSums::kBlock * problem_.rank(); }
  template <class All>
  static auto rows(All& all, Count first, Count n) {
    return all.middleRows(static_cast<Index>(first), static_cast<Index>(n));
  }

  auto rows_of_factor(std::size_t mode) {
    // A problem hands out its operands as const; their elements are no const objects.
    const auto view = problem_.dense()[mode].template view<T>();
    return rows_of(MatrixView<T>{const_cast<T*>(view.data), view.rows, view.cols, view.ld});
  }

  /// f(rows of the result, those of the factor times the weights, which it overwrites) gives the
  /// factor of the mode, without what would be subnormal in its type; totals_ begins with the
  /// squares of its columns.
  template <class F>
  void write_rows(const Matrix& result, std::size_t mode, F&& f) {
    const auto m = rows_of(result.view<T>());
    auto a = rows_of_factor(mode);
    add_up_(result.rows(), {totals_.data(), problem_.rank()},
            [&](Count first, Count n, std::span<double> squares, double* room) {
              auto of_m = block_of(room, n), of_a = block_of(second_of(room), n);
              of_m = rows(m, first, n).template cast<double>();
              if (constraint_ != Constraint::none) {
                of_a = rows(a, first, n).template cast<double>();
                of_a.array().rowwise() *= weights_.transpose().array();
              }
              f(of_m, of_a);
              drop_below(std::numeric_limits<T>::min(), of_a.data(), n * problem_.rank());
              rows(a, first, n) = of_a.template cast<T>();
              add_column_products(of_a.data(), of_a.data(), squares.data(), n, problem_.rank());
            });
  }

  /// The factor becomes the result times a symmetric matrix.
  void write_product(const Matrix& result, std::size_t mode, const MatrixXd& w) {
    write_rows(result, mode, [&](const auto& m, auto& a) {
      multiply_rows(m.data(), w.data(), a.data(), static_cast<Count>(m.rows()), problem_.rank());
    });
  }

  /// Steps of the rows of a factor to least squares; product_ is V.
  void solve(const Matrix& result, std::size_t mode) {
    if (constraint_ == Constraint::none) return write_product(result, mode, inverse_(product_));
    if (!scaled_) scale_start(result, mode);
    write_rows(result, mode, [this](const auto& m, auto& a) {
      for (Index r = 0; r < rank_; ++r) {
        const double pivot = product_(r, r);
        if (pivot > 0)
          a.col(r) = (a.col(r) + (m.col(r) - a.lazyProduct(product_.col(r))) / pivot).cwiseMax(0.0);
        else
          a.col(r).setZero();
      }
    });
  }

  /// The first factors get the scale at which their model is nearest to the tensor: beside a model
  /// that is much larger the first steps would leave most components zero for good.
  void scale_start(const Matrix& result, std::size_t mode) {
    const auto m = rows_of(result.view<T>());
    const auto a = rows_of_factor(mode);
    double inner = 0;
    add_up_(result.rows(), {&inner, 1},
            [&](Count first, Count n, std::span<double> sum, double* room) {
              auto of_m = block_of(room, n);
              of_m = rows(m, first, n).template cast<double>();
              sum[0] += of_m.cwiseProduct(rows(a, first, n).template cast<double>()).sum();
            });
    const double square = product_.cwiseProduct(grams_[mode]).sum();
    weights_.setConstant(square > 0 ? std::max(0.0, inner / square) : 0);
    scaled_ = true;
  }

  void update(std::size_t mode, const Matrix& result) {
    multiply_grams(mode);
    solve(result, mode);
    const auto m = rows_of(result.view<T>());
    auto a = rows_of_factor(mode);
    for (Index r = 0; r < rank_; ++r) {
      weights_[r] = std::sqrt(totals_[static_cast<Count>(r)]);
      scale_[r] = weights_[r] > 0 ? 1 / weights_[r] : 0;
    }
    const Index entries = rank_ * rank_;
    add_up_(
        result.rows(), totals_, [&](Count first, Count n, std::span<double> sums, double* room) {
          auto of_m = block_of(room, n), of_a = block_of(second_of(room), n);
          of_m = rows(m, first, n).template cast<double>();
          auto to = rows(a, first, n);
          of_a = to.template cast<double>();
          of_a.array().rowwise() *= scale_;
          drop_below(kNegligible, of_a.data(), n * problem_.rank());
          to = of_a.template cast<T>();
          of_a = to.template cast<double>();
          add_block_gram(of_a.data(), sums.data(), n, problem_.rank());
          add_column_products(of_m.data(), of_a.data(), sums.data() + entries, n, problem_.rank());
        });
    // What lies row by row in totals_ is above the diagonal.
    grams_[mode] =
        Eigen::Map<const MatrixXd>(totals_.data(), rank_, rank_).selfadjointView<Eigen::Lower>();
  }

  const Problem& problem_;  // MTTKRP over all modes, whose dense operands are the factors
  Prepared& mttkrp_;
  const KeptResults* const kept_;  // null: the method hands over copies
  Matrix handed_over_;
  const double norm_;  // of the tensor
  const Constraint constraint_;
  const Index rank_;
  std::vector<MatrixXd> grams_;
  MatrixXd product_;
  Inverse inverse_;
  VectorXd weights_;
  bool scaled_ = true;                             // the weights are those of the model
  Eigen::Array<double, 1, Eigen::Dynamic> scale_;  // their inverses
  std::vector<double> totals_;                     // Gram matrix, then sums of the columns of M o A
  RowSums add_up_;
};

}  // namespace

bool Sweeps::draw(Start, std::uint64_t) {
  return false;
}

double fit_of(double norm, double square, double inner) {
  const double difference = norm * norm + square - 2 * inner;
  const double residual = std::sqrt(difference < 0 ? 0 : difference);  // NaN stays NaN
  if (norm == 0) return residual == 0 ? 1 : 0;
  return 1 - residual / norm;
}

Constraint constraint_from_name(std::string_view name) {
  if (name == "none") return Constraint::none;
  if (name == "nonnegative") return Constraint::nonnegative;
  throw input_error("found constraint '{}', expected none or nonnegative", name);
}

std::string_view name(Constraint constraint) {
  return constraint == Constraint::none ? "none" : "nonnegative";
}

std::unique_ptr<Sweeps> host_sweeps(const Problem& passes, Prepared& mttkrp, double norm,
                                    Constraint constraint) {
  return dispatch(passes.dtype(), [&]<class T>() -> std::unique_ptr<Sweeps> {
    return std::make_unique<HostSweeps<T>>(passes, mttkrp, norm, constraint);
  });
}

#ifndef RETENSOR_CUDA
std::unique_ptr<Sweeps> device_sweeps(const Problem&, Prepared&, double, Constraint) {
  return nullptr;
}
#endif

}  // namespace retensor::cpd
