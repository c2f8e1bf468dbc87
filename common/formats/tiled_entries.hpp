// The different coordinates of a tensor in the order of a grid of tiles, for formats that store a
// tensor tile by tile. Every nonzero becomes one number: its tile, below that its cell, below that
// its position in the input. Sorted, these are the nonzeros in the order of the format, and tile
// and cell tell its indices, so that of a nonzero its value alone is read at random.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/core/message.hpp"
#include "common/core/types.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/linear_index.hpp"
#include "common/tensor/positions.hpp"

namespace retensor {

/// The different coordinates of a tensor by tile, then cell. Key is 64 bits wide or 128. A Grid
/// tells the bits of a cell and of both together, cell_bits() and key_bits(), and where the nonzero
/// of index[mode] lies: key<Key>(index), its tile above its cell.
template <class Key>
class TiledEntries {
 public:
  template <class Grid>
  TiledEntries(const Coo& tensor, const Grid& grid)
      : cell_bits_(grid.cell_bits()),
        position_bits_(bits_for(tensor.nnz())),
        values_(tensor.values.as<float>()),
        keys_(keys_of(tensor, grid)) {
    sort_keys(keys_);
    first_ = positions_where(keys_.size(), [&](Count p) {
      return p == 0 || keys_[p] >> position_bits_ != keys_[p - 1] >> position_bits_;
    });
    first_.push_back(keys_.size());
  }

  Count size() const { return first_.size() - 1; }
  Key tile(Count e) const { return key(e) >> cell_bits_; }
  Index cell(Count e) const { return static_cast<Index>(key(e) & ((Key{1} << cell_bits_) - 1)); }
  /// The sum over a coordinate's nonzeros in the order of the input.
  float value(Count e) const {
    double sum = values_[position(first_[e])];
    for (Count p = first_[e] + 1; p < first_[e + 1]; ++p)
      sum += static_cast<double>(values_[position(p)]);
    return static_cast<float>(sum);
  }
  /// The first entry of each non-empty tile, and the end.
  std::vector<Count> tile_starts() const {
    auto starts =
        positions_where(size(), [&](Count e) { return e == 0 || tile(e) != tile(e - 1); });
    starts.push_back(size());
    return starts;
  }

 private:
  template <class Grid>
  Array<Key> keys_of(const Coo& tensor, const Grid& grid) const {
    Array<Key> keys(tensor.nnz());
    const int order = tensor.order();
#pragma omp parallel for schedule(static)
    for (Count x = 0; x < keys.size(); ++x) {
      std::array<Index, kMaxOrder> index{};
      for (int m = 0; m < order; ++m)
        index[static_cast<std::size_t>(m)] = tensor.indices[static_cast<std::size_t>(m)][x];
      keys[x] = grid.template key<Key>(index) << position_bits_ | x;
    }
    return keys;
  }
  Key key(Count e) const {
    return keys_[first_[e]] >> position_bits_;
  }
  Count position(Count p) const {
    return static_cast<Count>(keys_[p] & ((Key{1} << position_bits_) - 1));
  }

  const int cell_bits_, position_bits_;
  const std::span<const float> values_;
  Array<Key> keys_;
  std::vector<Count> first_;  // key of each different coordinate, and the end
};

/// Calls f with the entries of a tensor in single precision; throws InputError when tile, cell and
/// position take more than 128 bits.
template <class Grid, class F>
decltype(auto) with_tiled_entries(const Coo& tensor, const Grid& grid, F&& f) {
  const int bits = grid.key_bits() + bits_for(tensor.nnz());
  if (bits <= 64) return f(TiledEntries<std::uint64_t>(tensor, grid));
  if (bits <= 128) return f(TiledEntries<Uint128>(tensor, grid));
  throw input_error("tile and cell take {} bits, too many to sort {} nonzeros by", grid.key_bits(),
                    tensor.nnz());
}

}  // namespace retensor
