// HiCOO family: the paper's worked example (PASTA Fig. 1 and 2), round trips, invariants.
#include <doctest/doctest.h>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/formats/hicoo.hpp"
#include "common/tensor/operations.hpp"
#include "tests/support/entries.hpp"

using namespace retensor;
using Indices = std::vector<Index>;
using Bytes = std::vector<std::uint8_t>;
using Starts = std::vector<Count>;

namespace {

// Fig. 1a: 4 x 4 x 3 with 8 nonzeros, values 1 to 8.
Coo example() {
  Coo x({4, 4, 3}, DType::f32, 8);
  x.indices = {{0, 0, 1, 1, 2, 2, 3, 3}, {0, 1, 0, 0, 1, 2, 0, 3}, {0, 0, 0, 2, 0, 2, 1, 2}};
  x.values = std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8};
  return x;
}

void check_same(const Coo& a, const Coo& b) {
  CHECK(a.dims == b.dims);
  CHECK(test::sorted_entries(a) == test::sorted_entries(b));
}

Coo random_tensor(const Dims& dims, Count nnz, DType type) {
  Coo x(dims, type, nnz);
  for (std::size_t m = 0; m < dims.size(); ++m)
    for (Count p = 0; p < nnz; ++p)
      x.indices[m][p] = static_cast<Index>(CounterRng(5, m).below(p, dims[m]));
  for (Count p = 0; p < nnz; ++p) x.values.set(p, static_cast<double>(p % 97) + 1);
  dedupe(x, Duplicates::last);
  return x;
}

}  // namespace

TEST_CASE("HiCOO of the paper's example (Fig. 2a)") {
  const Hicoo h = to_hicoo(example(), {.block_bits = 1, .plain = {}});
  h.check();
  CHECK(h.block_start == Starts{0, 3, 4, 6, 8});
  CHECK(h.block_index == std::vector<Indices>{{0, 0, 1, 1}, {0, 0, 0, 1}, {0, 1, 0, 1}});
  CHECK(h.element[0] == Bytes{0, 0, 1, 1, 0, 1, 0, 1});
  CHECK(h.element[1] == Bytes{0, 1, 0, 0, 1, 0, 0, 1});
  CHECK(h.element[2] == Bytes{0, 0, 0, 0, 0, 1, 0, 0});
  check_same(h.to_coo(), example());
}

TEST_CASE("gHiCOO with the third mode plain (Fig. 2b)") {
  const Hicoo h = to_hicoo(example(), {.block_bits = 1, .plain = {2}});
  h.check();
  CHECK(h.block_start == Starts{0, 4, 6, 8});
  CHECK(h.block_index == std::vector<Indices>{{0, 1, 1}, {0, 0, 1}});
  CHECK(h.element[0] == Bytes{0, 0, 1, 1, 0, 1, 0, 1});
  CHECK(h.element[1] == Bytes{0, 1, 0, 0, 1, 0, 0, 1});
  CHECK(h.plain_index[0] == Indices{0, 0, 0, 2, 0, 1, 2, 2});
  check_same(h.to_coo(), example());
}

TEST_CASE("sHiCOO of the semi-sparse example (Fig. 1b and 2c)") {
  SemiSparseCoo s;
  s.dims = {4, 4, 3};
  s.dense_modes = {2};
  s.indices = {{0, 0, 1, 2, 2, 3, 3}, {0, 1, 0, 1, 2, 0, 3}};
  std::vector<float> values(21);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  s.values = values;
  const Hicoo h = to_hicoo(s, 1);
  h.check();
  CHECK(h.block_start == Starts{0, 3, 5, 7});
  CHECK(h.element[0] == Bytes{0, 0, 1, 0, 1, 0, 1});
  CHECK(h.element[1] == Bytes{0, 1, 0, 1, 0, 0, 1});
  CHECK(h.values.at(12) == 16);  // entry (3, 0): its block of three values was the sixth
  check_same(h.to_coo(), s.to_coo());
}

TEST_CASE("storage is 7 M + 20 n_b bytes for third order in single precision (Table I)") {
  const Hicoo h = to_hicoo(example(), {.block_bits = 1, .plain = {}});
  CHECK(h.bytes() == 7 * 8 + 20 * 4 + 8);  // and the closing entry of bptr
}

TEST_CASE(
    "round trips for orders 1 to 8, all block edges, any plain modes, codes beyond 128 bits") {
  for (int order = 1; order <= kMaxOrder; ++order) {
    const Dims dims(static_cast<std::size_t>(order), 4294967295ULL / (1ULL << order));
    const Coo x = random_tensor(dims, 300, order % 2 == 0 ? DType::f32 : DType::f64);
    for (const int bits : {0, 1, 7, 8}) {
      const Hicoo all = to_hicoo(x, {.block_bits = bits, .plain = {}});
      all.check();
      check_same(all.to_coo(), x);
      const Hicoo mixed = to_hicoo(x, {.block_bits = bits, .plain = {order - 1}});
      mixed.check();
      check_same(mixed.to_coo(), x);
    }
  }
}

TEST_CASE("blocks out of order are found, options out of range are refused") {
  Hicoo h = to_hicoo(random_tensor({40, 30, 20}, 200, DType::f32), {.block_bits = 3, .plain = {}});
  std::swap(h.block_index[0].front(), h.block_index[0].back());
  CHECK_THROWS_WITH_AS(h.check(), doctest::Contains("Morton order"), InputError);
  CHECK_THROWS_AS(to_hicoo(example(), {.block_bits = 9, .plain = {}}), InputError);
  CHECK_THROWS_AS(to_hicoo(example(), {.block_bits = 7, .plain = {3}}), InputError);
}
