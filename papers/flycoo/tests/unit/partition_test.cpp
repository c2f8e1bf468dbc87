// Algorithm 1: the paper's example, Graham's bound against brute force, and what has no bound.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "papers/flycoo/format/partition.hpp"

using namespace retensor;
using namespace retensor::flycoo;

namespace {

constexpr Assignment kAll[] = {Assignment::least_loaded, Assignment::cyclic, Assignment::contiguous,
                               Assignment::random};

// The indices of nonzeros of a mode in which index i has weight[i] nonzeros, spread out.
std::vector<Index> nonzeros(const std::vector<Count>& weight) {
  std::vector<Index> index;
  for (Count round = 0; round < *std::max_element(weight.begin(), weight.end()); ++round)
    for (std::size_t i = 0; i < weight.size(); ++i)
      if (round < weight[i]) index.push_back(static_cast<Index>(i));
  return index;
}

Partitioning partition(const std::vector<Count>& weight, std::uint32_t kappa, Assignment how) {
  return partition_mode(nonzeros(weight), weight.size(), kappa, how);
}

// The least possible largest load, by trying every assignment.
Count optimum(const std::vector<Count>& weight, std::uint32_t kappa) {
  Count best = std::numeric_limits<Count>::max();
  std::vector<Count> load(kappa);
  const auto place = [&](const auto& self, std::size_t i) -> void {
    if (i == weight.size()) {
      best = std::min(best, *std::max_element(load.begin(), load.end()));
      return;
    }
    for (Count& l : load) {
      l += weight[i];
      self(self, i + 1);
      l -= weight[i];
    }
  };
  place(place, 0);
  return best;
}

// Algorithm 1 as it is printed, the least filled partition searched each time.
std::vector<std::uint32_t> printed_algorithm(const std::vector<Count>& weight,
                                             std::uint32_t kappa) {
  std::vector<std::size_t> sorted(weight.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](auto a, auto b) { return weight[a] > weight[b]; });
  std::vector<Count> load(kappa);
  std::vector<std::uint32_t> part(weight.size());
  for (const auto j : sorted) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += weight[j];
    part[j] = static_cast<std::uint32_t>(least - load.begin());
  }
  return part;
}

}  // namespace

TEST_CASE("Fig. 2: index 2 in partition 0, indices 0 and 1 in partition 1, 2 + 2 nonzeros") {
  const Partitioning p = partition({1, 1, 2}, 2, Assignment::least_loaded);
  CHECK(p.part == std::vector<std::uint32_t>{1, 1, 0});
  CHECK(p.start == std::vector<Count>{0, 2, 4});
  CHECK(p.heaviest == 2);
  CHECK(p.load_ratio() == 1);
}

TEST_CASE("what takes turns is what the printed algorithm gives") {
  const CounterRng random(2);
  Count drawn = 0;
  for (int round = 0; round < 300; ++round) {
    const auto kappa = static_cast<std::uint32_t>(1 + random.below(drawn++, 7));
    std::vector<Count> weight(random.below(drawn++, 120) + 1);
    const Count heaviest = 1 + random.below(drawn++, 12);
    for (Count& w : weight) w = random.below(drawn++, heaviest + 1);
    weight.front() = 1;
    CHECK(partition(weight, kappa, Assignment::least_loaded).part ==
          printed_algorithm(weight, kappa));
  }
}

TEST_CASE("the least loaded keep within 4/3 of the optimum, cyclic and contiguous do not") {
  const CounterRng random(1);
  Count drawn = 0;
  double worst_cyclic = 0, worst_contiguous = 0;
  for (int round = 0; round < 200; ++round) {
    const auto kappa = static_cast<std::uint32_t>(2 + random.below(drawn++, 2));
    std::vector<Count> weight(4 + random.below(drawn++, 5));
    for (Count& w : weight) w = 1 + random.below(drawn++, 20);
    const auto best = static_cast<double>(optimum(weight, kappa));
    const auto ratio = [&](Assignment how) {
      const Partitioning p = partition(weight, kappa, how);
      CHECK(p.load_ratio() * (1 + 1e-12) >= static_cast<double>(p.largest_load()) / best);
      return static_cast<double>(p.largest_load()) / best;
    };
    CHECK(ratio(Assignment::least_loaded) <= 4.0 / 3 - 1.0 / (3 * kappa) + 1e-12);
    worst_cyclic = std::max(worst_cyclic, ratio(Assignment::cyclic));
    worst_contiguous = std::max(worst_contiguous, ratio(Assignment::contiguous));
  }
  CHECK(worst_cyclic > 4.0 / 3);
  CHECK(worst_contiguous > 4.0 / 3);
}

TEST_CASE("Graham's worst case is reached: 3 + 3 + 2 + 2 + 2 on two partitions") {
  const Partitioning p = partition({3, 3, 2, 2, 2}, 2, Assignment::least_loaded);
  CHECK(p.largest_load() == 7);
  CHECK(optimum({3, 3, 2, 2, 2}, 2) == 6);
}

TEST_CASE("cyclic deals the sorted indices out in turn") {
  const Partitioning p = partition({1, 9, 0, 4, 4}, 3, Assignment::cyclic);
  CHECK(p.part == std::vector<std::uint32_t>{0, 0, 0, 1, 2});
  CHECK(p.start == std::vector<Count>{0, 10, 14, 18});
}

TEST_CASE("contiguous partitions follow each other") {
  const Partitioning p = partition({2, 2, 1, 3, 0, 4}, 3, Assignment::contiguous);
  CHECK(p.part == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2});
  CHECK(p.start == std::vector<Count>{0, 4, 8, 12});
}

TEST_CASE("random partitions come from the seed") {
  const std::vector<Index> index = nonzeros(std::vector<Count>(200, 1));
  const auto drawn = [&](std::uint64_t seed) {
    return partition_mode(index, 200, 5, Assignment::random, seed).part;
  };
  CHECK(drawn(1) == drawn(1));
  CHECK(drawn(1) != drawn(2));
}

TEST_CASE("empty slices, more partitions than indices, no nonzeros") {
  for (const Assignment how : kAll) {
    const Partitioning sparse = partition({0, 3, 0, 0, 5}, 9, how);
    CHECK(sparse.start.back() == 8);
    CHECK(sparse.kappa() == 9);
    CHECK(*std::max_element(sparse.part.begin(), sparse.part.end()) < 9);
    const Partitioning none = partition_mode({}, 4, 3, how);
    CHECK(none.start == std::vector<Count>(4, 0));
    CHECK(none.load_ratio() == 1);
  }
}

TEST_CASE("an index with half of the nonzeros sets the bound") {
  std::vector<Count> weight(51, 1);
  weight[7] = 50;
  const Partitioning p = partition(weight, 8, Assignment::least_loaded);
  CHECK(p.heaviest == 50);
  CHECK(p.largest_load() == 50);
  CHECK(p.load_ratio() == 1);
}

TEST_CASE("counts of many nonzeros by several threads") {
  std::vector<Index> index(200000);
  std::vector<Count> expected(5000);
  for (Count p = 0; p < index.size(); ++p) {
    index[p] = p % 2 == 0 ? 3 : static_cast<Index>(CounterRng(1).below(p, expected.size()));
    ++expected[index[p]];
  }
  const Partitioning p = partition_mode(index, expected.size(), 16, Assignment::least_loaded);
  std::vector<Count> load(16);
  for (std::size_t i = 0; i < expected.size(); ++i) load[p.part[i]] += expected[i];
  for (std::uint32_t k = 0; k < 16; ++k) CHECK(p.load(k) == load[k]);
}

TEST_CASE("wrong input") {
  CHECK_THROWS_WITH_AS(partition({1}, 0, Assignment::cyclic), doctest::Contains("at least 1"),
                       InputError);
  CHECK_THROWS_WITH_AS(choice_of<Assignment>("cylcic"), doctest::Contains("expected least_loaded"),
                       InputError);
}
