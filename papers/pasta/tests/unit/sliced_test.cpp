// Fibers as sliced ELLPACK: every nonzero once, slices of similar lengths, long fibers in pieces.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/generate/generators.hpp"
#include "papers/pasta/format/sliced.hpp"

using namespace retensor;
using namespace retensor::pasta;

namespace {

using Cells = std::map<std::pair<Count, Index>, float>;

/// Of a fiber and its index.
Cells cells_of(const FiberArrays& fibers) {
  Cells cells;
  for (Count f = 0; f < fibers.fibers(); ++f)
    for (Count p = fibers.start[f]; p < fibers.start[f + 1]; ++p)
      cells[{f, fibers.index[p]}] = fibers.value.as<float>()[p];
  return cells;
}
Cells cells_of(const SlicedFibers& sliced) {
  Cells cells;
  for (Count s = 0; s < sliced.slices(); ++s)
    for (Count record = sliced.start[s]; record < sliced.start[s + 1]; ++record) {
      const Count piece = (record - sliced.start[s]) % sliced.pieces_of_slice;
      const Index row = sliced.row[s * sliced.pieces_of_slice + piece];
      for (Count z = 0; z < kRecordNonzeros; ++z) {
        if (sliced.values[record][z] == 0) continue;
        REQUIRE(row != kNoRow);
        const auto cell = std::pair{Count{row & ~kSharedRow}, Index{sliced.indices[record][z]}};
        CHECK(cells.emplace(cell, sliced.values[record][z]).second);
      }
    }
  return cells;
}

}  // namespace

TEST_CASE("every nonzero stands once, in the piece of its fiber") {
  const Coo tensor = uniform({40, 30, 500}, 9000, 3, DType::f32);
  for (const int mode : {0, 1, 2}) {
    const FiberArrays fibers = fiber_arrays(tensor, mode);
    for (const unsigned pieces : {4u, 32u}) {
      const SlicedFibers sliced = to_sliced(fibers, pieces);
      CHECK(cells_of(sliced) == cells_of(fibers));
      CHECK(sliced.shared.empty());
      SlicedFibers other = sliced;
      const auto at = std::ranges::find_if(other.values, [](const auto& v) { return v[0] != 0; });
      (*at)[0] += 1;
      CHECK(cells_of(other) != cells_of(fibers));
    }
  }
}

TEST_CASE("long fibers are cut, and slices of equal lengths lose nothing") {
  const Coo tensor = uniform({3, 2000}, 6000, 3, DType::f32);
  const FiberArrays fibers = fiber_arrays(tensor, 1);
  const SlicedFibers sliced = to_sliced(fibers, 8);
  CHECK(cells_of(sliced) == cells_of(fibers));
  CHECK(sliced.shared == std::vector<Count>{0, 1, 2});
  CHECK(std::ranges::count_if(sliced.row, [](Index row) { return row != kNoRow; }) == 24);
  CHECK(sliced.slices() == 3);
  const Coo none({3, 4}, DType::f32);
  CHECK(to_sliced(fiber_arrays(none, 0), 8).slices() == 0);
}
