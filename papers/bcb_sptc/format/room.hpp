// Memory for the lists and the result of a contraction. Each size is known exactly before its array
// is made (pairs, tasks, result blocks, entries), so what does not fit is refused with its size
// instead of tried.
#pragma once

#include <string_view>

#include "common/core/types.hpp"

namespace retensor::bcb_sptc {

class Room {
 public:
  using Free = Count (*)();
  /// gib: the most that a list or the result may take, in units of 2^30 bytes; 0: what `free` tells
  /// at the time of asking.
  Room(double gib, Free free);

  /// Throws OutOfMemory that names the size where `count` elements of `bytes` each do not fit.
  void require(std::string_view what, Count count, Count bytes) const;

 private:
  double most_;
  Free free_;
};

/// Bytes that the host can give without swapping, MemAvailable of Linux; the most there can be
/// where it is not told.
Count free_host_memory();
/// The room of a host.
Room host_room(double gib);

}  // namespace retensor::bcb_sptc
