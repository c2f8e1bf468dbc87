#include <doctest/doctest.h>

#include "common/core/error.hpp"
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
