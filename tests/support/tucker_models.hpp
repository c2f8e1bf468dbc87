// Tensors with a planted Tucker model, and a TTM-chain that shares no code with any method's.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/rng.hpp"
#include "common/method/method.hpp"
#include "common/method/work.hpp"

namespace retensor::testing {

/// TTM-chain nonzero by nonzero in the type of the tensor.
class SequentialRun final : public Prepared {
 public:
  explicit SequentialRun(const Problem& problem)
      : problem_(problem), mode_(static_cast<std::size_t>(problem.mode())) {
    std::uint64_t width = 1;
    for (std::size_t m = 0; m < problem.dense().size(); ++m)
      if (m != mode_) width *= problem.dense()[m].cols();
    out_ = Matrix(problem.x().dims[mode_], width, problem.dtype());
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const Coo& x = problem_.x();
    for (Count k = 0; k < out_.values().size(); ++k) out_.values().set(k, 0);
    for (Count p = 0; p < x.nnz(); ++p)
      for (std::uint64_t c = 0; c < out_.cols(); ++c) {
        const std::uint64_t i = x.indices[mode_][p];
        out_.set(i, c, out_.at(i, c) + x.values.at(p) * weight(p, c));
      }
  }

  Result result() override { return out_; }
  Executed executed() const override { return {{"kernel", "sequential"}}; }
  Footprint footprint() const override { return {}; }
  Work work() const override { return work_model(problem_); }

 private:
  /// Entry of the Kronecker product of the rows that nonzero p meets at column c.
  double weight(Count p, std::uint64_t c) const {
    double product = 1;
    for (std::size_t m = problem_.dense().size(); m-- > 0;) {
      if (m == mode_) continue;
      const Matrix& factor = problem_.dense()[m];
      product *= factor.at(problem_.x().indices[m][p], c % factor.cols());
      c /= factor.cols();
    }
    return product;
  }

  const Problem& problem_;
  const std::size_t mode_;
  Matrix out_;
};

class Sequential final : public Method {
 public:
  std::string_view id() const override { return "sequential.cpu"; }
  std::string_view summary() const override { return "TTM-chain of a test"; }
  Backend backend() const override { return Backend::cpu; }
  Support supports(const Problem&, const Params&) const override { return Support::yes(); }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params&) const override {
    return std::make_unique<SequentialRun>(problem);
  }
};

inline const Method& sequential() {
  static const Sequential method;
  return method;
}

/// Coordinates count up, the last mode fastest; value(index of each mode).
template <class F>
std::shared_ptr<Coo> dense_tensor(const Dims& dims, DType dtype, F&& value) {
  auto x = std::make_shared<Coo>(dims, dtype);
  std::vector<double> values;
  std::vector<Index> at(dims.size());
  for (std::uint64_t cell = 0; cell < checked_volume(dims); ++cell) {
    std::uint64_t rest = cell;
    for (std::size_t m = dims.size(); m-- > 0; rest /= dims[m])
      at[m] = static_cast<Index>(rest % dims[m]);
    const double v = value(at);
    if (v == 0) continue;
    for (std::size_t m = 0; m < dims.size(); ++m) x->indices[m].push_back(at[m]);
    values.push_back(v);
  }
  x->values = Values(values).cast(dtype);
  return x;
}

inline std::vector<Eigen::MatrixXd> planted_factors(const Dims& dims, const Dims& ranks) {
  std::vector<Eigen::MatrixXd> factors;
  for (std::size_t m = 0; m < dims.size(); ++m) {
    factors.emplace_back(dims[m], ranks[m]);
    for (Eigen::Index k = 0; k < factors[m].size(); ++k)
      factors[m].data()[k] = CounterRng(7, m).normal(static_cast<std::uint64_t>(k));
  }
  return factors;
}

/// A normal core times the factors, in every cell.
inline std::shared_ptr<Coo> planted_tensor(const Dims& dims, const Dims& ranks, DType dtype) {
  const auto factors = planted_factors(dims, ranks);
  return dense_tensor(dims, dtype, [&](const std::vector<Index>& at) {
    double sum = 0;
    for (std::uint64_t c = 0; c < checked_volume(ranks); ++c) {
      double product = CounterRng(8).normal(c);
      std::uint64_t rest = c;
      for (std::size_t m = ranks.size(); m-- > 0; rest /= ranks[m])
        product *= factors[m](at[m], static_cast<Eigen::Index>(rest % ranks[m]));
      sum += product;
    }
    return sum;
  });
}

}  // namespace retensor::testing
