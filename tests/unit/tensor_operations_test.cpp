// Sorting, permuting, matricising, merging duplicates and finding fibers.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/operations.hpp"
#include "common/tensor/positions.hpp"

using namespace retensor;

namespace {

// Random coordinates with many repeats; value x + 1 identifies the nonzero.
Coo random_tensor(const Dims& dims, Count nnz, DType type = DType::f64) {
  Coo t(dims, type, nnz);
  for (std::size_t m = 0; m < dims.size(); ++m) {
    const CounterRng rng(11, m);
    for (Count x = 0; x < nnz; ++x) t.indices[m][x] = static_cast<Index>(rng.below(x, dims[m]));
  }
  for (Count x = 0; x < nnz; ++x) t.values.set(x, static_cast<double>(x) + 1);
  return t;
}

std::vector<Index> coordinate(const Coo& t, std::span<const int> modes, Count x) {
  std::vector<Index> c;
  for (const int m : modes) c.push_back(t.indices[static_cast<std::size_t>(m)][x]);
  return c;
}

std::vector<Count> expected_permutation(const Coo& t, std::span<const int> modes) {
  std::vector<Count> p(t.nnz());
  for (Count x = 0; x < p.size(); ++x) p[x] = x;
  std::stable_sort(p.begin(), p.end(), [&](Count a, Count b) {
    return coordinate(t, modes, a) < coordinate(t, modes, b);
  });
  return p;
}

}  // namespace

TEST_CASE("orders of modes") {
  CHECK(natural_order(3) == std::vector<int>{0, 1, 2});
  CHECK(fiber_order(4, 1) == std::vector<int>{0, 2, 3, 1});
  CHECK(fiber_order(1, 0) == std::vector<int>{0});
  CHECK_THROWS_AS(fiber_order(3, 3), InputError);
}

TEST_CASE("sorting is lexicographic and stable for keys of 64, 128 and more bits") {
  const std::uint64_t wide = 1ULL << 32;
  const std::vector<Dims> shapes{{7},
                                 {5, 6, 7},
                                 {5, 1, 6, 1},
                                 {wide, wide},
                                 {wide, 3, wide, 5},
                                 Dims(8, 3),
                                 {3, wide, 2, wide, wide, 4, wide, wide}};
  for (const Dims& dims : shapes) {
    Coo t = random_tensor(dims, 3000);
    for (auto& mode : t.indices)  // few distinct values, the largest index among them
      for (auto& i : mode)
        if (i > 1000) i = ~(i & 1);
    for (int last = 0; last < t.order(); ++last) {
      const std::vector<int> modes = fiber_order(t.order(), last);
      CHECK(sort_permutation(t, modes) == expected_permutation(t, modes));
      Coo sorted = t;
      sort_nonzeros(sorted, modes);
      CHECK(is_sorted(sorted, modes));
      CHECK_FALSE(is_sorted(t, modes));
    }
  }
}

TEST_CASE("sorting by some of the modes leaves the others in input order") {
  const Coo t = random_tensor({4, 5, 6}, 500);
  const std::vector<int> one{1};
  CHECK(sort_permutation(t, one) == expected_permutation(t, one));
  const std::vector<int> none;
  CHECK(sort_permutation(t, none) == expected_permutation(t, none));
  CHECK(is_sorted(t, none));
}

TEST_CASE("sorting moves values with coordinates in both types, also for 0 and 1 nonzeros") {
  for (const DType type : {DType::f32, DType::f64}) {
    const Coo t = random_tensor({9, 9}, 100, type);
    Coo sorted = t;
    sort_nonzeros(sorted, fiber_order(2, 0));
    for (Count p = 0; p < sorted.nnz(); ++p) {
      const auto x = static_cast<Count>(sorted.values.at(p)) - 1;
      CHECK(coordinate_text(sorted, p) == coordinate_text(t, x));
    }
    for (const Count n : {0, 1}) {
      Coo tiny = random_tensor({9, 9}, n, type);
      sort_nonzeros(tiny, natural_order(2));
      CHECK(tiny.nnz() == n);
      CHECK(is_sorted(tiny, natural_order(2)));
    }
  }
}

TEST_CASE("sorting refuses repeated and unknown modes and a permutation of another length") {
  Coo t = random_tensor({3, 3}, 4);
  CHECK_THROWS_AS(sort_nonzeros(t, std::vector<int>{0, 0}), InputError);
  CHECK_THROWS_AS(sort_nonzeros(t, std::vector<int>{2}), InputError);
  CHECK_THROWS_AS(is_sorted(t, std::vector<int>{-1}), InputError);
  CHECK_THROWS_AS(apply_permutation(t, std::vector<Count>{0, 1}), InputError);
}

TEST_CASE("different coordinates are counted for keys of 64, 128 and more bits") {
  for (const int width : {4, 20, 32}) {  // 7 modes take 28, 140 and 224 bits, 4 modes 16, 80, 128
    Coo t = random_tensor(Dims(8, 4), 3000);
    t.dims.assign(8, std::uint64_t{1} << width);
    // The values of an index differ in the highest bit and, by tiles of edge 2, in the lowest.
    for (auto& mode : t.indices)
      for (auto& index : mode) index = (index >> 1) << (width - 1) | (index & 1U);
    for (const auto& modes : {std::vector{0, 1, 2, 3}, std::vector{0, 1, 2, 3, 4, 5, 6}}) {
      CAPTURE(width);
      CAPTURE(modes.size());
      std::set<std::vector<Index>> whole, tiles;
      for (Count x = 0; x < t.nnz(); ++x) {
        auto c = coordinate(t, modes, x);
        whole.insert(c);
        for (auto& index : c) index >>= 1;
        tiles.insert(c);
      }
      CHECK(distinct_coordinates(t, modes) == whole.size());
      CHECK(distinct_coordinates(t, modes, 1) == tiles.size());
    }
    CHECK(fiber_count(t, 7) == distinct_coordinates(t, std::vector{6, 5, 4, 3, 2, 1, 0}));
  }
  CHECK(distinct_coordinates(random_tensor({3, 3}, 5), std::vector<int>{}) == 1);
  CHECK(fiber_count(Coo({2, 2}, DType::f32), 0) == 0);
}

TEST_CASE("packed coordinates ascend and are refused beyond 128 bits") {
  const Coo t = random_tensor({5, 1, 9}, 500);
  const auto keys = sorted_keys(t, std::vector{2, 0, 1});
  CHECK(std::is_sorted(keys.begin(), keys.end()));
  std::vector<Uint128> expected;
  for (Count x = 0; x < t.nnz(); ++x) expected.push_back(t.indices[2][x] << 3 | t.indices[0][x]);
  std::sort(expected.begin(), expected.end());
  CHECK((keys == expected));
  const Coo wide(Dims(5, std::uint64_t{1} << 32), DType::f32, 1);
  CHECK_THROWS_AS(sorted_keys(wide, natural_order(5)), InputError);
}

TEST_CASE("duplicates are refused, summed or overwritten") {
  Coo t({3, 4}, DType::f32, 6);
  t.indices = {{2, 0, 2, 1, 2, 0}, {3, 1, 3, 0, 3, 0}};
  for (Count x = 0; x < 6; ++x) t.values.set(x, static_cast<double>(x) + 1);

  Coo summed = t;
  dedupe(summed, Duplicates::sum);
  CHECK(summed.indices[0] == std::vector<Index>{0, 0, 1, 2});
  CHECK(summed.indices[1] == std::vector<Index>{0, 1, 0, 3});
  CHECK(summed.values.at(3) == 1 + 3 + 5);

  Coo last = t;
  dedupe(last, Duplicates::last);
  CHECK(last.values.at(3) == 5);
  CHECK(last.nnz() == 4);

  CHECK_THROWS_WITH_AS(dedupe(t, Duplicates::error), "duplicate coordinate (3, 4)", InputError);
  dedupe(summed, Duplicates::error);
  CHECK(summed.nnz() == 4);
  Coo empty({2, 2}, DType::f64);
  dedupe(empty, Duplicates::error);
  CHECK(empty.nnz() == 0);
}

TEST_CASE("merging many duplicates agrees with a map") {
  const Coo t = random_tensor({6, 7, 8}, 5000);
  std::map<std::vector<Index>, double> sums;
  for (Count x = 0; x < t.nnz(); ++x) sums[coordinate(t, natural_order(3), x)] += t.values.at(x);
  Coo merged = t;
  dedupe(merged, Duplicates::sum);
  CHECK(merged.nnz() == sums.size());
  Count x = 0;
  for (const auto& [where, sum] : sums) {
    CHECK(coordinate(merged, natural_order(3), x) == where);
    CHECK(merged.values.at(x++) == sum);
  }
}

TEST_CASE("fiber starts bound the runs that agree in all other modes") {
  Coo t({2, 3, 4}, DType::f32, 5);
  t.indices = {{0, 0, 0, 1, 1}, {1, 1, 2, 0, 0}, {0, 3, 3, 2, 3}};
  CHECK(fiber_starts(t, 2) == std::vector<Count>{0, 2, 3, 5});
  CHECK_THROWS_AS(fiber_starts(t, 0), InputError);
  CHECK(fiber_starts(Coo({2, 3}, DType::f32), 1) == std::vector<Count>{0});
  Coo vector({9}, DType::f32, 3);
  vector.indices = {{1, 4, 8}};
  CHECK(fiber_starts(vector, 0) == std::vector<Count>{0, 3});

  Coo big = random_tensor({5, 6, 7}, 20000);
  for (int mode = 0; mode < 3; ++mode) {
    dedupe(big, Duplicates::sum);
    sort_nonzeros(big, fiber_order(3, mode));
    const auto starts = fiber_starts(big, mode);
    const std::size_t others = 210 / big.dims[static_cast<std::size_t>(mode)];
    CHECK(starts.size() == others + 1);  // the tensor is dense
  }
}

TEST_CASE("positions are selected in order, however many threads share them") {
  const CounterRng rng(5);
  for (const Count n : {0, 1, 3, 1000}) {
    std::vector<Count> expected;
    for (Count p = 0; p < n; ++p)
      if (rng.bits(p) % 3 == 0) expected.push_back(p);
    CHECK(positions_where(n, [&](Count p) { return rng.bits(p) % 3 == 0; }) == expected);
    CHECK(positions_where(n, [](Count) { return true; }).size() == n);
    CHECK(positions_where(n, [](Count) { return false; }).empty());
  }
}
