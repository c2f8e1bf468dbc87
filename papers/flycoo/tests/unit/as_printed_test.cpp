// Algorithms 1 and 2 as the paper prints them, in a form that follows the listings line by line,
// beside the forms of this module: where the printed ones go wrong. paper/findings.yaml names these
// cases.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "common/generate/generators.hpp"
#include "papers/flycoo/format/partition.hpp"
#include "papers/flycoo/methods/methods.hpp"
#include "tests/support/run_once.hpp"

using namespace retensor;
using namespace retensor::flycoo;
using namespace retensor::test;

namespace {

using Parts = std::vector<std::vector<std::size_t>>;  // vertices of each partition

/// Vertices by their hyperedges, most first, equal ones in ascending order.
std::vector<std::size_t> ordered(const std::vector<Count>& hyperedges) {
  std::vector<std::size_t> vertices(hyperedges.size());
  std::iota(vertices.begin(), vertices.end(), std::size_t{0});
  std::stable_sort(vertices.begin(), vertices.end(),
                   [&](auto a, auto b) { return hyperedges[a] > hyperedges[b]; });
  return vertices;
}

/// Algorithm 1 for one mode; `choose` is line 7, from the partitions to the place of line 8.
template <class Choose>
Parts algorithm_1(const std::vector<Count>& hyperedges, std::size_t kappa, Choose choose) {
  Parts parts(kappa);
  for (const auto j : ordered(hyperedges)) parts.at(choose(parts)).push_back(j);
  return parts;
}

std::vector<Count> loads(const Parts& parts, const std::vector<Count>& hyperedges) {
  std::vector<Count> all;
  for (const auto& part : parts)
    all.push_back(std::accumulate(part.begin(), part.end(), Count{0},
                                  [&](Count sum, auto j) { return sum + hyperedges[j]; }));
  return all;
}

bool is_shorter(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  return a.size() < b.size();
}

std::vector<Count> loads_of_the_module(const std::vector<Count>& hyperedges, std::uint32_t kappa) {
  const auto parts = partition_counts(hyperedges, kappa, Assignment::least_loaded);
  std::vector<Count> all;
  for (std::uint32_t k = 0; k < kappa; ++k) all.push_back(parts.load(k));
  return all;
}

/// Vertices i0, i1, i2 of mode 0 of Fig. 2.
const std::vector<Count> kFig2 = {1, 1, 2};

/// Algorithms 2 and 5 over all modes. As printed the factors are input and output at once.
Matrix algorithm_5(const Problem& problem, bool in_place) {
  const auto& x = problem.x();
  auto factors = problem.dense();
  std::vector<Matrix> cleared;
  std::uint64_t rows = 0;
  for (const auto length : x.dims) {
    cleared.emplace_back(length, problem.rank(), problem.dtype());
    rows += length;
  }
  auto& outputs = in_place ? factors : cleared;
  for (std::size_t d = 0; d < x.dims.size(); ++d)
    for (Count p = 0; p < x.nnz(); ++p)
      for (std::uint64_t r = 0; r < problem.rank(); ++r) {
        double product = x.values.at(p);
        for (std::size_t w = 0; w < x.dims.size(); ++w)
          if (w != d) product *= factors[w].at(x.indices[w][p], r);
        const auto row = x.indices[d][p];
        outputs[d].set(row, r, outputs[d].at(row, r) + product);
      }
  Matrix all(rows, problem.rank(), problem.dtype());
  std::uint64_t first = 0;
  for (const auto& output : outputs) {
    for (std::uint64_t i = 0; i < output.rows(); ++i)
      for (std::uint64_t r = 0; r < problem.rank(); ++r) all.set(first + i, r, output.at(i, r));
    first += output.rows();
  }
  return all;
}

bool is_right(const Problem& problem, const Result& result) {
  return test::is_right(make_flycoo_cpu(), problem, result);
}

}  // namespace

TEST_CASE("Algorithm 1 takes the least size for the number of a partition") {
  const auto least_size = [](const Parts& parts) {
    return std::min_element(parts.begin(), parts.end(), is_shorter)->size();
  };
  // One partition stays empty, so the least size is 0 and partition 0 gets all.
  CHECK(loads(algorithm_1(kFig2, 2, least_size), kFig2) == std::vector<Count>{4, 0});
  CHECK(loads_of_the_module(kFig2, 2) == std::vector<Count>{2, 2});
}

TEST_CASE("Vertices in turn or by their number do not give Fig. 2") {
  const auto fewest_vertices = [](const Parts& parts) {
    return static_cast<std::size_t>(std::min_element(parts.begin(), parts.end(), is_shorter) -
                                    parts.begin());
  };
  const auto in_turn = [next = std::size_t{0}](const Parts& parts) mutable {
    return next++ % parts.size();
  };
  const auto fewest_hyperedges = [](const Parts& parts) {
    const auto all = loads(parts, kFig2);
    return static_cast<std::size_t>(std::min_element(all.begin(), all.end()) - all.begin());
  };
  CHECK(loads(algorithm_1(kFig2, 2, fewest_vertices), kFig2) == std::vector<Count>{3, 1});
  CHECK(loads(algorithm_1(kFig2, 2, in_turn), kFig2) == std::vector<Count>{3, 1});
  CHECK(loads(algorithm_1(kFig2, 2, fewest_hyperedges), kFig2) == std::vector<Count>{2, 2});
  CHECK(loads_of_the_module(kFig2, 2) == std::vector<Count>{2, 2});
}

TEST_CASE("Algorithm 2 adds to the factor that it was given") {
  ProblemSpec spec;
  spec.operation = Operation::mttkrp_all;
  spec.rank = 4;
  spec.dtype = DType::f64;
  const Problem problem(spec, std::make_shared<const Coo>(uniform({6, 5, 4}, 30, 1, DType::f64)));
  CHECK_FALSE(is_right(problem, algorithm_5(problem, true)));
  CHECK(is_right(problem, algorithm_5(problem, false)));
  CHECK(is_right(problem, run_once(make_flycoo_cpu(), problem).result));
}
