#include "common/decompose/als.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "common/core/message.hpp"
#include "common/decompose/normal_equations.hpp"
#include "common/run/all_modes.hpp"

namespace retensor::cpd {
namespace {

void check_no_negative(const Matrix& factor, std::size_t mode) {
  factor.values().visit([mode](const auto& all) {
    const auto at = std::find_if(all.begin(), all.end(), [](auto v) { return !(v >= 0); });
    if (at != all.end())
      throw input_error("cpd: found {} in the factor of mode {}, expected no negative number", *at,
                        mode);
  });
}

}  // namespace

std::unique_ptr<Prepared> prepare_or_refuse(const Method& method, const Problem& problem,
                                            const std::map<std::string, ParamValue>& given) {
  const Params params = method.params().resolve(given);
  if (const auto support = supports(method, problem, params); !support.ok)
    throw input_error("{}: {}", method.id(), support.reason);
  return prepare(method, problem, params);
}

void check_factor(std::uint64_t rows, std::uint64_t cols, DType type, const Matrix& like) {
  if (rows != like.rows() || cols != like.cols() || type != like.dtype())
    throw input_error("cpd: found a factor of {} x {} {}, expected {} x {} {}", rows, cols,
                      name(type), like.rows(), like.cols(), name(like.dtype()));
}

Problem mttkrp_problem(const Problem& cpd, std::shared_ptr<const std::vector<Matrix>> factors) {
  ProblemSpec spec = cpd.spec();
  spec.operation = Operation::mttkrp_all;
  // The problem keeps its tensor alive longer than this one lives.
  return Problem::with_factors(spec, {std::shared_ptr<const Coo>(), &cpd.x()}, std::move(factors));
}

Als::Als(const Problem& problem, const Method& mttkrp,
         const std::map<std::string, ParamValue>& given, Place place, Constraint constraint)
    : problem_(problem),
      norm_(norm_of(problem.x().values)),
      model_{std::vector<double>(problem.rank()), problem.dense(), {}},
      passes_problem_(
          mttkrp_problem(problem, std::make_shared<const std::vector<Matrix>>(problem.dense()))),
      mttkrp_(prepare_or_refuse(mttkrp, passes_problem_, given)),
      constraint_(constraint) {
  if (mttkrp_->passes() == nullptr)
    throw input_error("{} does not run MTTKRP a mode at a time", mttkrp.id());
  if (place == Place::device) sweeps_ = device_sweeps(passes_problem_, *mttkrp_, norm_, constraint);
  on_device_ = sweeps_ != nullptr;
  if (!on_device_) sweeps_ = host_sweeps(passes_problem_, *mttkrp_, norm_, constraint);
  model_.fit.reserve(static_cast<std::size_t>(problem.spec().max_sweeps));
  restart();
}

void Als::restart() {
  if (constraint_ == Constraint::nonnegative)
    for (std::size_t m = 0; m < problem_.dense().size(); ++m)
      check_no_negative(problem_.dense()[m], m);
  model_.fit.clear();
  latest_ = Latest::operands;
  sweeps_->begin(problem_.dense(), nullptr);
}

void Als::restart(std::vector<Matrix> factors) {
  resume({std::vector<double>(problem_.rank()), std::move(factors), {}});
}

void Als::restart(Start law, std::uint64_t seed) {
  if (!sweeps_->draw(law, seed))
    return restart(first_factors(law, problem_.x(), problem_.rank(), seed, constraint_));
  model_.fit.clear();
  latest_ = Latest::sweeps;
}

void Als::resume(KruskalModel model) {
  if (model.weights.size() != model_.weights.size() ||
      model.factors.size() != model_.factors.size())
    throw input_error("cpd: found a model of rank {} and order {}, expected {} and {}",
                      model.weights.size(), model.factors.size(), model_.weights.size(),
                      model_.factors.size());
  for (std::size_t m = 0; m < model.factors.size(); ++m) {
    const Matrix& factor = model.factors[m];
    check_factor(factor.rows(), factor.cols(), factor.dtype(), problem_.dense()[m]);
    if (constraint_ == Constraint::nonnegative) check_no_negative(factor, m);
  }
  model_ = std::move(model);
  latest_ = Latest::model;
  sweeps_->begin(model_.factors, fit().empty() ? nullptr : &model_.weights);
}

void Als::spread(StageTimer& timer) {
  if (constraint_ == Constraint::nonnegative)
    throw logic_error("a start of orthonormal factors for a non-negative model");
  sweeps_->spread(timer);
  latest_ = Latest::sweeps;
}

void Als::sweep(StageTimer& timer, std::size_t count) {
  const std::size_t before = fit().size();
  model_.fit.resize(before + count);
  latest_ = Latest::sweeps;
  sweeps_->run(timer, std::span(model_.fit).subspan(before));
}

void sweep_to_end(Als& als, StageTimer& timer, const Between& between) {
  const std::size_t most = als.max_sweeps();
  while (!als.finished()) {
    const std::size_t done = als.fit().size();
    const std::size_t due = between.save ? between.every - done % between.every : most;
    als.sweep(timer, std::min({between.at_once, most - done, due}));
    if (between.progress) between.progress();
    if (between.save && als.fit().size() % between.every == 0 && !als.finished()) between.save();
  }
}

const KruskalModel& Als::model() const {
  if (latest_ == Latest::sweeps) sweeps_->fetch(model_);
  if (latest_ == Latest::operands) model_.factors = problem_.dense();
  latest_ = Latest::model;
  if (fit().empty()) std::fill(model_.weights.begin(), model_.weights.end(), 0.0);
  return model_;
}

double Als::true_fit() const {
  return fit_of(norm_, square_of(model()), inner_product(problem_.x(), model()));
}

}  // namespace retensor::cpd
