// Oracle of cpd: CP-ALS in fp64 without reordered sums (Kolda and Bader 2009, section 3.4).
//
// Factor orderings and signs are free, and rounding may carry two correct runs along different
// paths, so factors are not compared: the curve of the fit is, and the fit that the returned model
// really has, computed in fp64 from its factors.
#include <fmt/format.h>
#include <omp.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/core/message.hpp"
#include "common/reference/data.hpp"

namespace retensor::reference {
namespace {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Factors = std::vector<Dense>;

Dense to_dense(const Matrix& m) {
  const Doubles packed = as_doubles(m);
  return Eigen::Map<const Dense>(packed.data(), m.rows(), m.cols());
}

Factors to_dense(const std::vector<Matrix>& matrices) {
  Factors factors;
  for (const Matrix& m : matrices) factors.push_back(to_dense(m));
  return factors;
}

// Writes value p times the Hadamard product of the factor rows that nonzero p meets, all modes but
// `skipped`, into `product` (one element a component).
void row_product(const Coo& x, double value, const Factors& factors, Count p, int skipped,
                 Eigen::ArrayXd& product) {
  product.setConstant(value);
  for (int m = 0; m < x.order(); ++m)
    if (m != skipped) product *= factors[m].row(x.indices[m][p]).transpose().array();
}

// No sum depends on the number of threads: each has rows of its own, which it adds up in the order
// of the nonzeros.
Dense mttkrp_of(const Coo& x, std::span<const double> values, const Factors& factors, int mode) {
  Dense out = Dense::Zero(factors[mode].rows(), factors[mode].cols());
  const std::vector<Index>& rows = x.indices[mode];
#pragma omp parallel
  {
    const auto threads = static_cast<Index>(omp_get_num_threads());
    const auto own = static_cast<Index>(omp_get_thread_num());
    Eigen::ArrayXd product(out.cols());
    for (Count p = 0; p < values.size(); ++p) {
      if (rows[p] % threads != own) continue;
      row_product(x, values[p], factors, p, mode, product);
      out.row(rows[p]) += product.matrix().transpose();
    }
  }
  return out;
}

// Products go row by row: the sums that Eigen forms for a tall matrix depend on its threads. Each
// thread has columns of the result.
Dense gram_of(const Dense& factor) {
  Dense gram(factor.cols(), factor.cols());
#pragma omp parallel for schedule(static)
  for (Eigen::Index c = 0; c < factor.cols(); ++c) {
    Eigen::VectorXd column = Eigen::VectorXd::Zero(factor.cols());
    for (Eigen::Index i = 0; i < factor.rows(); ++i)
      column += factor.row(i).transpose() * factor(i, c);
    gram.col(c) = column;
  }
  return gram;
}

void multiply_rows(Dense& tall, const Dense& small) {
#pragma omp parallel for schedule(static)
  for (Eigen::Index i = 0; i < tall.rows(); ++i) {
    const Eigen::RowVectorXd row = tall.row(i) * small;
    tall.row(i) = row;
  }
}

// Hadamard product of the Gram matrices of all modes but `skipped`.
Dense gram_product(const std::vector<Dense>& grams, int skipped) {
  Dense product = Dense::Ones(grams.front().cols(), grams.front().cols());
  for (std::size_t m = 0; m < grams.size(); ++m)
    if (static_cast<int>(m) != skipped) product.array() *= grams[m].array();
  return product;
}

double norm_of(std::span<const double> values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

// 1 - |X - model| / |X|; a zero tensor is fitted by the zero model alone.
double fit_of(double norm, double inner, double model_square) {
  const double difference = norm * norm + model_square - 2 * inner;
  const double residual = std::sqrt(difference < 0 ? 0 : difference);  // NaN stays NaN
  if (norm == 0) return residual == 0 ? 1.0 : 0.0;
  return 1 - residual / norm;
}

double model_square(const std::vector<Dense>& grams, const Eigen::VectorXd& weights) {
  return weights.dot(gram_product(grams, -1) * weights);
}

std::vector<Dense> grams_of(const Factors& factors) {
  std::vector<Dense> grams;
  for (const Dense& factor : factors) grams.push_back(gram_of(factor));
  return grams;
}

// Divides each column by its norm, returns the norms; zero columns stay.
Eigen::VectorXd normalise(Dense& factor) {
  Eigen::VectorXd norms = factor.colwise().norm();
  for (Eigen::Index r = 0; r < norms.size(); ++r)
    if (norms[r] > 0) factor.col(r) /= norms[r];
  return norms;
}

void check_operands(const Coo& x, const std::vector<Matrix>& initial) {
  x.check();
  if (initial.size() != x.dims.size())
    throw input_error("cpd: {} initial factors for a tensor of order {}", initial.size(),
                      x.order());
  for (std::size_t m = 0; m < initial.size(); ++m)
    if (initial[m].rows() != x.dims[m] || initial[m].cols() == 0 ||
        initial[m].cols() != initial.front().cols())
      throw input_error("cpd: the factor of mode {} is {} x {}, expected {} x {}", m + 1,
                        initial[m].rows(), initial[m].cols(), x.dims[m], initial.front().cols());
}

std::vector<double> fit_curve(const Coo& x, const std::vector<Matrix>& initial, int max_sweeps,
                              double tolerance) {
  const Doubles values = as_doubles(x.values);
  const double norm = norm_of(values);
  Factors factors = to_dense(initial);
  std::vector<Dense> grams = grams_of(factors);
  std::vector<double> fit;
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    Eigen::VectorXd weights;
    double inner = 0;
    for (int mode = 0; mode < x.order(); ++mode) {
      const Dense product = mttkrp_of(x, values, factors, mode);
      Dense& factor = factors[mode] = product;
      // The pseudo-inverse: the Gram product is singular where components coincide.
      multiply_rows(factor,
                    gram_product(grams, mode).completeOrthogonalDecomposition().pseudoInverse());
      weights = normalise(factor);
      grams[mode] = gram_of(factor);
      inner = (product.array() * factor.array()).colwise().sum().matrix().dot(weights);
    }
    fit.push_back(fit_of(norm, inner, model_square(grams, weights)));
    if (sweep > 0 && fit.back() - fit[fit.size() - 2] < tolerance) break;
  }
  return fit;
}

// Allowed difference of two fits where the residual is 1 - fit. A relative error d of the squared
// residual moves the residual r by d / (2 r), and by sqrt(d) at most; d grows with the sums and
// with the conditioning of the solves, for which the factor 2000 stands.
double fit_tolerance(const Precision& precision, double fit) {
  const double d = std::max(
      1e-8, 2000 * precision.accumulate_eps + 8 * precision.roundings * precision.operand_eps);
  return d / std::max(1 - fit, std::sqrt(d));
}

double true_fit(const Coo& x, const KruskalModel& model) {
  const Factors factors = to_dense(model.factors);
  const Eigen::VectorXd weights =
      Eigen::Map<const Eigen::VectorXd>(model.weights.data(), model.weights.size());
  const Doubles values = as_doubles(x.values);
  Eigen::ArrayXd product(weights.size());
  double inner = 0;
  for (Count p = 0; p < values.size(); ++p) {
    row_product(x, values[p], factors, p, -1, product);
    inner += product.matrix().dot(weights);
  }
  return fit_of(norm_of(values), inner, model_square(grams_of(factors), weights));
}

std::string shape_difference(const CpdReference& reference, const KruskalModel& model) {
  if (model.weights.size() != reference.rank)
    return fmt::format("the model has {} weights, expected {}", model.weights.size(),
                       reference.rank);
  if (model.factors.size() != reference.x.dims.size())
    return fmt::format("the model has {} factors, expected {}", model.factors.size(),
                       reference.x.dims.size());
  for (std::size_t m = 0; m < model.factors.size(); ++m)
    if (model.factors[m].rows() != reference.x.dims[m] || model.factors[m].cols() != reference.rank)
      return fmt::format("the factor of mode {} is {} x {}, expected {} x {}", m + 1,
                         model.factors[m].rows(), model.factors[m].cols(), reference.x.dims[m],
                         reference.rank);
  if (model.fit.empty() != reference.fit.empty() || model.fit.size() > reference.max_sweeps)
    return fmt::format("the fit has {} sweeps, expected 1 to {}", model.fit.size(),
                       reference.max_sweeps);
  return "";
}

// Columns of unit norm, or zero where the component has vanished.
std::string norm_difference(const KruskalModel& model, const Precision& precision) {
  for (std::size_t m = 0; m < model.factors.size(); ++m) {
    const Dense factor = to_dense(model.factors[m]);
    for (Eigen::Index r = 0; r < factor.cols(); ++r) {
      const double norm = factor.col(r).norm();
      const double allowed =
          1e-10 + 64 * precision.accumulate_eps * std::sqrt(static_cast<double>(factor.rows()) + 1);
      const bool vanished = norm == 0 && model.weights[r] == 0;
      if (!vanished && !(std::abs(norm - 1) <= allowed))
        return fmt::format("column {} of the factor of mode {} has norm {:.9g}, expected 1", r + 1,
                           m + 1, norm);
    }
  }
  return "";
}

}  // namespace

Expected cpd(const Coo& x, const std::vector<Matrix>& initial, int max_sweeps, double tolerance) {
  check_operands(x, initial);
  if (max_sweeps < 1) throw input_error("cpd: {} sweeps", max_sweeps);
  Expected::Data data;
  data.layout.kind = Kind::kruskal;
  data.cpd.x = x;
  data.cpd.rank = initial.front().cols();
  data.cpd.tolerance = tolerance;
  data.cpd.max_sweeps = static_cast<Count>(max_sweeps);
  data.cpd.fit = fit_curve(x, initial, max_sweeps, tolerance);
  return Expected(std::move(data));
}

CheckReport check_model(const CpdReference& reference, const KruskalModel& model,
                        const Precision& precision) {
  CheckReport report;
  report.error_over_bound = std::numeric_limits<double>::infinity();
  report.reason = shape_difference(reference, model);
  if (report.reason.empty()) report.reason = norm_difference(model, precision);
  if (!report.reason.empty()) return report;

  report.error_over_bound = 0;
  ErrorAccumulator errors;
  const auto compare = [&](const std::string& what, double found, double expected, double slack) {
    const double ratio = std::abs(found - expected) / (fit_tolerance(precision, expected) + slack);
    errors.add(expected, found);
    // Written so that NaN fails.
    if (!(ratio <= 1) && report.reason.empty())
      report.reason = fmt::format("{} is {:.9g}, expected {:.9g}", what, found, expected);
    report.error_over_bound = std::isnan(ratio) ? std::numeric_limits<double>::infinity()
                                                : std::max(report.error_over_bound, ratio);
  };
  const std::size_t common = std::min(model.fit.size(), reference.fit.size());
  for (std::size_t s = 0; s < common; ++s)
    compare(fmt::format("the fit after sweep {}", s + 1), model.fit[s], reference.fit[s], 0);
  // Rounding near the stopping rule may add or save sweeps, each of a gain near the tolerance.
  const auto more = static_cast<double>(std::max(model.fit.size(), reference.fit.size()) - common);
  compare("the last fit", model.fit.back(), reference.fit.back(),
          more * std::max(0.0, reference.tolerance));
  compare("the fit recomputed from the factors", true_fit(reference.x, model), model.fit.back(), 0);
  report.entries = errors.pairs();
  report.metrics = errors.metrics(static_cast<double>(errors.pairs()));
  report.ok = report.reason.empty();
  return report;
}

}  // namespace retensor::reference
