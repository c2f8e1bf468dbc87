#include "papers/bcb_sptc/format/room.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <string>

#include "common/core/error.hpp"

namespace retensor::bcb_sptc {

Room::Room(double gib, Free free) : most_(gib * 0x1p30), free_(free) {}

void Room::require(std::string_view what, Count count, Count bytes) const {
  const double there = most_ > 0 ? most_ : static_cast<double>(free_());
  const double needed = static_cast<double>(count) * static_cast<double>(bytes);
  if (needed > there)
    throw OutOfMemory(fmt::format("{}: {} of {} bytes take {:.3g} GiB, found room for {:.3g} GiB",
                                  what, count, bytes, needed * 0x1p-30, there * 0x1p-30));
}

Count free_host_memory() {
  std::ifstream facts("/proc/meminfo");
  Count kib = 0;
  for (std::string name; facts >> name;) {
    if (name == "MemAvailable:" && facts >> kib) return kib * 1024;
    facts.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<Count>::max();
}

Room host_room(double gib) {
  return {gib, free_host_memory};
}

}  // namespace retensor::bcb_sptc
