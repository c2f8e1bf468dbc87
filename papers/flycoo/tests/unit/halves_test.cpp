// Halves of a tensor's modes: which are chosen, what the tuples and the nonzeros by tuple are.
#include <doctest/doctest.h>

#include <vector>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "papers/flycoo/format/halves.hpp"
#include "tests/support/entries.hpp"

using namespace retensor;
using namespace retensor::flycoo;
using namespace retensor::test;

namespace {

/// The tensor again, from the nonzeros of a half and the indices of its tuples.
Coo joined(const Half& half, const std::vector<int>& others, const Dims& dims) {
  Coo x(dims, half.nonzeros.dtype(), half.nonzeros.nnz());
  x.values = half.nonzeros.values;
  for (Count p = 0; p < x.nnz(); ++p) {
    const Index tuple = half.nonzeros.indices[0][p];
    for (std::size_t k = 0; k < half.modes.size(); ++k)
      x.indices[static_cast<std::size_t>(half.modes[k])][p] = half.tuples.indices[k][tuple];
    for (std::size_t k = 0; k < others.size(); ++k)
      x.indices[static_cast<std::size_t>(others[k])][p] = half.nonzeros.indices[k + 1][p];
  }
  return x;
}

}  // namespace

TEST_CASE("the halves with the fewest tuples are chosen") {
  CHECK(first_half({183, 24, 1140, 1717}, 3'309'490) == std::vector<int>{0, 2});
  CHECK(first_half({2, 3, 1000, 1000}, 1'000'000) == std::vector<int>{0, 2});
  CHECK(first_half({9, 9, 9, 9}, 100) == std::vector<int>{0, 1});
  CHECK(first_half({10, 10, 10, 4000, 5000}, 10'000'000) == std::vector<int>{0, 1, 3});
  CHECK_THROWS_AS(first_half({4, 4, 4}, 10), InputError);
}

TEST_CASE("the nonzeros of a half with the indices of its tuples are the tensor") {
  for (const Dims& dims : {Dims{6, 5, 7, 8}, Dims{4, 3, 5, 2, 6}, Dims{4, 3, 2, 3, 2, 5}}) {
    const Coo x = uniform(dims, 200, 7, DType::f32);
    const auto halves = to_halves(x);
    for (const std::size_t h : {0, 1}) {
      const Half& half = halves[h];
      half.nonzeros.check(), half.tuples.check();
      CHECK(sorted_entries(joined(half, halves[1 - h].modes, dims)) == sorted_entries(x));
      const Coo& tuples = half.tuples;
      CHECK(tuples.dims.back() == tuples.nnz());
      for (Count t = 0; t < tuples.nnz(); ++t) {
        CHECK((tuples.indices.back()[t] == t && tuples.values.at(t) == 1));
        if (t == 0) continue;
        std::vector<Index> before, now;
        for (std::size_t k = 0; k < half.modes.size(); ++k)
          before.push_back(tuples.indices[k][t - 1]), now.push_back(tuples.indices[k][t]);
        CHECK(before < now);
      }
    }
  }
}
