#include <doctest/doctest.h>

#include "common/core/error.hpp"
#include "common/reference/expected.hpp"
#include "common/tensor/einsum.hpp"

using namespace retensor;

TEST_CASE("modes are sorted into contracted and free ones, the result in the written order") {
  const Contraction c("abk,kcb->ca", {2, 3, 4}, {4, 5, 3});
  CHECK(c.contracted_x == std::vector<int>{1, 2});
  CHECK(c.contracted_y == std::vector<int>{2, 0});
  CHECK(c.free_x == std::vector<int>{0});
  CHECK(c.free_y == std::vector<int>{1});
  REQUIRE(c.result.size() == 2);
  CHECK_FALSE(c.result[0].from_x);
  CHECK(c.result[0].mode == 1);
  CHECK(c.result[1].from_x);
  CHECK(c.result[1].mode == 0);
  CHECK(c.result_dims({2, 3, 4}, {4, 5, 3}) == Dims{5, 2});
}

TEST_CASE("a contraction is what three loops over the letters add up to") {
  constexpr Index kA = 2, kB = 3, kC = 4;
  Coo x({kA, kB}, DType::f64, kA * kB), y({kC, kB}, DType::f64, kC * kB);
  Coo sums({kC, kA}, DType::f64, kC * kA);
  const auto at = [](Coo& tensor, Index i, Index j, double value) {
    const Count p = i * tensor.dims[1] + j;
    tensor.indices[0][p] = i;
    tensor.indices[1][p] = j;
    tensor.values.set(p, value);
  };
  const auto of_x = [](Index a, Index b) { return 1.0 + 10 * a + b; };
  const auto of_y = [](Index c, Index b) { return 2.0 - 3 * c + 7 * b; };
  for (Index b = 0; b < kB; ++b) {
    for (Index a = 0; a < kA; ++a) at(x, a, b, of_x(a, b));
    for (Index c = 0; c < kC; ++c) at(y, c, b, of_y(c, b));
  }
  for (Index c = 0; c < kC; ++c)
    for (Index a = 0; a < kA; ++a) {
      double sum = 0;
      for (Index b = 0; b < kB; ++b) sum += of_x(a, b) * of_y(c, b);
      at(sums, c, a, sum);
    }
  const auto exact = reference::Precision::of(DType::f64);
  const auto oracle = reference::contraction(x, y, "ab,cb->ca");
  CHECK(oracle.check(sums, exact).metrics.max_absolute == 0);
  sums.values.set(0, sums.values.at(0) + 1);
  CHECK_FALSE(oracle.check(sums, exact).ok);
}

TEST_CASE("an outer product contracts nothing") {
  const Contraction c("a,b->ab", {2}, {3});
  CHECK(c.contracted_x.empty());
  CHECK(c.result_dims({2}, {3}) == Dims{2, 3});
}

TEST_CASE("what is not a contraction is refused") {
  const Dims two = {3, 3};
  for (const char* wrong : {"", "ab", "ab,bc", "ab->ab,b", "ab,bc->a", "ab,bc->abc", "ab,ab->",
                            "aa,bc->bc", "ab,bc->acc", "ab,bc->az", "aB,Bc->ac", "abc,cd->abd"})
    CHECK_THROWS_AS_MESSAGE(Contraction(wrong, two, two), InputError, wrong);
  CHECK_THROWS_AS(Contraction("ab,bc->ac", {2, 3}, {4, 5}), InputError);
  CHECK_THROWS_AS(Contraction("abcde,fghij->abcdefghij", Dims(5, 2), Dims(5, 2)), InputError);
}
