// Nonzeros cut into parts of equal work that respect segments, for kernels that add up a segment in
// registers and store it without atomics.
#pragma once

#include <span>
#include <vector>

#include "common/core/types.hpp"

namespace retensor::pasta {

/// A segment is a run of nonzeros that add to one row of the output: a fiber (TTV, TTM) or the
/// nonzeros of an output row (MTTKRP on input sorted by that mode).
struct SegmentParts {
  std::vector<Count> bound;  ///< parts + 1 entries: part c holds nonzeros bound[c] .. bound[c + 1]
  std::vector<Count> first;  ///< segment of nonzero bound[c]
  std::vector<Count> cut;    ///< segments that lie in several parts, ascending
  Count parts() const { return first.size(); }
};

/// Cuts the segments that begin at start[0 .. n) (start[n] is the number of nonzeros) into parts of
/// about `target` nonzeros, at most 5/4 of it: groups of one warp wait for the longest of their
/// parts. A part ends with a segment, unless that would make it larger: a segment is cut that does
/// not fit a part of its own. target is at least 1.
SegmentParts cut_segments(std::span<const Count> start, Count target);

/// Starts of the runs of equal values in `row`, then row.size().
std::vector<Count> run_starts(std::span<const Index> row);

}  // namespace retensor::pasta
