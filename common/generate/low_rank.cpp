// Planted low-rank tensors: uniform coordinates with the values of a CP model plus noise.
//
// Factor entries come from counters, so that a model with long modes takes no memory.

#include <cmath>
#include <numbers>

#include "common/core/rng.hpp"
#include "common/generate/generators.hpp"
#include "common/generate/sampling.hpp"

namespace retensor {
namespace {

constexpr std::uint64_t kFactorStream = sampling::kFirstReserved + 16;
constexpr std::uint64_t kNoiseStream = sampling::kFirstReserved + 15;

CounterRng factor_rng(const Target& target, std::size_t mode) {
  return CounterRng(target.seed, kFactorStream + mode);
}

// Uniform on [-sqrt 3, sqrt 3), which has variance 1.
double factor_entry(const CounterRng& rng, std::uint64_t at) {
  return std::numbers::sqrt3 * (2 * rng.uniform(at) - 1);
}

double model_value(const Coo& tensor, const std::vector<CounterRng>& factors, int rank, Count x) {
  double sum = 0;
  for (int r = 0; r < rank; ++r) {
    double product = 1;
    for (std::size_t m = 0; m < factors.size(); ++m)
      product *= factor_entry(factors[m], std::uint64_t{tensor.indices[m][x]} * rank + r);
    sum += product;
  }
  return sum;
}

}  // namespace

Matrix low_rank_factor(const Target& target, const LowRankLaw& law, int mode) {
  const CounterRng rng = factor_rng(target, mode);
  Matrix factor(target.dims.at(mode), law.rank, DType::f64);
  for (Count at = 0; at < factor.values().size(); ++at)
    factor.values().set(at, factor_entry(rng, at));
  return factor;
}

Coo low_rank(const Target& target, const LowRankLaw& law) {
  if (law.rank < 1) throw input_error("rank {} is not positive", law.rank);
  if (!(law.noise >= 0)) throw input_error("the noise is negative");
  Coo tensor = uniform(target.dims, target.nnz, target.seed, target.dtype, ValueModel::ones);
  std::vector<CounterRng> factors;
  for (std::size_t m = 0; m < target.dims.size(); ++m) factors.push_back(factor_rng(target, m));
  const CounterRng noise(target.seed, kNoiseStream);
  const double deviation = law.noise * std::sqrt(static_cast<double>(law.rank));
  tensor.values.visit([&]<class T>(Array<T>& values) {
#pragma omp parallel for schedule(static)
    for (Count x = 0; x < values.size(); ++x) {
      const double error = deviation > 0 ? deviation * noise.normal(x) : 0;
      values[x] = static_cast<T>(model_value(tensor, factors, law.rank, x) + error);
    }
  });
  return tensor;
}

}  // namespace retensor
