#include "common/decompose/starts.hpp"

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"

namespace retensor::cpd {
namespace {

double drawn(Start law, const CounterRng& rng, std::uint64_t k) {
  switch (law) {
    case Start::spread:
    case Start::signs:
      return rng.uniform(k) < 0.5 ? -1 : 1;
    case Start::normal:
      return rng.normal(k);
    default:
      return rng.uniform(k);
  }
}

}  // namespace

Start start_from_name(std::string_view name) {
  if (name == "spread") return Start::spread;
  if (name == "signs") return Start::signs;
  if (name == "normal") return Start::normal;
  if (name == "uniform") return Start::uniform;
  throw InputError(
      fmt::format("found start '{}', expected spread, signs, normal or uniform", name));
}

std::vector<Matrix> first_factors(Start law, const Dims& dims, std::uint64_t rank, DType dtype,
                                  std::uint64_t seed) {
  std::vector<Matrix> factors;
  for (const auto length : dims) {
    const CounterRng rng(seed, factors.size());
    Matrix& factor = factors.emplace_back(length, rank, dtype);
    for (std::uint64_t i = 0; i < length; ++i)
      for (std::uint64_t r = 0; r < rank; ++r) factor.set(i, r, drawn(law, rng, i * rank + r));
  }
  return factors;
}

}  // namespace retensor::cpd
