// BLCO: blocked linearised coordinates (Nguyen et al., "Efficient, out-of-memory sparse MTTKRP on
// massively parallel architectures", ICS 2022), one copy of the tensor for all modes.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/method/method_spec.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::blco {

/// Nonzeros in the order of a linear index that interleaves the bits of all coordinates, the
/// shortest mode's lowest; each stored as 64 bits with one contiguous field per mode. Bits of the
/// linear index beyond 64 select a block, which holds them once for its nonzeros.
struct Blco {
  Dims dims;
  std::vector<int> width, shift;   ///< field of each mode in a key
  std::vector<std::uint64_t> key;  ///< one per nonzero
  Values values;
  std::vector<Count> block_start;        ///< blocks + 1 entries
  std::vector<std::vector<Index>> base;  ///< [mode][block], added to a decoded field

  int order() const { return static_cast<int>(dims.size()); }
  Count nnz() const { return key.size(); }
  Count blocks() const { return block_start.size() - 1; }
  /// 8 bytes a key, the values, and per block its start and bases.
  Count bytes() const;
  Coo to_coo() const;
  /// Throws InputError naming the first block or nonzero that breaks an invariant.
  void check() const;
};

/// A mode's bits of a key.
constexpr Index field(std::uint64_t key, int width, int shift) {
  return width == 0 ? 0 : static_cast<Index>(key >> shift & ((std::uint64_t{1} << width) - 1));
}

/// Bits of the linear index and a nonzero's position, which are sorted as one number of at most
/// 128.
int sorted_bits(const Coo& tensor);

/// Throws InputError where sorted_bits passes 128.
Blco to_blco(const Coo& tensor);

/// Of a run on the device; parameter `copies`.
Prepare prepare_cuda;

}  // namespace retensor::blco
