// What a contraction's sizes are before it has nonzeros on a device.
#include <limits>

#include "common/tensor/linear_index.hpp"
#include "papers/bcb_sptc/format/grouped.hpp"

namespace retensor::bcb_sptc {

Count result_cells(const Contraction& modes, const Dims& x, const Dims& y) {
  constexpr Count most = std::numeric_limits<Count>::max();
  Count cells = 1;
  for (const Count length : modes.result_dims(x, y)) {
    if (length != 0 && cells > most / length) return most;
    cells *= length;
  }
  return cells;
}

int bits_of_contracted(const Contraction& modes, const Dims& x) {
  int bits = 0;
  for (const int mode : modes.contracted_x) bits += bits_for(x[static_cast<std::size_t>(mode)]);
  return bits;
}

}  // namespace retensor::bcb_sptc
