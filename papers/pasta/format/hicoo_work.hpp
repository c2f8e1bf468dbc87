// The bytes of MTTKRP in HiCOO, PASTA Table I.
#pragma once

#include "common/core/types.hpp"
#include "common/method/work.hpp"

namespace retensor {
class Problem;
}

namespace retensor::pasta {

/// Table I, HiCOO-MTTKRP, for order N and v-byte values: v N R min(n_b B, M) bytes of factor rows,
/// since the rows of a block of edge B = 2^block_bits are counted once per block where that is
/// less, (N + v) M of elements and (4 N + 8) n_b of blocks. All else is as on coordinates.
Work hicoo_mttkrp_work(const Problem& problem, Count blocks, int block_bits);

}  // namespace retensor::pasta
