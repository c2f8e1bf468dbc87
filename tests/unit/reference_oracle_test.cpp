// The oracle against hand-computed cases and against loops over dense arrays.
#include <doctest/doctest.h>

#include "common/core/error.hpp"
#include "reference_case.hpp"

using namespace reference_case;

namespace {

Coo make_coo(const Dims& dims, const std::vector<Coordinate>& coordinates,
             const std::vector<double>& values) {
  Coo x(dims, DType::f64, values.size());
  for (Count p = 0; p < values.size(); ++p) {
    for (std::size_t m = 0; m < dims.size(); ++m) x.indices[m][p] = coordinates[p][m];
    x.values.set(p, values[p]);
  }
  return x;
}

Matrix make_matrix(std::uint64_t rows, std::uint64_t cols, const std::vector<double>& values) {
  Matrix m(rows, cols, DType::f64);
  for (std::uint64_t i = 0; i < rows * cols; ++i) m.set(i / cols, i % cols, values[i]);
  return m;
}

void check_exact(const Expected& oracle, const Result& result) {
  const CheckReport report = oracle.check(result, kF64);
  CHECK_MESSAGE(report.ok, report.reason);
  CHECK(report.error_over_bound == 0);
  CHECK(report.metrics.max_absolute == 0);
}

// x(0,0,1) = 2, x(0,1,0) = -3, x(1,1,2) = 5 in 2 x 2 x 3.
const Coo kX = make_coo({2, 2, 3}, {{0, 0, 1}, {0, 1, 0}, {1, 1, 2}}, {2, -3, 5});

}  // namespace

TEST_CASE("elementwise operations by hand") {
  const Coo y = make_coo({2, 2, 3}, {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}, {4, 10, 7});
  check_exact(reference::tew(kX, y, "add"),
              make_coo({2, 2, 3}, {{1, 1, 2}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}}, {5, 12, 1, 7}));
  check_exact(reference::tew(kX, y, "sub"),
              make_coo({2, 2, 3}, {{1, 1, 2}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}}, {5, -8, -7, -7}));
  check_exact(reference::tew(kX, y, "mul"), make_coo({2, 2, 3}, {{0, 0, 1}, {0, 1, 0}}, {20, -12}));
  const Coo wide = make_coo({2, 2, 3}, {{1, 0, 0}, {1, 1, 2}, {0, 1, 0}, {0, 0, 1}}, {9, 2, 3, 4});
  check_exact(reference::tew(kX, wide, "div"),
              make_coo({2, 2, 3}, {{0, 0, 1}, {0, 1, 0}, {1, 1, 2}}, {0.5, -1, 2.5}));
  // Other lengths in two modes: the result has the longer one of each.
  const Coo other = make_coo({1, 3, 2}, {{0, 2, 0}, {0, 0, 1}}, {4, 8});
  check_exact(reference::tew(kX, other, "sub"),
              make_coo({2, 3, 3}, {{0, 0, 1}, {0, 1, 0}, {0, 2, 0}, {1, 1, 2}}, {-6, -3, -4, 5}));
  check_exact(reference::tew(kX, other, "mul"), make_coo({2, 3, 3}, {{0, 0, 1}}, {16}));
  check_exact(reference::ts(kX, 2, "sub"),
              make_coo({2, 2, 3}, {{0, 0, 1}, {0, 1, 0}, {1, 1, 2}}, {0, -5, 3}));
}

TEST_CASE("products by hand") {
  const Matrix v = make_matrix(3, 1, {1, 10, 100});
  check_exact(reference::ttv(kX, v, 2), make_coo({2, 2}, {{1, 1}, {0, 1}, {0, 0}}, {500, -3, 20}));
  check_exact(reference::ttv(kX, make_matrix(2, 1, {1, 2}), 1),
              make_coo({2, 3}, {{0, 0}, {0, 1}, {1, 2}}, {-6, 2, 10}));

  SemiSparseCoo ttm;
  ttm.dims = {2, 2, 2};
  ttm.dense_modes = {2};
  ttm.indices = {{0, 1, 0}, {1, 1, 0}};
  ttm.values = Values(std::vector<double>{-3, -6, 25, 30, 6, 8});
  check_exact(reference::ttm(kX, make_matrix(3, 2, {1, 2, 3, 4, 5, 6}), 2), ttm);

  const std::vector<Matrix> factors{make_matrix(2, 2, {9, 9, 9, 9}),
                                    make_matrix(2, 2, {1, 2, 3, 4}),
                                    make_matrix(3, 2, {1, 1, 2, 3, 5, 7})};
  // Row 0: 2 * (1, 2) * (2, 3) - 3 * (3, 4) * (1, 1); row 1: 5 * (3, 4) * (5, 7).
  check_exact(reference::mttkrp(kX, factors, 0), make_matrix(2, 2, {-5, 0, 75, 140}));
  // Row 0: 2 * (1, 2) x (2, 3) - 3 * (3, 4) x (1, 1).
  check_exact(reference::ttm_chain(kX, factors, 0),
              make_matrix(2, 4, {-5, -3, -4, 0, 75, 105, 100, 140}));

  const Coo s = make_coo({3, 2}, {{2, 1}, {0, 0}, {0, 1}}, {4, 1, -1});
  check_exact(reference::spmm(s, make_matrix(2, 2, {1, 2, 3, 4})),
              make_matrix(3, 2, {-2, -2, 0, 0, 12, 16}));
}

TEST_CASE("contraction by hand keeps entries whose terms cancel, and forgives their absence") {
  const Coo a = make_coo({2, 3}, {{0, 0}, {0, 2}, {1, 1}}, {1, 2, 3});
  const Coo b = make_coo({3, 2}, {{0, 0}, {2, 0}, {2, 1}}, {2, -1, 4});
  const Expected oracle = reference::contraction(a, b, "ik,kj->ij");
  check_exact(oracle, make_coo({2, 2}, {{0, 1}, {0, 0}}, {8, 0}));
  CHECK(oracle.check(make_coo({2, 2}, {{0, 1}}, {8}), kF64).ok);
  CHECK(oracle.check(make_coo({2, 2}, {{0, 1}, {1, 1}}, {8, 0}), kF64).ok);
  CHECK_FALSE(oracle.check(make_coo({2, 2}, {{0, 1}, {1, 1}}, {8, 1e-30}), kF64).ok);
  check_exact(reference::contraction(a, b, "ik,kj->ji", 0.5),
              make_coo({2, 2}, {{1, 0}, {0, 0}}, {4, 0}));
  check_exact(
      reference::contraction(make_coo({2}, {{1}}, {3}), make_coo({2}, {{0}}, {5}), "a,b->ba"),
      make_coo({2, 2}, {{0, 1}}, {15}));
}

TEST_CASE("every operation equals brute force in full and in sampled mode, f64 and f32") {
  Limits thinned = sampling_limits();  // few products, so that columns of the rows are sampled too
  thinned.products = 20;
  for (const Case& c : all_cases()) {
    CAPTURE(c.name);
    for (const DType type : {DType::f64, DType::f32}) {
      const Coo x = random_tensor(c.dims, 40, 5, type);
      const Result result = c.brute(x, 9, type);
      for (const Limits& limits : {Limits{}, sampling_limits(), thinned}) {
        const Expected oracle = c.oracle(x, 9, type, limits);
        CHECK(oracle.sampled() == (limits.entries == 0));
        const CheckReport report = oracle.check(result, Precision::of(type));
        CHECK_MESSAGE(report.ok, report.reason);
        CHECK(report.entries > 0);
        CHECK(report.error_over_bound <= 1);
        CHECK(report.metrics.relative_frobenius < 1e-6);
      }
    }
  }
}

TEST_CASE("small integers give exact results") {
  for (const Case& c : all_cases(Draw::integers)) {
    if (c.name.find("div") != std::string::npos) continue;
    CAPTURE(c.name);
    const Coo x = random_tensor(c.dims, 60, 3, DType::f32, Draw::integers);
    const CheckReport report =
        c.oracle(x, 4, DType::f32, {}).check(c.brute(x, 4, DType::f32), kF32);
    CHECK_MESSAGE(report.ok, report.reason);
    CHECK(report.error_over_bound == 0);
  }
}

TEST_CASE("orders 1 to 5, every mode") {
  const Dims all{4, 3, 5, 2, 3};
  for (std::size_t order = 1; order <= all.size(); ++order) {
    const Dims dims(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(order));
    const Coo x = random_tensor(dims, 30, 20 + order);
    const Dims equal(order, 3), ranks{2, 3, 1, 2, 2};
    const auto factors = random_factors(dims, equal, 30 + order);
    const auto chain = random_factors(dims, ranks, 40 + order);
    for (int mode = 0; mode < static_cast<int>(order); ++mode) {
      CAPTURE(order);
      CAPTURE(mode);
      const auto length = dims[static_cast<std::size_t>(mode)];
      const Matrix u = random_matrix(length, 4, 7), v = random_matrix(length, 1, 8);
      for (const Limits& limits : {Limits{}, sampling_limits()}) {
        const auto passes = [&](const Expected& oracle, const Result& result) {
          const CheckReport report = oracle.check(result, kF64);
          CHECK_MESSAGE(report.ok, report.reason);
        };
        passes(reference::mttkrp(x, factors, mode, limits),
               brute_mttkrp(x, factors, mode, DType::f64));
        passes(reference::ttm_chain(x, chain, mode, limits),
               brute_ttm_chain(x, chain, mode, DType::f64));
        passes(reference::ttm(x, u, mode, limits), brute_ttm(x, u, mode, DType::f64));
        if (order > 1)
          passes(reference::ttv(x, v, mode, limits), brute_ttv(x, v, mode, DType::f64));
      }
    }
  }
}

TEST_CASE("contractions of orders 1 to 8 with many contracted modes") {
  const std::vector<std::pair<std::string, std::pair<Dims, Dims>>> cases{
      {"k,ka->a", {{4}, {4, 3}}},
      {"abkl,lkc->cba", {{3, 2, 4, 3}, {3, 4, 5}}},
      {"abcd,efgh->hgfedcba", {{2, 2, 3, 2}, {2, 3, 2, 2}}},
      {"abcdklm,mlke->ebdca", {{2, 2, 2, 3, 2, 2, 3}, {3, 2, 2, 4}}},
      {"kl,lka->a", {{4, 5}, {5, 4, 3}}},
      {"akl,lk->a", {{4, 5, 3}, {3, 5}}}};
  for (const auto& c : cases) {
    const std::string& einsum = c.first;
    CAPTURE(einsum);
    const Coo x = random_tensor(c.second.first, 25, 1), y = random_tensor(c.second.second, 25, 2);
    const Result result = brute_contraction(x, y, einsum, -2.0, DType::f64);
    for (const Limits& limits : {Limits{}, sampling_limits()}) {
      const CheckReport report =
          reference::contraction(x, y, einsum, -2.0, limits).check(result, kF64);
      CHECK_MESSAGE(report.ok, report.reason);
    }
  }
}

TEST_CASE("empty tensors and one nonzero at the last index") {
  const Dims dims{3, 4, 2};
  const Coo empty(dims, DType::f32);
  const auto factors = random_factors(dims, {2, 2, 2}, 1, DType::f32);
  for (const Limits& limits : {Limits{}, sampling_limits()}) {
    CHECK(reference::mttkrp(empty, factors, 1, limits).check(Matrix(4, 2, DType::f32), kF32).ok);
    CHECK(reference::tew(empty, empty, "div", limits).check(empty, kF32).ok);
    CHECK(reference::ttv(empty, random_matrix(2, 1, 1), 2, limits)
              .check(Coo({3, 4}, DType::f32), kF32)
              .ok);
    CHECK(reference::contraction(empty, empty, "abk,dck->adbc", 1, limits)
              .check(Coo({3, 3, 4, 4}, DType::f32), kF32)
              .ok);
    Matrix wrong(4, 2, DType::f32);
    wrong.set(3, 1, 1e-20);
    CHECK_FALSE(reference::mttkrp(empty, factors, 1, limits).check(wrong, kF32).ok);
  }
  const Coo one = random_tensor(dims, 1, 6, DType::f32);
  for (const Limits& limits : {Limits{}, sampling_limits()})
    CHECK(reference::mttkrp(one, factors, 0, limits)
              .check(brute_mttkrp(one, factors, 0, DType::f32), kF32)
              .ok);
}

TEST_CASE("modes as long as indices allow") {
  const std::uint64_t longest = std::uint64_t{1} << 32;
  const Coo x = make_coo({longest, longest, 2}, {{0xffffffffu, 0xfffffffeu, 1}, {0, 5, 0}}, {2, 3});
  check_exact(reference::ttv(x, make_matrix(2, 1, {10, 100}), 2),
              make_coo({longest, longest}, {{0, 5}, {0xffffffffu, 0xfffffffeu}}, {30, 200}));
  check_exact(reference::contraction(x, make_coo({2, 1}, {{1, 0}}, {4}), "abk,kc->cba"),
              make_coo({1, longest, longest}, {{0, 0xfffffffeu, 0xffffffffu}}, {8}));
}

TEST_CASE("a result does not depend on duplicates being merged where the operation is linear") {
  const Coo twice = make_coo({2, 3}, {{1, 2}, {0, 0}, {1, 2}}, {2, 1, 5});
  check_exact(reference::spmm(twice, make_matrix(3, 1, {1, 1, 10})), make_matrix(2, 1, {1, 70}));
  CHECK_THROWS_AS(reference::ts(twice, 2, "mul"), InputError);
  CHECK_THROWS_AS(reference::tew(twice, twice, "add"), InputError);
}

TEST_CASE("operands that do not fit are refused") {
  const auto factors = random_factors({2, 2, 3}, {2, 2, 2}, 1);
  CHECK_THROWS_AS(reference::tew(kX, kX, "pow"), InputError);
  CHECK_THROWS_AS(reference::tew(kX, random_tensor({2, 2}, 3, 1), "add"), InputError);
  CHECK_THROWS_AS(reference::ts(kX, 0, "div"), InputError);
  CHECK_THROWS_AS(reference::ttv(kX, random_matrix(3, 2, 1), 2), InputError);
  CHECK_THROWS_AS(reference::ttv(kX, random_matrix(2, 1, 1), 2), InputError);
  CHECK_THROWS_AS(reference::ttv(random_tensor({4}, 2, 1), random_matrix(4, 1, 1), 0), InputError);
  CHECK_THROWS_AS(reference::ttm(kX, random_matrix(3, 2, 1), 3), InputError);
  CHECK_THROWS_AS(reference::mttkrp(kX, {}, 0), InputError);
  CHECK_THROWS_AS(reference::mttkrp(kX, random_factors({2, 2, 3}, {2, 3, 2}, 1), 0), InputError);
  CHECK_THROWS_AS(reference::ttm_chain(kX, random_factors({2, 2, 4}, {2, 2, 2}, 1), 0), InputError);
  CHECK_THROWS_AS(reference::spmm(kX, random_matrix(2, 2, 1)), InputError);
  CHECK_THROWS_AS(reference::contraction(kX, kX, "abk,kcd->abcd"), InputError);
}

TEST_CASE("a denominator that is absent or zero is refused by its coordinate") {
  const auto message = [](const Coo& y) {
    try {
      reference::tew(kX, y, "div");
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const Coo absent = make_coo({2, 2, 3}, {{0, 0, 1}, {0, 1, 0}}, {1, 1});
  CHECK(message(absent).find("(2, 2, 3)") != std::string::npos);
  const Coo zero = make_coo({2, 2, 3}, {{0, 0, 1}, {0, 1, 0}, {1, 1, 2}}, {1, 0, 1});
  CHECK(message(zero).find("(1, 2, 1)") != std::string::npos);
}
