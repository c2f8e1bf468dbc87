// Groups of fibers: every nonzero comes back, rows of shared memory lie as the kernels ask for, and
// what is refused.
#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "papers/hlsto/format/fiber_groups.hpp"
#include "tests/support/entries.hpp"
#include "tests/support/values.hpp"

using namespace retensor;
using namespace retensor::hlsto;
using namespace retensor::test;

namespace {

/// Values of eleven bits beside small ones, which two halves hold.
Coo some_tensor(const Dims& dims, Count nnz) {
  Coo x = uniform(dims, nnz, 5, DType::f32);
  for (Count p = 0; p < x.nnz(); ++p)
    x.values.set(p, static_cast<double>(p % 2000 + 1) + (p % 3 == 0 ? 0x1p-10 : 0));
  return x;
}

/// The share of eight neighbouring slots whose leaves differ in their remainders by 8.
double without_conflict(const FiberGroups& f) {
  Count free = 0;
  for (Count step = 0; step < f.code.size(); step += kSumSlots)
    for (Count octet = 0; octet < 4; ++octet) {  // by half of a step, then of the half's slots
      std::set<unsigned> banks;
      for (Count s = octet % 2 * 8; s < octet % 2 * 8 + 8; ++s)
        banks.insert(f.code[step + 2 * s + octet / 2] / f.options.row_vectors % 8);
      free += banks.size() == 8;
    }
  return static_cast<double>(free) / (static_cast<double>(f.code.size()) / 8);
}

}  // namespace

TEST_CASE("every nonzero comes back, for all orders, modes, forms and sizes of a segment") {
  const std::vector<Dims> shapes = {
      {30, 40}, {20, 33, 50}, {3, 2000, 2}, {9, 8, 7, 30}, {5, 4, 6, 3, 2}};
  for (const auto& dims : shapes) {
    const Coo x = some_tensor(dims, 500);
    const int order = x.order();
    for (int mode = 0; mode < order; ++mode)
      for (const auto form : {GroupForm::summed, GroupForm::side_by_side})
        for (const Count rows : {Count{7}, Count{2000}}) {
          const int leaf = (mode + 1) % order;
          const auto f =
              to_fiber_groups(x, {.mode = mode, .leaf = leaf, .form = form, .segment_rows = rows});
          CHECK(sorted_entries(f.to_coo()) == sorted_entries(x));
          CHECK(f.segment.size() == (dims[static_cast<std::size_t>(leaf)] + rows - 1) / rows + 1);
        }
  }
}

TEST_CASE("rows of the table whose remainders by 8 differ lie in different banks") {
  for (const unsigned vectors : {2u, 4u})
    for (std::uint32_t first = 0; first < 40; ++first)
      for (std::uint32_t v = 0; v < vectors; ++v) {
        std::set<std::uint32_t> banks;
        for (std::uint32_t row = first; row < first + 8; ++row)
          banks.insert((table_code(row, vectors) ^ v) % 8);
        CHECK(banks.size() == 8);
      }
}

TEST_CASE("leaves of neighbouring slots lie in different banks where fibers are long") {
  const Coo x = some_tensor({4, 6, 400}, 4000);
  const auto f = to_fiber_groups(x, {.mode = 0, .leaf = 2, .segment_rows = 400});
  CHECK(without_conflict(f) > 0.85);
}

TEST_CASE("a group has fibers of one row, and long fibers are cut") {
  const Coo x = some_tensor({2, 1, 5000}, 6000);
  const auto f = to_fiber_groups(x, {.mode = 0, .leaf = 2, .segment_rows = 5000});
  REQUIRE(f.groups() == 2);
  CHECK(f.upper.size() == 2 * kSumFibers);
  const auto longest = to_fiber_groups(
      x, {.mode = 0, .leaf = 2, .form = GroupForm::side_by_side, .segment_rows = 5000});
  for (Count g = 0; g < longest.groups(); ++g)
    CHECK(longest.first[g + 1] - longest.first[g] <= kLongestFiber / 4);
}

TEST_CASE("the leaves' mode is that of the fewest fibers") {
  // Ten nonzeros along mode 2, three along mode 0.
  Entries entries;
  for (Index k = 0; k < 10; ++k) entries[{0, 0, k}] = 1;
  for (Index i = 1; i < 3; ++i) entries[{i, 0, 0}] = 1;
  CHECK(longest_fibers(tensor_of({3, 2, 10}, entries)) == std::vector<int>{2, 2, 0});
}

TEST_CASE("what is refused says what was found") {
  const Coo x = some_tensor({5, 5, 5}, 20);
  CHECK_THROWS_AS(to_fiber_groups(x, {.mode = 1, .leaf = 1}), InputError);
  CHECK_THROWS_AS(to_fiber_groups(x, {.mode = 0, .leaf = 1, .segment_rows = 0}), InputError);
  CHECK_THROWS_AS(to_fiber_groups(uniform({9}, 3, 1, DType::f32), {.mode = 0, .leaf = 0}),
                  InputError);
  CHECK_THROWS_AS(to_fiber_groups(uniform({5, 5}, 3, 1, DType::f64), {}), InputError);
}
