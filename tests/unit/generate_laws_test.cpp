// Degree laws of the random generators by the Kolmogorov-Smirnov distance, and the joint law of
// Kronecker tensors.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "common/core/error.hpp"
#include "common/generate/draws.hpp"
#include "common/generate/generators.hpp"
#include "common/tensor/operations.hpp"

using namespace retensor;

namespace {

constexpr double kLargestDistance = 0.02;

std::vector<Count> degrees(const Coo& t, int mode) {
  const auto m = static_cast<std::size_t>(mode);
  std::vector<Count> d(t.dims[m], 0);
  for (const Index i : t.indices[m]) ++d[i];
  return d;
}

// Largest distance between the empirical distribution of the counts and cdf(k) = P(count <= k).
double ks_distance(const std::vector<Count>& counts, const std::function<double(Count)>& cdf) {
  std::map<Count, Count> histogram;
  for (const Count c : counts) ++histogram[c];
  double distance = 0, below = 0;
  for (const auto& [k, times] : histogram) {
    if (k > 0) distance = std::max(distance, std::abs(below - cdf(k - 1)));
    below += static_cast<double>(times) / static_cast<double>(counts.size());
    distance = std::max(distance, std::abs(below - cdf(k)));
  }
  return distance;
}

constexpr Count kTabulated = 400;

// P(count = k) for k < kTabulated, averaged over Poisson counts of the given means. Means beyond
// the table count as if they were certain; few indices are that heavy.
std::vector<double> poisson_mixture(const std::vector<double>& means) {
  std::vector<double> pmf(kTabulated, 0);
  const double share = 1.0 / static_cast<double>(means.size());
  for (const double mean : means) {
    double term = mean < 300 ? share * std::exp(-mean) : 0;
    for (Count k = 0; k < kTabulated && (term > 1e-15 * share || static_cast<double>(k) < mean);
         ++k) {
      pmf[k] += term;
      term *= mean / static_cast<double>(k + 1);
    }
  }
  return pmf;
}

// Degrees of a mode whose index i is hit with probability p[i] by each of nnz draws.
double degree_distance(const Coo& t, int mode, const std::vector<double>& p) {
  std::vector<double> means;
  for (const double x : p) means.push_back(static_cast<double>(t.nnz()) * x);
  std::vector<double> cdf = poisson_mixture(means);
  std::partial_sum(cdf.begin(), cdf.end(), cdf.begin());
  return ks_distance(degrees(t, mode), [&](Count k) {
    if (k < kTabulated / 2) return cdf[k];
    const auto below = std::count_if(means.begin(), means.end(),
                                     [k](double mean) { return mean <= static_cast<double>(k); });
    return static_cast<double>(below) / static_cast<double>(means.size());
  });
}

// Probabilities of the indices of a mode under a binary initiator, stripped to `length`.
std::vector<double> binary_marginal(std::uint64_t length, int products, double skew) {
  std::vector<double> p(length);
  double inside = 0;
  for (std::uint64_t i = 0; i < length; ++i) {
    const int ones = std::popcount(i);
    inside += p[i] = std::pow(skew, products - ones) * std::pow(1 - skew, ones);
  }
  for (double& x : p) x /= inside;
  return p;
}

std::vector<double> zipf_probabilities(std::uint64_t n, double exponent) {
  std::vector<double> p(n);
  double sum = 0;
  for (std::uint64_t k = 0; k < n; ++k)
    sum += p[k] = std::pow(static_cast<double>(k + 1), -exponent);
  for (double& x : p) x /= sum;
  return p;
}

}  // namespace

TEST_CASE("alias tables draw cells by their weights") {
  const std::vector<double> weights{1, 0, 3, 0.5, 5.5};
  const AliasTable table(weights);
  const CounterRng rng(3);
  std::vector<double> share(weights.size(), 0);
  constexpr Count n = 200000;
  for (Count i = 0; i < n; ++i) share[table.pick(rng.bits(i))] += 10.0 / n;
  CHECK(share[1] == 0);
  for (std::size_t c = 0; c < share.size(); ++c) CHECK(std::abs(share[c] - weights[c]) < 0.04);
  CHECK(AliasTable({7}).pick(~0ULL) == 0);
  CHECK_THROWS_AS(AliasTable({}), InputError);
  CHECK_THROWS_AS(AliasTable({0, 0}), InputError);
  CHECK_THROWS_AS(AliasTable({1, -1}), InputError);
}

TEST_CASE("Zipf draws follow the power law for exponents around and at 1") {
  for (const double exponent : {0.0, 0.6, 1.0, 1.0000001, 1.7, 3.0}) {
    for (const std::uint64_t n : {1, 2, 1000}) {
      const Zipf law(n, exponent);
      const auto p = zipf_probabilities(n, exponent);
      std::vector<Count> draws(100000);
      for (Count i = 0; i < draws.size(); ++i) draws[i] = law.draw(CounterRng(2), 16 * i);
      CHECK(*std::min_element(draws.begin(), draws.end()) >= 1);
      const auto cdf = [&p](Count k) {
        double sum = 0;
        for (Count j = 0; j < std::min<Count>(k, p.size()); ++j) sum += p[j];
        return sum;
      };
      CHECK(ks_distance(draws, cdf) < 0.006);
    }
  }
  const Zipf huge(1ULL << 32, 0.5);
  CHECK(huge.draw(CounterRng(2), 0) <= 1ULL << 32);
  CHECK_THROWS_AS(Zipf(0, 1), InputError);
  CHECK_THROWS_AS(Zipf(5, -1), InputError);
}

TEST_CASE("degrees of uniform tensors are Poisson") {
  const Coo t = uniform({60000, 40000, 70000}, 300000, 1, DType::f32);
  for (int mode = 0; mode < 3; ++mode) {
    const std::uint64_t n = t.dims[static_cast<std::size_t>(mode)];
    const std::vector<double> p(n, 1.0 / static_cast<double>(n));
    CHECK(degree_distance(t, mode, p) <= kLargestDistance);
  }
}

TEST_CASE("degrees of Kronecker tensors follow the marginals of the stripped product") {
  const auto law = binary_initiator(3, 0.6);
  const Target target{{50000, 40000, 65536}, 200000};
  const Coo t = kronecker(target, law);
  CHECK(t.nnz() == target.nnz);
  for (int mode = 0; mode < 3; ++mode)
    CHECK(degree_distance(t, mode,
                          binary_marginal(t.dims[static_cast<std::size_t>(mode)], 16, 0.6)) <=
          kLargestDistance);
}

TEST_CASE("clustering leaves the degrees of a Kronecker tensor alone and gathers its nonzeros") {
  const Target target{Dims(3, 65536), 200000};
  const auto same_half = [](const Coo& t) {
    double same = 0;
    for (Count x = 0; x < t.nnz(); ++x) {
      const Index half = t.indices[0][x] >> 15;
      same += half == t.indices[1][x] >> 15 && half == t.indices[2][x] >> 15 ? 1 : 0;
    }
    return same / static_cast<double>(t.nnz());
  };
  const Coo spread = kronecker(target, binary_initiator(3, 0.6, 0));
  const Coo gathered = kronecker(target, binary_initiator(3, 0.6, 0.3));
  CHECK(std::abs(same_half(spread) - (0.216 + 0.064)) < 0.005);
  CHECK(std::abs(same_half(gathered) - (0.3 + 0.7 * 0.28)) < 0.005);
  for (int mode = 0; mode < 3; ++mode)
    CHECK(degree_distance(gathered, mode, binary_marginal(65536, 16, 0.6)) <= kLargestDistance);
}

TEST_CASE("any initiator: the leading digits of a Kronecker tensor have the initiator's weights") {
  const KroneckerLaw law{{3, 2}, {4, 1, 2, 0, 1, 2}};
  const Target target{{59049, 1024}, 100000};
  const Coo t = kronecker(target, law);
  std::vector<double> share(6, 0);
  for (Count x = 0; x < t.nnz(); ++x)
    share[t.indices[0][x] / 19683 * 2 + t.indices[1][x] / 512] += 1e-4;
  for (std::size_t c = 0; c < 6; ++c) CHECK(std::abs(share[c] - law.initiator[c]) < 0.15);
  CHECK(share[3] == 0);
}

TEST_CASE("degrees of power-law tensors follow the law of the ranks, slices are equal") {
  for (const double exponent : {0.5, 0.8}) {
    const Target target{{60000, 60000, 76}, 300000};
    const PowerLaw law{{exponent}, {2}};
    const Coo t = power_law(target, law);
    CHECK(t.nnz() == target.nnz);
    const auto p = zipf_probabilities(60000, exponent);
    for (const int mode : {0, 1}) CHECK(degree_distance(t, mode, p) <= kLargestDistance);
    for (const Count d : degrees(t, 2))
      CHECK(static_cast<double>(d) == doctest::Approx(300000.0 / 76).epsilon(0.03));
    const auto d = degrees(t, 0);
    CHECK(std::max_element(d.begin(), d.end()) - d.begin() == power_law_index(target, law, 0, 0));
  }
}

TEST_CASE("every mode has an exponent of its own; runs are permuted whole") {
  const Target target{{60000, 50000, 40000}, 300000};
  const PowerLaw law{{0.5, 0.8, 0}, {}, 64};
  const Coo t = power_law(target, law);
  for (int mode = 0; mode < 3; ++mode) {
    const auto m = static_cast<std::size_t>(mode);
    CHECK(degree_distance(t, mode, zipf_probabilities(target.dims[m], law.exponents[m])) <=
          kLargestDistance);
    std::vector<bool> taken(target.dims[m], false);
    for (std::uint64_t rank = 0; rank < target.dims[m]; ++rank)
      taken[power_law_index(target, law, mode, rank)] = true;
    CHECK(std::count(taken.begin(), taken.end(), true) == static_cast<int>(target.dims[m]));
  }
  CHECK(power_law_index(target, law, 1, 63) == power_law_index(target, law, 1, 0) + 63);
  CHECK(power_law_index(target, law, 1, 64) != power_law_index(target, law, 1, 0) + 64);
}

TEST_CASE("groups of draws lie in one tile and keep the law of every mode") {
  const Target target{{6000, 5000, 4000}, 300000};
  const PowerLaw law{{0.9, 0.6, 0.3}, {}};
  const PowerLaw grouped{{0.9, 0.6, 0.3}, {}, 16, 8};
  const auto tiles = [](const Coo& t) {
    std::vector<std::uint64_t> at(t.nnz());
    for (Count x = 0; x < t.nnz(); ++x)
      at[x] = (std::uint64_t{t.indices[0][x] / 16} * 1000 + t.indices[1][x] / 16) * 1000 +
              t.indices[2][x] / 16;
    std::sort(at.begin(), at.end());
    return std::unique(at.begin(), at.end()) - at.begin();
  };
  const Coo t = power_law(target, grouped);
  CHECK(4 * tiles(t) < tiles(power_law(target, law)));
  for (int mode = 0; mode < 3; ++mode) {
    const auto m = static_cast<std::size_t>(mode);
    const auto p = zipf_probabilities(target.dims[m], grouped.exponents[m]);
    const auto counts = degrees(t, mode);
    double expected = 0, found = 0;
    for (std::uint64_t rank = 0; rank < target.dims[m]; ++rank) {  // also inside the first run
      expected += p[rank];
      found += static_cast<double>(counts[power_law_index(target, grouped, mode, rank)]) / 300000;
      CHECK(std::abs(found - expected) < 0.015);
    }
  }
}

TEST_CASE("the distance finds a wrong law") {
  const Coo t = uniform({60000, 40000, 70000}, 300000, 1, DType::f32);
  CHECK(degree_distance(t, 0, zipf_probabilities(60000, 0.5)) > 5 * kLargestDistance);
  CHECK(degree_distance(t, 0, binary_marginal(60000, 16, 0.6)) > 5 * kLargestDistance);
  const Coo p = power_law({{60000, 60000}, 300000}, {{0.8}, {}});
  CHECK(degree_distance(p, 0, zipf_probabilities(60000, 0.7)) > kLargestDistance);
}

TEST_CASE("nonzeros per sparse tile follow the stated spread") {
  const Target target{{1600, 1600, 1600}, 200000};
  const TiledLaw law{
      .edge = 16, .tiles = 10000, .dense_fill = 1, .spread = TileSpread::exponential};
  const std::vector<Count> counts = tile_counts(target, law);
  // One and an exponential of mean 19, rounded up or down with its fraction as the probability.
  const double mean = 19;
  const auto integral = [mean](double x) { return x + mean * std::exp(-x / mean); };
  const auto cdf = [&](Count k) {
    if (k == 0) return 0.0;
    const auto excess = static_cast<double>(k - 1);
    return integral(excess + 1) - integral(excess);
  };
  CHECK(ks_distance(counts, cdf) <= kLargestDistance);
  TiledLaw other = law;
  other.spread = TileSpread::equal;
  CHECK(ks_distance(tile_counts(target, other), cdf) > 5 * kLargestDistance);
}
