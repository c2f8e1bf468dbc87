// Stand-ins of the project's registry: each variant differs from the base in its own property and
// in nothing else, and where the original is at hand the fit is what the registry states.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "common/generate/zipf.hpp"
#include "experiments/driver/datasets.hpp"
#include "experiments/driver/facts.hpp"
#include "experiments/driver/locations.hpp"

using namespace retensor;
using namespace retensor::driver;
using nlohmann::json;

namespace {

const DatasetRegistry& registry() {
  static const auto loaded = DatasetRegistry::load(default_registry());
  return loaded;
}

std::vector<Count> slice_counts(const Coo& tensor, std::size_t mode) {
  std::vector<Count> counts(tensor.dims[mode]);
  for (const auto index : tensor.indices[mode]) ++counts[index];
  return counts;
}

/// Nonzeros in the tile of a mean nonzero; tiles have the edge that the variants gather in.
double per_tile(const Coo& tensor) {
  std::map<std::vector<Index>, double> tiles;
  std::vector<Index> tile(tensor.dims.size());
  for (Count x = 0; x < tensor.nnz(); ++x) {
    for (std::size_t m = 0; m < tile.size(); ++m) tile[m] = tensor.indices[m][x] / 16;
    ++tiles[tile];
  }
  double sum = 0;
  for (const auto& [at, count] : tiles) sum += count * count;
  return sum / static_cast<double>(tensor.nnz());
}

/// A stand-in's parameters for about 12,000 nonzeros at the same density: long modes are shortened.
json scaled_down(const Dataset& d) {
  constexpr std::uint64_t kLong = 1000;
  const double factor = std::max(1.0, static_cast<double>(d.nnz) / 12000);
  const auto is_long = [](std::uint64_t length) { return length >= kLong; };
  const auto modes = std::count_if(d.dims.begin(), d.dims.end(), is_long);
  auto params = d.recipe_params;
  for (auto& length : params["dims"])
    if (const auto n = length.get<std::uint64_t>(); is_long(n))
      length = std::llround(static_cast<double>(n) / std::pow(factor, 1.0 / double(modes)));
  params["nnz"] = std::llround(static_cast<double>(d.nnz) / factor);
  return params;
}

Coo small(const std::string& name) {
  const auto& d = registry().find(name);
  const auto params = scaled_down(d);
  auto tensor = generate(d.recipe, params);
  CHECK(tensor.dims == params["dims"].get<Dims>());
  CHECK(tensor.nnz() == params["nnz"].get<Count>());
  CHECK_NOTHROW(tensor.check());
  return tensor;
}

/// The exponent at which draws over a mode have the given Gini coefficient of slices, by bisection.
double fitted_exponent(std::uint64_t length, Count draws, double wanted) {
  double low = 0, high = 3;
  while (high - low > 0.002) {
    const double middle = (low + high) / 2;
    const Zipf law(length, middle);
    std::vector<Count> counts(length);
    for (Count i = 0; i < draws; ++i) ++counts[law.draw(CounterRng(1), 16 * i) - 1];
    (gini(counts) < wanted ? low : high) = middle;
  }
  return low;
}

}  // namespace

TEST_CASE("variants differ in seed, skew and clustering alone, with the same dims and nonzeros") {
  for (const auto& entry : registry().all()) {
    const auto& name = entry.first;
    if (entry.second.variant != "base") continue;
    CAPTURE(name);
    const auto base = small(name), seed = small(name + "@seed"), skew = small(name + "@skew"),
               clustering = small(name + "@clustering");
    CHECK(base.indices != seed.indices);
    CHECK(per_tile(seed) == doctest::Approx(per_tile(base)).epsilon(0.2));
    CHECK(per_tile(clustering) > 1.3 * per_tile(base));
    for (std::size_t m = 0; m < base.dims.size(); ++m) {
      CAPTURE(m);
      const double spread = 1 - gini(slice_counts(base, m));
      CHECK(1 - gini(slice_counts(seed, m)) == doctest::Approx(spread).epsilon(0.05));
      CHECK(1 - gini(slice_counts(clustering, m)) == doctest::Approx(spread).epsilon(0.1));
      CHECK(1 - gini(slice_counts(skew, m)) < 0.98 * spread);
    }
  }
}

TEST_CASE("where the original is at hand, the exponents are those that the fit gives") {
  for (const char* name : {"fb15k-237-like", "wordnet-like"}) {
    CAPTURE(name);
    const auto& d = registry().find(name);
    const auto tensor = generate(d.recipe, d.recipe_params);
    CHECK_NOTHROW(check_against_registry(d, tensor));
    for (std::size_t m = 0; m < d.dims.size(); ++m) {
      CAPTURE(m);
      const auto original = d.stand_in["fitted_to"]["gini"][m].get<double>();
      CHECK(fitted_exponent(d.dims[m], d.nnz, original) ==
            doctest::Approx(d.recipe_params["exponent"][m].get<double>()).epsilon(0.01));
      const double residual = gini(slice_counts(tensor, m)) - original;
      CHECK(std::abs(residual - d.stand_in["residual"]["gini"][m].get<double>()) <= 0.0002);
      CHECK(std::abs(residual) < 0.02);
    }
  }
}
