// F-COO: coordinates with flags (Liu, Wen, Sarwate, Dehnavi: "A unified optimization approach for
// sparse tensor operations on GPUs", CLUSTER 2017), one copy of the tensor per output mode.
#pragma once

#include <boost/dynamic_bitset.hpp>
#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/method/method_spec.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::f_coo {

/// One bit for each of a number of things.
using Flags = boost::dynamic_bitset<std::uint32_t>;

/// Nonzeros sorted by the output mode. Those of one output row are a segment; the row's index is
/// stored once for it, with each nonzero only the indices of the other modes, the product modes.
/// A part is what a thread takes: `part_length` consecutive nonzeros, the last part's may be fewer.
struct FCoo {
  Dims dims;
  int mode = 0;                            ///< of the output
  Count part_length = 0;                   ///< threadlen of the paper
  std::vector<std::vector<Index>> others;  ///< [k][nonzero] of the k-th product mode, ascending
  Values values;
  Flags start;                      ///< bf: the nonzero begins a segment
  Flags part_start;                 ///< sf: the part begins with a segment; parts + 1, the last set
  std::vector<Index> part_segment;  ///< [part]: segment of its first nonzero
  std::vector<Index> row;           ///< [segment]: index of the output mode

  int order() const { return static_cast<int>(dims.size()); }
  Count nnz() const { return values.size(); }
  Count parts() const { return part_segment.size(); }
  /// 4 (N - 1) bytes of indices, a value and a bit per nonzero, 4 bytes and a bit per part, 4 bytes
  /// per segment.
  Count bytes() const;
  /// Nonzeros in stored order.
  Coo to_coo() const;
  /// Throws InputError naming the first violated invariant: lengths, segments that do not begin
  /// with the first nonzero or are not as many as their rows, rows not ascending, a part whose flag
  /// or segment is not that of its first nonzero, indices out of range, values not finite.
  void check() const;
};

/// Nonzeros that a group of lanes reads at once: where it runs, a part has a multiple of them.
inline constexpr std::int64_t kQuad = 4;

/// Throws InputError below order 2, for a mode out of range and for parts of no nonzeros.
FCoo to_f_coo(const Coo& tensor, int mode, Count part_length);

/// Of a run on the device; parameter `part_length`.
Prepare prepare_cuda;

}  // namespace retensor::f_coo
