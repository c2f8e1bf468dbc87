// Fibers of a mode; see fibers.hpp.
#include "papers/pasta/format/fibers.hpp"

#include <utility>

#include "common/tensor/operations.hpp"

namespace retensor::pasta {

Count FiberArrays::bytes() const {
  return start.size() * sizeof(Count) + index.size() * sizeof(Index) + value.bytes() +
         coordinates.size() * fibers() * sizeof(Index);
}

FiberArrays fiber_arrays(const Coo& x, int mode) {
  FiberArrays f;
  Coo sorted = x;
  const auto modes = fiber_order(x.order(), mode);
  f.was_sorted = is_sorted(sorted, modes);
  if (!f.was_sorted) sort_nonzeros(sorted, modes);
  f.start = fiber_starts(sorted, mode);
  f.coordinates = fiber_coordinates(sorted, mode, f.start);
  f.index = std::move(sorted.indices[static_cast<std::size_t>(mode)]);
  f.value = std::move(sorted.values);
  return f;
}

std::vector<Count> hicoo_fiber_starts(const Hicoo& x) {
  std::vector<Count> start;
  for (Count b = 0; b < x.blocks(); ++b)
    for (Count p = x.block_start[b]; p < x.block_start[b + 1]; ++p) {
      bool fresh = p == x.block_start[b];
      for (std::size_t k = 0; k < x.element.size() && !fresh; ++k)
        fresh = x.element[k][p] != x.element[k][p - 1];
      if (fresh) start.push_back(p);
    }
  start.push_back(x.entries());
  return start;
}

FiberArrays hicoo_fiber_arrays(const Hicoo& x) {
  FiberArrays f;
  f.start = hicoo_fiber_starts(x);
  f.coordinates = fiber_coordinates(x.to_coo(), x.plain[0], f.start);
  f.index = x.plain_index[0];
  f.value = x.values;
  return f;
}

FiberCoordinates fiber_coordinates(const Coo& x, int mode, const std::vector<Count>& start) {
  FiberCoordinates coordinates;
  for (int m = 0; m < x.order(); ++m) {
    if (m == mode) continue;
    const auto& from = x.indices[static_cast<std::size_t>(m)];
    auto& to = coordinates.emplace_back(start.size() - 1);
    for (std::size_t f = 0; f < to.size(); ++f) to[f] = from[start[f]];
  }
  return coordinates;
}

std::vector<std::uint8_t> fiber_ends(const std::vector<Count>& start) {
  std::vector<std::uint8_t> last(start.back());
  for (std::size_t f = 1; f < start.size(); ++f) last[start[f] - 1] = 1;
  return last;
}

Coo ttv_result(Dims dims, int mode, FiberCoordinates fibers, Values values) {
  dims.erase(dims.begin() + mode);
  Coo y;
  y.dims = std::move(dims);
  y.indices = std::move(fibers);
  y.values = std::move(values);
  return y;
}

SemiSparseCoo ttm_result(Dims dims, int mode, std::uint64_t rank, FiberCoordinates fibers,
                         Values values) {
  dims[static_cast<std::size_t>(mode)] = rank;
  // A vector has one fiber even without nonzeros: its result is one dense block.
  if (fibers.empty() && values.size() == 0) values = Values(values.dtype(), rank);
  return {std::move(dims), {mode}, std::move(fibers), std::move(values)};
}

}  // namespace retensor::pasta
