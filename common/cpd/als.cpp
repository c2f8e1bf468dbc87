#include "common/cpd/als.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/core/error.hpp"
#include "common/cpd/normal_equations.hpp"
#include "common/run/all_modes.hpp"

namespace retensor::cpd {
namespace {

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

Eigen::Map<const Eigen::VectorXd> vector_of(const std::vector<double>& numbers) {
  return {numbers.data(), static_cast<Eigen::Index>(numbers.size())};
}

std::shared_ptr<KruskalModel> initial_model(const Problem& problem) {
  KruskalModel model;
  model.weights.resize(problem.rank());
  model.factors = problem.dense();
  return std::make_shared<KruskalModel>(std::move(model));
}

/// Hadamard product of all Gram matrices but that of `left_out` (-1: of all).
Eigen::MatrixXd hadamard(const std::vector<Eigen::MatrixXd>& grams, int left_out) {
  Eigen::MatrixXd product = Eigen::MatrixXd::Ones(grams.front().rows(), grams.front().cols());
  for (std::size_t m = 0; m < grams.size(); ++m)
    if (static_cast<int>(m) != left_out) product.array() *= grams[m].array();
  return product;
}

/// The values of a matrix to another of the same shape and type, which stays where it lies.
void copy_values(const Matrix& from, Matrix& to) {
  check_factor(from.rows(), from.cols(), from.dtype(), to);
  dispatch(from.dtype(), [&]<class T>() {
    const auto source = from.values().as<T>();
    std::copy(source.begin(), source.end(), to.values().as<T>().begin());
  });
}

}  // namespace

std::unique_ptr<Prepared> prepare_or_refuse(const Method& method, const Problem& problem,
                                            const std::map<std::string, ParamValue>& given) {
  const Params params = method.params().resolve(given);
  if (const auto support = supports(method, problem, params); !support.ok)
    throw InputError(fmt::format("{}: {}", method.id(), support.reason));
  return prepare(method, problem, params);
}

void check_factor(std::uint64_t rows, std::uint64_t cols, DType type, const Matrix& like) {
  if (rows != like.rows() || cols != like.cols() || type != like.dtype())
    throw InputError(fmt::format("cpd: found a factor of {} x {} {}, expected {} x {} {}", rows,
                                 cols, name(type), like.rows(), like.cols(), name(like.dtype())));
}

std::uint64_t longest_mode(const Problem& problem) {
  const Dims& dims = problem.x().dims;
  return *std::max_element(dims.begin(), dims.end());
}

Problem mttkrp_problem(const Problem& cpd, std::shared_ptr<const std::vector<Matrix>> factors) {
  ProblemSpec spec = cpd.spec();
  spec.operation = Operation::mttkrp_all;
  // The problem keeps its tensor alive longer than this one lives.
  return Problem::with_factors(spec, {std::shared_ptr<const Coo>(), &cpd.x()}, std::move(factors));
}

Als::Als(const Problem& problem, const Method& mttkrp,
         const std::map<std::string, ParamValue>& given, Updates updates)
    : problem_(problem),
      norm_(norm_of(problem.x().values)),
      model_(initial_model(problem)),
      passes_problem_(mttkrp_problem(problem, {model_, &model_->factors})),
      mttkrp_(prepare_or_refuse(mttkrp, passes_problem_, given)),
      grams_(model_->factors.size()),
      updates_(updates ? std::move(updates) : host_updates(longest_mode(problem), problem.rank())) {
  if (mttkrp_->passes() == nullptr)
    throw InputError(fmt::format("{} does not run MTTKRP a mode at a time", mttkrp.id()));
  restart();
}

void Als::restart() {
  set_factors(problem_.dense());
  std::fill(model_->weights.begin(), model_->weights.end(), 0.0);
  model_->fit.clear();
}

void Als::resume(const KruskalModel& model) {
  if (model.weights.size() != model_->weights.size() ||
      model.factors.size() != model_->factors.size())
    throw InputError(fmt::format("cpd: found a model of rank {} and order {}, expected {} and {}",
                                 model.weights.size(), model.factors.size(), model_->weights.size(),
                                 model_->factors.size()));
  set_factors(model.factors);
  model_->weights = model.weights;
  model_->fit = model.fit;
}

void Als::sweep(StageTimer& timer) {
  StreamOf stream(timer);
  Update last;
  for (int mode = 0; mode < problem_.x().order(); ++mode) {
    mttkrp_->passes()->run_mode(mode, stream);
    last = update(mode, mttkrp_->passes()->mode_result(mode));
  }
  model_->fit.push_back(fit(weights().dot(vector_of(last.products))));
}

void Als::set_factors(const std::vector<Matrix>& factors) {
  for (std::size_t m = 0; m < factors.size(); ++m) {
    copy_values(factors[m], model_->factors[m]);
    grams_[m] = gram(model_->factors[m]);
    mttkrp_->refresh(static_cast<int>(m));
  }
}

Update Als::update(int mode, const Matrix& product) {
  const auto at = static_cast<std::size_t>(mode);
  const Eigen::MatrixXd v = hadamard(grams_, mode);
  Update update =
      updates_(product, {v.data(), static_cast<std::size_t>(v.size())}, model_->factors[at]);
  std::copy(update.norms.begin(), update.norms.end(), model_->weights.begin());
  grams_[at] = square(update.gram, problem_.rank());
  mttkrp_->refresh(mode);
  return update;
}

double Als::fit(double inner_product) const {
  const double square = weights().dot(hadamard(grams_, -1) * weights());
  const double residual = std::sqrt(std::max(0.0, norm_ * norm_ + square - 2 * inner_product));
  if (norm_ == 0) return residual == 0 ? 1 : 0;
  return 1 - residual / norm_;
}

double Als::true_fit() const {
  return fit(inner_product(problem_.x(), *model_));
}

Eigen::Map<const Eigen::VectorXd> Als::weights() const {
  return vector_of(model_->weights);
}

}  // namespace retensor::cpd
