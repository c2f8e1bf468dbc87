#include "papers/hlsto/format/chain.hpp"

#include <algorithm>

namespace retensor::hlsto {

Chain::Chain(const Problem& problem)
    : mode(problem.mode()), kronecker(problem.operation() == Operation::ttm_chain) {
  const auto order = problem.dense().size();
  stride.assign(order, kronecker ? 0 : 1);
  width = kronecker ? 1 : problem.rank();
  for (std::size_t m = order; m-- > 0;) {
    if (!kronecker || m == at(mode)) continue;
    stride[m] = width;
    width *= problem.dense()[m].cols();
  }
  for (const auto& matrix : problem.dense()) factor.push_back(matrix.view<float>());
}

Roles roles_of(const Grid& grid, int mode) {
  const auto place_in = [&](const auto& modes) {
    return static_cast<int>(std::ranges::find(modes, mode) - modes.begin());
  };
  const int slice = place_in(grid.tiled());
  if (slice == kTiledModes) return {.kept_output = place_in(grid.kept())};
  return {.slice = slice, .row = slice == 0 ? 1 : 0, .column = slice == 2 ? 1 : 2};
}

Count mma_count(const HlsShape& hls, const Chain& chain, Arithmetic arithmetic) {
  const auto fragments = [](Count n) { return (n + kFragmentEdge - 1) / kFragmentEdge; };
  const auto roles = roles_of(hls.grid, chain.mode);
  const auto columns = [&](int place) {
    return fragments(chain.columns(hls.grid.tiled()[at(place)]));
  };
  const Count blocks =
      chain.kronecker ? columns(roles.row) * columns(roles.column) : fragments(chain.width);
  const Count along = fragments(hls.grid.edge());
  return hls.dense_tiles * hls.grid.edge() * blocks * along * (along + 1) *
         static_cast<Count>(products_of(arithmetic));
}

}  // namespace retensor::hlsto
