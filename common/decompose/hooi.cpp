#include "common/decompose/hooi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/decompose/normal_equations.hpp"
#include "common/decompose/singular_vectors.hpp"
#include "common/device/device.hpp"
#include "common/measure/timing.hpp"
#include "common/method/operands.hpp"

namespace retensor::tucker {
namespace {

using cpd::norm_of;
using cpd::orthonormal;
using cpd::to_eigen;
using Eigen::Index;
using Eigen::MatrixXd;

MatrixXd random_factor(std::uint64_t rows, std::uint64_t cols, std::uint64_t seed, int mode) {
  const CounterRng rng(seed, static_cast<std::uint64_t>(mode));
  MatrixXd factor(rows, cols);
  for (std::uint64_t k = 0; k < rows * cols; ++k)
    factor(static_cast<Index>(k / cols), static_cast<Index>(k % cols)) = rng.normal(k);
  return orthonormal(factor);
}

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw InputError("tucker: " + fmt::format(text, std::forward<Args>(args)...));
}

void check_ranks(const Dims& ranks, const Dims& dims) {
  if (dims.size() < 2) refuse("found a tensor of order {}, expected 2 or more", dims.size());
  if (ranks.size() != dims.size())
    refuse("found {} ranks, expected one for each of {} modes", ranks.size(), dims.size());
  for (std::size_t m = 0; m < ranks.size(); ++m) {
    double others = 1;
    for (std::size_t n = 0; n < ranks.size(); ++n)
      if (n != m) others *= static_cast<double>(std::max<std::uint64_t>(ranks[n], 1));
    const double most = std::min(static_cast<double>(dims[m]), others);
    if (ranks[m] < 1 || static_cast<double>(ranks[m]) > most)
      refuse(
          "found rank {} of mode {}, expected 1 to {}, its length {} and the product of the "
          "other ranks at most",
          ranks[m], m, most, dims[m]);
  }
}

/// Columns of the matrices of a mode's TTM-chain, which are of one width after the first: those of
/// narrower factors are padded with zeros.
Dims chain_widths(Dims ranks, int mode) {
  ranks.erase(ranks.begin() + mode);
  if (const auto second = ranks.begin() + 1; second != ranks.end())
    std::fill(second, ranks.end(), *std::max_element(second, ranks.end()));
  return ranks;
}

/// A matrix of some columns of another; those beyond its last are zeros.
Matrix with_columns(const Matrix& from, const std::vector<std::uint64_t>& columns) {
  Matrix to(from.rows(), columns.size(), from.dtype());
  for (std::uint64_t i = 0; i < to.rows(); ++i)
    for (std::uint64_t c = 0; c < columns.size(); ++c)
      if (columns[c] < from.cols()) to.set(i, c, from.at(i, columns[c]));
  return to;
}

Matrix padded(const Matrix& factor, std::uint64_t width) {
  std::vector<std::uint64_t> columns(width);
  std::iota(columns.begin(), columns.end(), std::uint64_t{0});
  return with_columns(factor, columns);
}

/// The result of a mode's chain without the columns that come from padding.
Matrix without_padding(Matrix product, Dims ranks, int mode) {
  const auto widths = chain_widths(ranks, mode);
  ranks.erase(ranks.begin() + mode);
  std::vector<std::uint64_t> columns = {0};
  for (std::size_t m = 0; m < ranks.size(); ++m) {
    std::vector<std::uint64_t> longer;
    for (const auto column : columns)
      for (std::uint64_t r = 0; r < ranks[m]; ++r) longer.push_back(column * widths[m] + r);
    columns = std::move(longer);
  }
  if (columns.size() == product.cols()) return product;
  return with_columns(product, columns);
}

void check_factor(const Matrix& found, const Matrix& expected, std::size_t mode) {
  if (found.rows() != expected.rows() || found.cols() != expected.cols())
    refuse("found a factor of mode {} of {} x {}, expected {} x {}", mode, found.rows(),
           found.cols(), expected.rows(), expected.cols());
}

}  // namespace

void check_settings(const Settings& settings, const Dims& dims) {
  check_ranks(settings.ranks, dims);
  if (settings.start != cpd::Start::normal && settings.start != cpd::Start::nvecs)
    refuse("found start {}, expected normal or nvecs", cpd::name(settings.start));
}

ProblemSpec chain_spec(const Dims& ranks, int mode, DType dtype) {
  ProblemSpec spec;
  spec.operation = Operation::ttm_chain;
  spec.mode = mode;
  spec.dtype = dtype;
  if (ranks.size() > 1) {
    const auto widths = chain_widths(ranks, mode);
    spec.rank = widths.front();
    spec.rank2 = widths.back();
  }
  return spec;
}

Hooi::Hooi(std::shared_ptr<const Coo> x, const Settings& settings, const Method& chain,
           const std::map<std::string, ParamValue>& given)
    : x_(std::move(x)), settings_(settings), norm_(norm_of(x_->values)) {
  check_settings(settings_, x_->dims);
  for (int mode = 0; mode < x_->order(); ++mode) {
    const Problem& problem =
        problems_.emplace_back(chain_spec(settings_.ranks, mode, x_->dtype()), x_);
    chains_.push_back(cpd::prepare_or_refuse(chain, problem, given));
  }
  draw_factors();
}

Hooi::Hooi(std::shared_ptr<const Coo> x, const Settings& settings)
    : x_(std::move(x)), settings_(settings), norm_(norm_of(x_->values)) {
  check_settings(settings_, x_->dims);
  if (const auto device = device::available(); !device.ok) throw DeviceError(device.reason);
  sweeps_ = device_sweeps(*x_, settings_.ranks, settings_.solver);
  draw_factors();
}

void Hooi::draw_factors() {
  for (std::size_t m = 0; m < settings_.ranks.size(); ++m)
    model_.factors.emplace_back(x_->dims[m], settings_.ranks[m], x_->dtype());
  for (int mode = 0; mode < x_->order(); ++mode) {
    const auto at = static_cast<std::size_t>(mode);
    const auto rank = settings_.ranks[at];
    set_factor(at, settings_.start == cpd::Start::nvecs
                       ? cpd::leading_vectors(*x_, mode, static_cast<Index>(rank), settings_.seed)
                       : random_factor(x_->dims[at], rank, settings_.seed, mode));
  }
  if (sweeps_ != nullptr) sweeps_->begin(model_.factors);
}

void Hooi::start(const std::vector<Matrix>& factors) {
  if (factors.size() != model_.factors.size())
    refuse("found {} factors, expected {}", factors.size(), model_.factors.size());
  for (std::size_t m = 0; m < factors.size(); ++m) check_factor(factors[m], model_.factors[m], m);
  for (std::size_t m = 0; m < factors.size(); ++m) set_factor(m, to_eigen(factors[m]));
  if (sweeps_ != nullptr) sweeps_->begin(model_.factors);
  fetched_ = true;
  model_.core.clear();
  model_.fit.clear();
}

void Hooi::sweep() {
  const double core = sweeps_ != nullptr ? sweeps_->run() : sweep_host();
  fetched_ = sweeps_ == nullptr;
  const double difference = norm_ * norm_ - core * core;
  const double residual = std::sqrt(difference < 0 ? 0 : difference);  // NaN stays NaN
  model_.fit.push_back(norm_ == 0 && core == 0 ? 1 : 1 - residual / norm_);
}

double Hooi::sweep_host() {
  const auto timer = make_host_timer();
  Matrix product;
  for (std::size_t m = 0; m < chains_.size(); ++m) {
    timer->start();
    chains_[m]->run(*timer);
    timer->stop();
    product = without_padding(std::get<Matrix>(chains_[m]->result()), settings_.ranks,
                              static_cast<int>(m));
    set_factor(m, cpd::leading_vectors(product, static_cast<Index>(settings_.ranks[m])));
  }
  const MatrixXd core = to_eigen(model_.factors.back()).transpose() * to_eigen(product);
  model_.core.assign(core.data(), core.data() + core.size());
  return core.norm();
}

const Model& Hooi::model() const {
  if (!fetched_) {
    sweeps_->fetch(model_.factors);
    model_.core = sweeps_->core();
    fetched_ = true;
  }
  return model_;
}

void Hooi::set_factor(std::size_t mode, const MatrixXd& factor) {
  Matrix& to = model_.factors[mode];
  for (std::uint64_t i = 0; i < to.rows(); ++i)
    for (std::uint64_t r = 0; r < to.cols(); ++r)
      to.set(i, r, factor(static_cast<Index>(i), static_cast<Index>(r)));
  for (std::size_t m = 0; m < chains_.size(); ++m) {
    if (m == mode) continue;
    const auto& spec = problems_[m].spec();
    const bool is_first = mode == (m == 0 ? 1U : 0U);
    const auto width = is_first ? spec.rank : spec.rank2;
    set_operand(problems_[m], mode, to.cols() == width ? to : padded(to, width));
    chains_[m]->refresh(static_cast<int>(mode));
  }
}

#ifndef RETENSOR_CUDA
std::unique_ptr<Sweeps> device_sweeps(const Coo&, const Dims&, Solver) {
  throw DeviceError(device::available().reason);
}
#endif

}  // namespace retensor::tucker
