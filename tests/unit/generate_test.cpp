// Value models, uniform and matrix-multiplication tensors.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "common/core/error.hpp"
#include "common/generate/draws.hpp"
#include "common/generate/generators.hpp"
#include "common/generate/sampling.hpp"
#include "common/tensor/operations.hpp"
#include "tests/support/values.hpp"

using namespace retensor;
using retensor::test::doubles;

namespace {

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}

bool equal(const Coo& a, const Coo& b) {
  return a.dims == b.dims && a.indices == b.indices && doubles(a.values) == doubles(b.values);
}

void check_distinct(const Coo& t) {
  t.check();
  Coo copy = t;
  dedupe(copy, Duplicates::error);
  CHECK(is_sorted(t, natural_order(t.order())));
}

template <class F>
Coo with_threads(int threads, F make) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  Coo t = make();
  omp_set_num_threads(before);
  return t;
}

// Whether the tensor multiplies a random m x n by a random n x k integer matrix exactly.
bool multiplies(const Coo& t, std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  const auto a = doubles(draw_values(ValueModel::integers, DType::f64, m * n, 5, 0));
  const auto b = doubles(draw_values(ValueModel::integers, DType::f64, n * k, 5, 1));
  std::vector<double> contracted(m * k, 0), product(m * k, 0);
  for (Count x = 0; x < t.nnz(); ++x)
    contracted[t.indices[2][x]] += t.values.at(x) * a[t.indices[0][x]] * b[t.indices[1][x]];
  for (std::uint64_t i = 0; i < m; ++i)
    for (std::uint64_t j = 0; j < n; ++j)
      for (std::uint64_t l = 0; l < k; ++l) product[i * k + l] += a[i * n + j] * b[j * k + l];
  return contracted == product;
}

}  // namespace

TEST_CASE("names of value models go back and forth") {
  for (int m = 0; m <= static_cast<int>(ValueModel::ones); ++m) {
    const auto model = static_cast<ValueModel>(m);
    CHECK(value_model_from_name(name(model)) == model);
  }
  CHECK_THROWS_WITH_AS(
      value_model_from_name("gauss"),
      doctest::Contains("unknown value model 'gauss', expected one of stored, uniform"),
      InputError);
}

TEST_CASE("value models keep to their ranges and moments") {
  constexpr Count n = 200000;
  for (const DType type : {DType::f32, DType::f64}) {
    const auto draw = [type](ValueModel model) {
      return doubles(draw_values(model, type, n, 3, 1));
    };
    const auto range = [](const std::vector<double>& v) {
      const auto [low, high] = std::minmax_element(v.begin(), v.end());
      return std::pair(*low, *high);
    };
    const auto uni = draw(ValueModel::uniform);
    CHECK(range(uni).first > 0);
    CHECK(range(uni).second <= 1);
    CHECK(mean(uni) == doctest::Approx(0.5).epsilon(0.01));
    CHECK(draw(ValueModel::stored) == uni);

    const auto both = draw(ValueModel::signed_uniform);
    CHECK(range(both).first >= -1);
    CHECK(range(both).first < -0.999);
    CHECK(range(both).second < 1);
    CHECK(std::abs(mean(both)) < 0.01);

    auto normal = draw(ValueModel::normal);
    CHECK(std::abs(mean(normal)) < 0.01);
    const auto lognormal = draw(ValueModel::lognormal);
    for (Count i = 0; i < 100; ++i)
      CHECK(std::log(lognormal[i]) == doctest::Approx(normal[i]).epsilon(1e-4));
    for (double& x : normal) x *= x;
    CHECK(mean(normal) == doctest::Approx(1).epsilon(0.02));

    const auto ratings = draw(ValueModel::ratings);
    CHECK(std::set<double>(ratings.begin(), ratings.end()) == std::set<double>{1, 2, 3, 4, 5});
    const auto integers = draw(ValueModel::integers);
    CHECK(std::set<double>(integers.begin(), integers.end()) ==
          std::set<double>{-4, -3, -2, -1, 1, 2, 3, 4});
    const auto ones = draw(ValueModel::ones);
    CHECK(std::set<double>(ones.begin(), ones.end()) == std::set<double>{1});

    auto large = draw(ValueModel::near_overflow);
    CHECK(range(large).first < -255);
    CHECK(range(large).second > 255);
    for (double& x : large) x = std::abs(x);
    CHECK(range(large).first >= 240);
    CHECK(range(large).second <= 255.875);
    CHECK(255.875 * 255.875 < 65504);
  }
}

TEST_CASE("values depend on seed, stream and position alone") {
  const auto v = doubles(draw_values(ValueModel::normal, DType::f64, 1000, 7, 2));
  const auto prefix = doubles(draw_values(ValueModel::normal, DType::f64, 10, 7, 2));
  CHECK(std::equal(prefix.begin(), prefix.end(), v.begin()));
  CHECK(v != doubles(draw_values(ValueModel::normal, DType::f64, 1000, 8, 2)));
  CHECK(v != doubles(draw_values(ValueModel::normal, DType::f64, 1000, 7, 3)));
  CHECK(draw_values(ValueModel::ones, DType::f32, 0, 1, 1).size() == 0);
}

TEST_CASE("the random permutation is a bijection and moves nearly everything") {
  for (const std::uint64_t n : {1, 2, 3, 5, 17, 256, 257, 10000}) {
    const RandomPermutation place(n, 9, 0);
    std::set<std::uint64_t> images;
    std::uint64_t fixed = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto image = static_cast<std::uint64_t>(place(i));
      CHECK(image < n);
      images.insert(image);
      fixed += image == i ? 1 : 0;
    }
    CHECK(images.size() == n);
    if (n > 100) CHECK(fixed < 10);
  }
  const Uint128 most = Uint128{1} << 127;
  CHECK(RandomPermutation(most, 9, 0)(3) < most);
  CHECK_THROWS_AS(RandomPermutation(0, 1, 0), InputError);
  CHECK_THROWS_AS(RandomPermutation(most + 1, 1, 0), InputError);
}

TEST_CASE("uniform tensors have exactly the nonzeros asked for, up to a dense tensor") {
  for (const DType type : {DType::f32, DType::f64}) {
    for (const Count nnz : {0, 1, 60, 119, 120}) {
      const Coo t = uniform({4, 5, 6}, nnz, 3, type);
      CHECK(t.nnz() == nnz);
      CHECK(t.dtype() == type);
      check_distinct(t);
    }
  }
  check_distinct(uniform({10000}, 5000, 1, DType::f32));
  check_distinct(uniform(Dims(8, 3), 6561, 1, DType::f32));
  check_distinct(uniform(Dims(3, 1ULL << 32), 1000, 1, DType::f32));
  check_distinct(uniform({1ULL << 32, 1ULL << 31, 1ULL << 32, 1ULL << 32}, 1000, 1, DType::f32));
  CHECK(uniform({4, 0}, 0, 1, DType::f32).nnz() == 0);
}

TEST_CASE("uniform refuses what no tensor can hold") {
  CHECK_THROWS_AS(uniform({4, 5}, 21, 1, DType::f32), InputError);
  CHECK_THROWS_AS(uniform(Dims(4, 1ULL << 32), 1, 1, DType::f32), InputError);
  CHECK_THROWS_AS(uniform(Dims(9, 2), 1, 1, DType::f32), InputError);
  CHECK_THROWS_AS(uniform({0, 3}, 1, 1, DType::f32), InputError);
}

TEST_CASE("uniform tensors do not depend on the number of threads, but on the seed") {
  const auto make = [] { return uniform({300, 400, 500}, 50000, 3, DType::f32); };
  const Coo one = with_threads(1, make);
  CHECK(equal(one, with_threads(2, make)));
  CHECK(equal(one, with_threads(5, make)));
  CHECK_FALSE(equal(one, uniform({300, 400, 500}, 50000, 4, DType::f32)));
}

TEST_CASE("draws that repeat or are rejected are topped up; impossible laws are given up") {
  const Target target{{64, 64}, 3000, 1, DType::f32, ValueModel::ones};
  const auto skewed = [](std::uint64_t reach) {
    return [reach](Count i, sampling::Coordinate& c) {
      const CounterRng rng(5);
      c[0] = static_cast<Index>(rng.below(2 * i, 64) * rng.below(2 * i + 1, 64) / 64);
      c[1] = static_cast<Index>(CounterRng(6).below(i, reach));
      return c[1] < 64;
    };
  };
  const Coo t = sampling::collect(target, skewed(128));
  CHECK(t.nnz() == 3000);
  check_distinct(t);
  CHECK_THROWS_WITH_AS(sampling::collect(target, skewed(8)), doctest::Contains("are asked for"),
                       InputError);
}

TEST_CASE("thinning keeps every subset alike") {
  std::vector<int> kept(10, 0);
  for (std::uint64_t seed = 0; seed < 10000; ++seed) {
    sampling::Keys<std::uint64_t> keys{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    sampling::thin(keys, 3, seed);
    CHECK(keys.size() == 3);
    for (const auto k : keys) ++kept[k];
  }
  for (const int count : kept) CHECK(count == doctest::Approx(3000).epsilon(0.06));
}

TEST_CASE("the matrix multiplication tensor multiplies matrices exactly") {
  const std::vector<Dims> shapes{{1, 1, 1}, {2, 2, 2}, {3, 4, 5}, {7, 1, 3}, {16, 9, 12}};
  for (const Dims& s : shapes) {
    const Coo t = matmul_tensor(s[0], s[1], s[2], DType::f64);
    CHECK(t.dims == Dims{s[0] * s[1], s[1] * s[2], s[0] * s[2]});
    CHECK(t.nnz() == s[0] * s[1] * s[2]);
    check_distinct(t);
    CHECK(multiplies(t, s[0], s[1], s[2]));
  }
  CHECK_THROWS_AS(matmul_tensor(1ULL << 20, 1ULL << 20, 1ULL << 30), InputError);
}

TEST_CASE("the check of the matrix multiplication tensor finds one moved or changed entry") {
  Coo t = matmul_tensor(3, 4, 5, DType::f64);
  t.values.set(17, 2);
  CHECK_FALSE(multiplies(t, 3, 4, 5));
  t = matmul_tensor(3, 4, 5, DType::f64);
  std::swap(t.indices[1][0], t.indices[1][1]);
  CHECK_FALSE(multiplies(t, 3, 4, 5));
}
