// Algorithms 1 to 3 as the paper prints them, in a form that follows the listings line by line,
// beside the forms of this module: where the printed ones go wrong. paper/findings.yaml names these
// cases.
#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <vector>

#include "papers/pasta/methods/methods.hpp"
#include "tests/support/run_once.hpp"

using namespace retensor;
using namespace retensor::pasta;
using namespace retensor::test;

namespace {

/// Fibers of mode 3 of a third-order tensor, sorted, and the vector.
struct LastFibers {
  std::vector<std::size_t> first;  ///< of each fiber, then the end
  std::vector<std::size_t> k;      ///< of each nonzero
  std::vector<double> value, vector;

  std::size_t count() const { return first.size() - 1; }
  std::size_t nonzeros() const { return k.size(); }
};

/// Three fibers of 1, 3 and 2 nonzeros.
LastFibers example() {
  return {{0, 1, 4, 6}, {2, 0, 1, 3, 1, 2}, {1, 2, 3, 4, 5, 6}, {1, 10, 100, 1000}};
}

/// Lines 7 to 10 of Algorithm 1 and 5 to 8 of Algorithm 2: a sum that begins with `begin`.
double sum_of(const LastFibers& x, std::size_t f, double begin) {
  double v = begin;
  for (std::size_t m = x.first[f]; m < x.first[f + 1]; ++m) v += x.value[m] * x.vector[x.k[m]];
  return v;
}

/// Algorithm 1; `stores`: the line that the listing lacks.
std::vector<double> algorithm_1(const LastFibers& x, bool stores) {
  std::vector<double> y(x.count(), 0);
  for (std::size_t f = 0; f < x.count(); ++f) {
    const double v = sum_of(x, f, y[f]);
    if (stores) y[f] = v;
  }
  return y;
}

Result result_of(const Problem& problem) {
  return run_once(make_coo_cpu(), problem).result;
}

/// TTV of the example by this module, a value a fiber.
std::vector<double> of_the_module(const LastFibers& x) {
  Coo tensor({x.count(), 1, x.vector.size()}, DType::f32, x.nonzeros());
  for (std::size_t f = 0; f < x.count(); ++f)
    for (std::size_t m = x.first[f]; m < x.first[f + 1]; ++m) {
      tensor.indices[0][m] = static_cast<Index>(f);
      tensor.indices[2][m] = static_cast<Index>(x.k[m]);
      tensor.values.set(m, x.value[m]);
    }
  ProblemSpec spec;
  spec.operation = Operation::ttv;
  spec.mode = 2;
  const Problem problem(spec, std::make_shared<const Coo>(std::move(tensor)));
  const auto result = std::get<Coo>(result_of(problem));
  std::vector<double> y;
  for (Count f = 0; f < result.nnz(); ++f) y.push_back(result.values.at(f));
  return y;
}

/// The example with the vector that the module draws.
LastFibers with_drawn_vector() {
  auto x = example();
  ProblemSpec spec;
  spec.operation = Operation::ttv;
  spec.mode = 2;
  const Problem problem(spec, std::make_shared<const Coo>(Coo({3, 1, 4}, DType::f32)));
  for (std::size_t k = 0; k < x.vector.size(); ++k) x.vector[k] = problem.dense()[0].at(k, 0);
  return x;
}

/// How often f_ptr, whose entries are 1 to `entries`, is read elsewhere: entries f and f + 1 for f
/// = 1 to `loops`.
std::size_t reads_beyond(std::size_t entries, std::size_t loops) {
  std::size_t beyond = 0;
  for (std::size_t f = 1; f <= loops; ++f) beyond += (f > entries) + (f + 1 > entries);
  return beyond;
}

/// A step of `row += value` of one thread: its two halves are separate accesses of memory.
struct Update {
  double value, read = 0;
  void load(const double& row) { read = row; }
  void store(double& row) const { row = read + value; }
};

}  // namespace

TEST_CASE("Algorithm 1 stores no sum") {
  const auto x = with_drawn_vector();
  CHECK(algorithm_1(x, false) == std::vector<double>(x.count(), 0));
  const auto stored = algorithm_1(x, true), module = of_the_module(x);
  REQUIRE(module.size() == stored.size());
  for (std::size_t f = 0; f < stored.size(); ++f)
    CHECK(module[f] == doctest::Approx(stored[f]).epsilon(1e-5));
}

TEST_CASE("Algorithm 2 begins a sum with a nonzero of another fiber") {
  const auto x = with_drawn_vector();
  const auto module = of_the_module(x);
  for (std::size_t tid = 0; tid < x.count(); ++tid) {
    const double printed = sum_of(x, tid, x.value[tid]), from_zero = sum_of(x, tid, 0);
    CHECK(printed == doctest::Approx(from_zero + x.value[tid]));
    CHECK(module[tid] == doctest::Approx(from_zero).epsilon(1e-5));
    CHECK(module[tid] != doctest::Approx(printed));
  }
}

TEST_CASE("Algorithms 1 and 2 read beyond f_ptr") {
  const auto x = example();
  CHECK(reads_beyond(x.count(), x.count()) == 1);     // Algorithm 1: the end of the last fiber
  CHECK(reads_beyond(x.count(), x.nonzeros()) == 7);  // Algorithm 2 with a thread a nonzero
  CHECK(reads_beyond(x.count() + 1, x.count()) == 0);
}

TEST_CASE("Algorithm 3 loses updates of blocks that share rows") {
  // Two blocks of one block row, each with a nonzero of the same row; line 8 once each.
  Update a{2}, b{5};
  double racing = 0;
  a.load(racing);
  b.load(racing);
  a.store(racing);
  b.store(racing);
  CHECK(racing == 5);
  double atomic = 0;
  for (auto* update : {&a, &b}) {
    update->load(atomic);
    update->store(atomic);
  }
  CHECK(atomic == 7);
}
