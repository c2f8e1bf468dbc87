// Layout of bit-packed linear indices.
#include "common/tensor/linear_index.hpp"

#include <bit>

#include "common/core/message.hpp"

namespace retensor {

int bits_for(std::uint64_t n) {
  return n <= 1 ? 0 : static_cast<int>(std::bit_width(n - 1));
}

LinearIndex::LinearIndex(const Dims& dims, std::span<const int> modes)
    : modes_(modes.begin(), modes.end()), width_(modes.size()), shift_(modes.size(), 0) {
  for (std::size_t k = modes_.size(); k-- > 0;) {
    width_[k] = bits_for(dims.at(static_cast<std::size_t>(modes_[k])));
    // A field of width 0 keeps shift 0: shifting by all bits of a key would be undefined.
    if (width_[k] > 0) shift_[k] = bits_;
    bits_ += width_[k];
  }
  if (bits_ > 128) throw input_error("the linear index needs {} bits, more than 128", bits_);
}

}  // namespace retensor
