// B-CSF: balanced compressed sparse fibers (Nisa, Li, Sukumaran-Rajam, Vuduc, Sadayappan:
// "Load-balanced sparse MTTKRP on GPUs", IPDPS 2019), one copy of the tensor per output mode.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/formats/csf.hpp"
#include "common/method/method_spec.hpp"

namespace retensor::b_csf {

/// Own choice, not tuned on a device: a heavy slice fills several groups of lanes, a light one
/// still is a warp's work.
inline constexpr Count kWarpNonzeros = 256;
inline constexpr Count kBlockWarps = 8;               ///< of the kernel's thread blocks
inline constexpr Count kMaxWarps = 32 * kBlockWarps;  ///< 32 thread blocks a slice, as the original

/// What a warp does: every `warps`-th batch of the fibers begin .. end of one slice, from batch
/// `number` on.
struct Share {
  Count begin, end;  ///< fibers
  Index row;         ///< of the output
  std::uint16_t number, warps;
};

/// A CSF with the output mode as its root, the other modes by ascending length, and its slices
/// spread over warps: bins of 1, 2, 4, ... warps a slice, the heaviest bin first.
struct BCsf {
  Csf csf;
  std::vector<Share> shares;

  int order() const { return csf.order(); }
  const Dims& dims() const { return csf.dims; }
  Count nnz() const { return csf.nnz(); }
  /// The CSF and 24 bytes a share.
  Count bytes() const { return csf.bytes() + shares.size() * sizeof(Share); }
  Coo to_coo() const { return csf.to_coo(); }
  /// Throws InputError naming the first invariant of the CSF that is broken, or the first share
  /// that does not continue the one before: shares 0 .. warps - 1 of a slice follow each other, a
  /// slice has a power of two of them, bins descend, every fiber is in one slice and has its row.
  void check() const;
};

struct BCsfOptions {
  Count fiber_limit = kFiberLimit;      ///< longer fibers are cut
  Count warp_nonzeros = kWarpNonzeros;  ///< a slice gets a warp for each so many nonzeros
};

/// Throws InputError below order 2, which has no fibers, and for a mode out of range.
BCsf to_b_csf(const Coo& tensor, int root, const BCsfOptions& options = {});

/// Of a run on the device; parameters `fiber_limit` and `warp_nonzeros`.
Prepare prepare_cuda;

}  // namespace retensor::b_csf
