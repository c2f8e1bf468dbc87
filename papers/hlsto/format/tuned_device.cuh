// HLS as hlsto.cuda.tuned takes it: sparse nonzeros and dense tiles in the order of the output's
// rows, tiles as lists of their nonzeros' places. Included by .cu files alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/numeric/tensor_core.hpp"
#include "papers/hlsto/format/hls_device.cuh"

namespace retensor::hlsto {

inline constexpr unsigned kVectorCells = 8;  ///< of 16 bits, which a lane loads at once
inline constexpr unsigned kTileCells = 16 * 16 * 16;
inline constexpr std::uint16_t kSparePlace = kTileCells * 2;  ///< where padding is stored

/// A tile of a list, in tiles.
struct alignas(16) ListedTile {
  std::uint32_t first = 0, vectors = 0;  ///< of its list
  Index slice = 0, row = 0, column = 0;
  Index kept[kMaxFactors - kTiledModes] = {};
};

/// The dense tiles of edge 16 in the order of their places along the output's mode. A nonzero has
/// the byte at which its value goes in a spread tile (`place_of`) and its value as one operand of
/// 16 bits, or as two halves; a tile's list is padded to whole vectors.
struct CellLists {
  device::Buffer<ListedTile> tiles;
  device::Buffer<std::uint16_t> places;
  std::vector<device::Buffer<std::uint16_t>> values;  ///< by part
};

/// Where the cell of X(:, j, :) in row i and column k stands in a tile that is spread out, in
/// elements. A lane has the four registers of both 16 x 8 B operands of m16n8k16, X(i, j, k) at
/// row k and column i mod 8 of operand i / 8, one after the other, slice j after slice j.
__host__ __device__ inline unsigned place_of(unsigned i, unsigned j, unsigned k) {
  const unsigned lane = i % 8 * 4 + k % 8 / 2, reg = i / 8 * 2 + k / 8;
  return ((j * 32 + lane) * 4 + reg) * 2 + k % 2;
}

/// The dense tiles by their places along tiled mode k (0 to 2), else as stored.
device::Buffer<std::uint32_t> tiles_by_place(const DeviceHls& hls, int k);

/// Puts the sparse nonzeros, fewer than 2^32, in the order of their indices along the first of
/// `modes`, then along the next, else as stored.
void sort_sparse(DeviceHls& hls, std::span<const int> modes);

/// The lists of fewer than 2^32 vectors; x tells the roles of the modes, and has the arrays of hls.
CellLists list_cells(const DeviceHls& hls, const DeviceChain& x, Arithmetic arithmetic);

}  // namespace retensor::hlsto
