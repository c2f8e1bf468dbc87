#include "common/machine/room.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/core/error.hpp"
#include "common/machine/machine.hpp"

namespace retensor {

void expect_room_for_factors(const Dims& dims, const Dims& ranks, DType type) {
  constexpr double kCopies = 2;  // of the problem and of the model
  double elements = 0;
  for (std::size_t m = 0; m < std::min(dims.size(), ranks.size()); ++m)
    elements += static_cast<double>(dims[m]) * static_cast<double>(ranks[m]);
  const double bytes = kCopies * elements * static_cast<double>(size_of(type));
  const auto room = static_cast<double>(cpu_facts().memory_bytes);
  constexpr double kGiB = 1 << 30;
  if (room > 0 && bytes > room)
    throw OutOfMemory(
        fmt::format("the factors take {:.1f} GiB or more, this machine has {:.1f} GiB of memory",
                    bytes / kGiB, room / kGiB));
}

}  // namespace retensor
