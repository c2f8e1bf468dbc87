#include "common/decompose/starts.hpp"

#include <algorithm>
#include <cmath>

#include "common/core/message.hpp"
#include "common/core/rng.hpp"
#include "common/core/text.hpp"
#include "common/decompose/singular_vectors.hpp"

namespace retensor::cpd {
namespace {

const std::vector<std::string> kNames = {"spread", "signs", "normal", "uniform", "nvecs"};

double drawn(Start law, const CounterRng& rng, std::uint64_t k) {
  switch (law) {
    case Start::spread:
    case Start::signs:
    case Start::nvecs:
      return rng.uniform(k) < 0.5 ? -1 : 1;
    case Start::normal:
      return rng.normal(k);
    default:
      return rng.uniform(k);
  }
}

Eigen::MatrixXd leading_vectors_or_none(const Coo& x, std::size_t mode, std::uint64_t count,
                                        std::uint64_t seed) {
  if (count == 0) return {};
  return leading_vectors(x, static_cast<int>(mode), static_cast<Eigen::Index>(count), seed);
}

}  // namespace

Start start_from_name(std::string_view name) {
  return static_cast<Start>(place_among(kNames, name, "found start"));
}

std::string_view name(Start law) {
  return kNames.at(static_cast<std::size_t>(law));
}

Start default_start(Constraint constraint) {
  return constraint == Constraint::none ? Start::spread : Start::uniform;
}

void check_start(Start law, Constraint constraint) {
  if (constraint == Constraint::nonnegative && (law == Start::spread || law == Start::signs))
    throw input_error("found start {} for a non-negative model, expected uniform, normal or nvecs",
                      name(law));
}

std::vector<Matrix> first_factors(Start law, const Coo& x, std::uint64_t rank, std::uint64_t seed,
                                  Constraint constraint) {
  std::vector<Matrix> factors;
  for (const auto length : x.dims) {
    const auto mode = factors.size();
    const CounterRng rng(seed, mode);
    Matrix& factor = factors.emplace_back(length, rank, x.dtype());
    const auto known = law == Start::nvecs ? std::min(rank, length) : 0;
    const auto vectors = leading_vectors_or_none(x, mode, known, seed);
    for (std::uint64_t i = 0; i < length; ++i)
      for (std::uint64_t r = 0; r < rank; ++r) {
        const double entry =
            r < known ? vectors(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(r))
                      : drawn(law, rng, i * rank + r);
        factor.set(i, r, constraint == Constraint::nonnegative ? std::abs(entry) : entry);
      }
  }
  return factors;
}

}  // namespace retensor::cpd
