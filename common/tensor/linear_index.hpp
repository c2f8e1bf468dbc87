// Bit-packed linear index: the coordinates of all modes side by side in 64 or 128 bits.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/core/types.hpp"

namespace retensor {

/// Field widths and shifts for a list of modes; the first listed mode takes the highest bits, so
/// that numeric order of keys is lexicographic order of coordinates. Width of a mode of length I is
/// ceil(log2 I) bits (0 for length 1).
class LinearIndex {
 public:
  /// Throws InputError when more than 128 bits are needed.
  LinearIndex(const Dims& dims, std::span<const int> modes);

  int bits() const { return bits_; }
  bool fits64() const { return bits_ <= 64; }
  int width(int listed) const { return width_[static_cast<std::size_t>(listed)]; }
  int shift(int listed) const { return shift_[static_cast<std::size_t>(listed)]; }
  const std::vector<int>& modes() const { return modes_; }

  /// Key is std::uint64_t or Uint128; coordinate[mode] of all modes of the tensor.
  template <class Key>
  Key encode(std::span<const Index> coordinate) const {
    Key key = 0;
    for (std::size_t k = 0; k < modes_.size(); ++k)
      key |= static_cast<Key>(coordinate[static_cast<std::size_t>(modes_[k])]) << shift_[k];
    return key;
  }
  /// The coordinate of listed mode k.
  template <class Key>
  Index decode(Key key, int k) const {
    const auto at = static_cast<std::size_t>(k);
    if (width_[at] == 0) return 0;
    return static_cast<Index>((key >> shift_[at]) & ((Key{1} << width_[at]) - 1));
  }

 private:
  std::vector<int> modes_, width_, shift_;
  int bits_ = 0;
};

/// ceil(log2 n): bits that hold 0 .. n-1.
int bits_for(std::uint64_t n);

}  // namespace retensor
