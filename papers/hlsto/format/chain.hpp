// One product of the paper's two: which mode is the output's, and what the others are in a tile.
#pragma once

#include <cstdint>
#include <vector>

#include "common/method/problem.hpp"
#include "common/numeric/tensor_core.hpp"
#include "common/tensor/matrix.hpp"
#include "papers/hlsto/format/hls.hpp"

namespace retensor::hlsto {

/// MTTKRP or TTM-chain of one mode: factors by mode (the output's is not read), and how far apart
/// in a row of the result neighbours of one factor's columns stand. In MTTKRP all factors share the
/// columns.
struct Chain {
  explicit Chain(const Problem& problem);
  std::uint64_t columns(int m) const { return factor[at(m)].cols; }

  int mode = 0;
  bool kronecker = false;  ///< TTM-chain
  std::vector<MatrixView<const float>> factor;
  std::vector<std::uint64_t> stride;
  std::uint64_t width = 0;  ///< columns of the result
};

/// Places 0 to 2 among the tiled modes: a tile is taken slice by slice, X_i of rows and columns.
struct Roles {
  int slice = 0, row = 1, column = 2;
  int kept_output = -1;  ///< the output's place among the kept modes, -1 where it is tiled
};
Roles roles_of(const Grid& grid, int mode);

/// MMAs of 16 x 16 x 16 over all dense tiles, those of empty slices too, as the algorithm has them.
Count mma_count(const HlsShape& hls, const Chain& chain, Arithmetic arithmetic);

}  // namespace retensor::hlsto
