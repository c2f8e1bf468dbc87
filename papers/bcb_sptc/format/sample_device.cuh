// What contracting two tensors takes, from a sample of their contracted coordinates. Included by
// .cu files alone.
//
// A block's contracted part is in the sample or not, by a hash of it, and with it all nonzeros of
// both operands there. So the products and the pairs of blocks of a part are all counted or none,
// and their ratio needs no scale. Bytes: the contracted indices of every nonzero once, and the
// sorts of `count_pairs` for the sample.
#pragma once

#include "papers/bcb_sptc/format/matricised_device.cuh"

namespace retensor::bcb_sptc {

/// Nonzeros of the larger operand that a sample has in the mean, and the fewest parts of the grid
/// of contracted blocks that it is drawn from.
inline constexpr Count kSampleNonzeros = 1 << 16, kSampleParts = 64;

/// Of the nonzeros that were looked at, pairs of blocks and of coordinates that meet.
struct ContractionWork {
  Count nonzeros = 0, pairs = 0, products = 0;
  double products_of_pair() const {
    return pairs == 0 ? 0 : static_cast<double>(products) / static_cast<double>(pairs);
  }
};

/// Of a sample of the contracted blocks of these options.
ContractionWork sampled_work(const DeviceCoos& tensors, const Contraction& modes,
                             const OperandOptions& blocks);

}  // namespace retensor::bcb_sptc
