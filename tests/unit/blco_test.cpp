// BLCO: order of the linear index, blocks beyond 64 bits, invariants.
#include <doctest/doctest.h>

#include "common/baselines/blco/format.hpp"
#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "tests/support/entries.hpp"

using namespace retensor;
using blco::Blco;
using blco::to_blco;

namespace {

Coo tensor(const Dims& dims, Count nnz) {
  return uniform(dims, nnz, 1, DType::f32);
}

}  // namespace

TEST_CASE("nonzeros follow the interleaved index, the shortest mode's bits lowest") {
  // Lengths 4 and 2: bits from the lowest on are j0, i0, i1.
  Coo x({4, 2}, DType::f32, 4);
  x.indices = {{0, 1, 2, 0}, {0, 0, 0, 1}};
  x.values = std::vector<float>{1, 2, 3, 4};
  const Blco f = to_blco(x);
  CHECK(f.to_coo().indices == std::vector<std::vector<Index>>{{0, 0, 1, 2}, {0, 1, 0, 0}});
  CHECK(f.width == std::vector<int>{2, 1});
  CHECK(f.bytes() == 4 * (8 + 4) + 2 * 8 + 2 * 4);
}

TEST_CASE("bits beyond 64 select blocks") {
  const Coo x = tensor({1u << 24, 1u << 24, 1u << 20}, 500);  // 68 bits
  const Blco f = to_blco(x);
  CHECK(f.blocks() > 8);
  CHECK(f.blocks() <= 16);
  f.check();
  CHECK(test::sorted_entries(f.to_coo()) == test::sorted_entries(x));
  CHECK(to_blco(tensor({40, 7, 90}, 60)).blocks() == 1);
}

TEST_CASE("more than 128 bits are refused, broken formats are found") {
  const Count long_mode = Count{1} << 32;
  CHECK_THROWS_WITH_AS(to_blco(Coo({long_mode, long_mode, long_mode, long_mode, 2}, DType::f32)),
                       doctest::Contains("expected at most 128"), InputError);
  Blco f = to_blco(tensor({40, 7, 90}, 60));
  f.block_start.insert(f.block_start.begin(), 0);
  CHECK_THROWS_WITH_AS(f.check(), "BLCO: block 0 is empty", InputError);
}
