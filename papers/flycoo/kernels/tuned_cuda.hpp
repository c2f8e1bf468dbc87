// The runs of flycoo.cuda.tuned, flycoo.cuda.copies and flycoo.cuda.wide, and the shape of their
// thread blocks: threads, tile and what both take of an SM's memory.
#pragma once

#include <algorithm>
#include <memory>

#include "common/core/types.hpp"
#include "common/device/device.hpp"
#include "common/method/method.hpp"

namespace retensor::flycoo {

namespace tuned {

/// The methods that the kernel serves.
enum class Variant {
  remapped,  ///< flycoo.cuda.tuned: one copy, remapped in the pass
  copies,    ///< flycoo.cuda.copies: a copy per mode
  wide       ///< flycoo.cuda.wide: the same with eight columns a lane
};

/// Of a block. A thread has kRegisters, which hold two nonzeros in flight without spills up to
/// order 3: 32 warps of them are all that an SM has.
inline constexpr unsigned kMostThreads = 1024;
inline constexpr unsigned kRegisters = 64;
inline constexpr Count kKibi = 1024;

/// Words of a record that registers hold: as loads from anywhere they would cost as much as rows.
inline constexpr unsigned kRegisterWords = 4;

/// Bytes of shared memory in which the groups of `lanes` walkers leave the first and the last row
/// of their stretches: two rows of `sums` bytes a lane, and their indices.
inline constexpr Count bytes_of_ends(unsigned walkers, unsigned lanes, Count sums) {
  const Count bytes = 2 * walkers * sums + Count{2} * (walkers / lanes) * sizeof(Index);
  return (bytes + 15) / 16 * 16;
}

struct Block {
  Count tile = 0;  ///< bytes
  unsigned walkers = 0, senders = 0;
  Count sums = 16;  ///< bytes of the sums that a lane holds

  unsigned threads() const { return walkers + senders; }
  /// Bytes of shared memory, which holds the tile with remapping alone.
  Count shared(bool remap) const { return bytes_of_ends(walkers, 4, sums) + (remap ? tile : 0); }
  /// Of an SM, at least 1.
  unsigned blocks(bool remap, const device::Limits& of) const {
    const Count held = std::min(of.registers_per_sm / kRegisters, of.threads_per_sm);
    const Count fit =
        std::min(of.shared_per_sm / (shared(remap) + of.shared_reserved), held / threads());
    return static_cast<unsigned>(std::max<Count>(fit, 1));
  }
};

/// Percent of an SM's memory, rounded up, that are shared where it holds so many blocks of so many
/// bytes: the L1 cache gets what they leave.
inline int shared_percent(unsigned blocks, Count shared, const device::Limits& of) {
  const Count all = blocks * (shared + of.shared_reserved);
  return static_cast<int>(
      std::min<Count>((100 * all + of.shared_per_sm - 1) / of.shared_per_sm, 100));
}

// A row that is loaded occupies the L1 cache from its request on, so that what shared memory leaves
// of it bounds the bytes in flight. Few rows are found there anyway: shared memory may have it all.
// Measured on an H200, whose SM has room for them; chips with less get smaller tiles.
inline constexpr Block kOneOfSm{132 * kKibi, 896, 128}, kTwoOfSm{96 * kKibi, 416, 96};
inline constexpr Block kCopies{48 * kKibi, 128, 0}, kWide{48 * kKibi, 128, 0, 32};
inline constexpr Count kFewRows = kKibi * kKibi;  // bytes of the factors of all modes

/// The block with a tile that leaves an SM room for `at_once` of it, in whole KiB; none where even
/// its threads have none.
inline Block fitted(Block b, unsigned at_once, const device::Limits& to) {
  const Count room = std::min(to.shared_per_block, to.shared_per_sm / at_once - to.shared_reserved);
  const Count ends = bytes_of_ends(b.walkers, 4, b.sums);
  b.tile = std::min(b.tile, room < ends ? 0 : (room - ends) / kKibi * kKibi);
  return b;
}

/// What `params` state (tile in KiB, walkers, senders; 0: this choice) for the problem.
inline Block block_of(const Problem& problem, const Params& params, Variant variant,
                      const device::Limits& limits) {
  Count rows = 0;
  for (const auto length : problem.x().dims) rows += length;
  const bool few = rows * problem.rank() * size_of(problem.dtype()) <= kFewRows;
  Block b = variant == Variant::wide     ? kWide
            : variant == Variant::copies ? kCopies
            : few                        ? fitted(kTwoOfSm, 2, limits)
                                         : fitted(kOneOfSm, 1, limits);
  const auto stated = [&](const char* name) { return static_cast<Count>(params.integer(name)); };
  if (stated("tile") != 0) b.tile = stated("tile") * kKibi;
  if (stated("walkers") != 0) b.walkers = static_cast<unsigned>(stated("walkers"));
  if (variant == Variant::remapped && stated("senders") != 0)
    b.senders = static_cast<unsigned>(stated("senders"));
  return b;
}

}  // namespace tuned

/// flycoo.cuda.tuned with `remap`, else flycoo.cuda.copies: parameters tile, walkers,
/// with `remap` senders, and prepare.
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params,
                                             bool remap);
/// Of order 4 or more: parameter gather.
std::unique_ptr<Prepared> prepare_memoised_cuda(const Problem& problem, const Params& params);
/// The same where partial products gather 16 bits, in single precision.
std::unique_ptr<Prepared> prepare_narrow_memoised_cuda(const Problem& problem,
                                                       const Params& params);
/// Parameters tile, walkers, gather and prepare.
std::unique_ptr<Prepared> prepare_wide_cuda(const Problem& problem, const Params& params);

}  // namespace retensor::flycoo
