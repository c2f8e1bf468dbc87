#include "papers/hlsto/format/chain.hpp"

#include <algorithm>

namespace retensor::hlsto {
namespace {

std::size_t at(int k) {
  return static_cast<std::size_t>(k);
}

constexpr Count kEdge = 16;  // of a fragment
Count fragments(Count n) {
  return (n + kEdge - 1) / kEdge;
}

}  // namespace

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
  for (const auto& matrix : problem.dense()) {
    factor.push_back(matrix.view<float>());
    columns.push_back(matrix.cols());
  }
}

Roles roles_of(const Grid& grid, int mode) {
  Roles roles;
  const auto place = std::ranges::find(grid.tiled(), mode);
  if (place == grid.tiled().end()) {
    roles.kept_output =
        static_cast<int>(std::ranges::find(grid.kept(), mode) - grid.kept().begin());
    return roles;
  }
  roles.slice = static_cast<int>(place - grid.tiled().begin());
  roles.row = roles.slice == 0 ? 1 : 0;
  roles.column = roles.slice == 2 ? 1 : 2;
  return roles;
}

Count mma_count(const HlsShape& hls, const Chain& chain, Arithmetic arithmetic) {
  const auto roles = roles_of(hls.grid, chain.mode);
  const auto columns = [&](int place) {
    return fragments(chain.columns[at(hls.grid.tiled()[at(place)])]);
  };
  const Count blocks =
      chain.kronecker ? columns(roles.row) * columns(roles.column) : fragments(chain.width);
  const Count along = fragments(hls.grid.edge());
  return hls.dense_tiles() * hls.grid.edge() * blocks * along * (along + 1) *
         static_cast<Count>(products_of(arithmetic));
}

}  // namespace retensor::hlsto
