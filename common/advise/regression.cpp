#include "common/advise/regression.hpp"

#include <cmath>
#include <map>

#include <Eigen/Cholesky>
#include <Eigen/Dense>

#include "common/core/error.hpp"

namespace retensor::advise {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr auto kCount = static_cast<Eigen::Index>(kAspectNames.size());
/// By which products and squared distances are divided: the deviations of kernels were fitted with
/// so many aspects, and those of contractions alone are to leave other operations as they are.
constexpr double kShares = 20;
/// Of two deviations on one problem that were not estimated together.
constexpr double kUsualShare = 0.28;

double squared(double x) {
  return x * x;
}

VectorXd scaled(const Aspects& at) {
  VectorXd point(kCount);
  for (std::size_t k = 0; k < at.size(); ++k)
    point(static_cast<Eigen::Index>(k)) = at[k] / kAspectScales[k];
  return point;
}

std::vector<Estimate> estimates_of(const VectorXd& means, const MatrixXd& spread) {
  const auto count = static_cast<std::size_t>(means.size());
  auto joint = std::make_shared<Joint>(Joint{count, {}});
  joint->covariance.assign(spread.data(), spread.data() + spread.size());  // it is symmetric
  std::vector<Estimate> estimates;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    estimates.push_back({means(at), std::sqrt(spread(at, at)), joint, i});
  }
  return estimates;
}

}  // namespace

double covariance(const Estimate& a, const Estimate& b) {
  if (a.joint == nullptr || a.joint != b.joint) return kUsualShare * a.deviation * b.deviation;
  return a.joint->covariance[a.number * a.joint->count + b.number];
}

struct Regression::Solved {
  Solved(std::vector<Place> of, const std::vector<double>& measured, const Kernel& asked)
      : places(std::move(of)), kernel(asked), points(kCount, size()) {
    for (std::size_t i = 0; i < places.size(); ++i)
      points.col(static_cast<Eigen::Index>(i)) = scaled(places[i].at);
    centre = points.rowwise().mean();
    points.colwise() -= centre;
    values = Eigen::Map<const VectorXd>(measured.data(), size());
    MatrixXd covariance(size(), size());
    for (Eigen::Index j = 0; j < size(); ++j)
      covariance.col(j) = against(points.col(j), places[static_cast<std::size_t>(j)]);
    covariance.diagonal().array() += squared(kernel.noise);
    factor.compute(covariance);
    weights = factor.solve(values);
  }

  Eigen::Index size() const { return static_cast<Eigen::Index>(places.size()); }

  static double part(const Part& p, double product, double nearness) {
    return squared(p.offset) + squared(p.slope) * product + squared(p.smooth) * nearness;
  }

  double covariance(const Eigen::Ref<const VectorXd>& a, const Place& in_a,
                    const Eigen::Ref<const VectorXd>& b, const Place& in_b) const {
    const double product = a.dot(b) / kShares;
    const double nearness = std::exp(-(a - b).squaredNorm() / kShares / 2 / squared(kernel.length));
    double sum = part(kernel.problem, product, nearness);
    if (in_a.method == in_b.method) sum += part(kernel.method, product, nearness);
    if (in_a.candidate == in_b.candidate) sum += part(kernel.candidate, product, nearness);
    return sum;
  }

  VectorXd against(const Eigen::Ref<const VectorXd>& point, const Place& place) const {
    VectorXd column(size());
    for (Eigen::Index i = 0; i < size(); ++i)
      column(i) = covariance(points.col(i), places[static_cast<std::size_t>(i)], point, place);
    return column;
  }

  const std::vector<Place> places;
  const Kernel kernel;
  MatrixXd points;
  VectorXd centre, values, weights;
  Eigen::LLT<MatrixXd> factor;
};

Regression::Regression(std::vector<Place> places, const std::vector<double>& values,
                       const Kernel& kernel) {
  if (places.empty() || places.size() != values.size())
    throw LogicError("a regression needs as many values as places");
  solved_ = std::make_unique<const Solved>(std::move(places), values, kernel);
}

Regression::~Regression() = default;
Regression::Regression(Regression&&) noexcept = default;

Estimate Regression::at(const Place& place) const {
  return at(std::vector{place}).front();
}

std::vector<Estimate> Regression::at(const std::vector<Place>& places) const {
  const auto count = static_cast<Eigen::Index>(places.size());
  MatrixXd points(kCount, count), columns(solved_->size(), count), spread(count, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto& place = places[static_cast<std::size_t>(i)];
    points.col(i) = scaled(place.at) - solved_->centre;
    columns.col(i) = solved_->against(points.col(i), place);
    for (Eigen::Index j = 0; j <= i; ++j)
      spread(i, j) = spread(j, i) = solved_->covariance(points.col(i), place, points.col(j),
                                                        places[static_cast<std::size_t>(j)]);
  }
  spread -= columns.transpose() * solved_->factor.solve(columns);
  spread.diagonal() = spread.diagonal().cwiseMax(0.0);
  spread.diagonal().array() += squared(solved_->kernel.noise);
  return estimates_of(columns.transpose() * solved_->weights, spread);
}

std::vector<Estimate> Regression::left_out(const std::vector<int>& groups) const {
  const auto n = solved_->size();
  if (std::cmp_not_equal(groups.size(), n)) throw LogicError("expected a group for each place");
  const MatrixXd inverse = solved_->factor.solve(MatrixXd::Identity(n, n));
  std::map<int, std::vector<Eigen::Index>> members;
  for (Eigen::Index i = 0; i < n; ++i) members[groups[static_cast<std::size_t>(i)]].push_back(i);
  std::vector<Estimate> estimates(groups.size());
  for (const auto& [group, of] : members) {
    const auto count = static_cast<Eigen::Index>(of.size());
    MatrixXd block(count, count);
    VectorXd weights(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      weights(i) = solved_->weights(of[static_cast<std::size_t>(i)]);
      for (Eigen::Index j = 0; j < count; ++j)
        block(i, j) = inverse(of[static_cast<std::size_t>(i)], of[static_cast<std::size_t>(j)]);
    }
    const MatrixXd spread = block.llt().solve(MatrixXd::Identity(count, count));
    VectorXd means = -spread * weights;
    for (Eigen::Index i = 0; i < count; ++i)
      means(i) += solved_->values(of[static_cast<std::size_t>(i)]);
    auto made = estimates_of(means, spread);
    for (std::size_t i = 0; i < of.size(); ++i)
      estimates[static_cast<std::size_t>(of[i])] = std::move(made[i]);
  }
  return estimates;
}

}  // namespace retensor::advise
