#include "papers/pasta/format/hicoo_work.hpp"

#include <algorithm>
#include <cmath>

#include "common/method/problem.hpp"

namespace retensor::pasta {

Work hicoo_mttkrp_work(const Problem& problem, Count blocks, int block_bits) {
  const auto order = static_cast<double>(problem.x().order());
  const auto nonzeros = static_cast<double>(problem.x().nnz());
  const auto value_bytes = static_cast<double>(size_of(problem.dtype()));
  const auto in_blocks = static_cast<double>(blocks);
  const double rows = std::min(std::ldexp(in_blocks, block_bits), nonzeros);
  Work w = work_model(problem);
  w.bytes = value_bytes * order * static_cast<double>(problem.rank()) * rows +
            (order + value_bytes) * nonzeros + (4 * order + 8) * in_blocks;
  return w;
}

}  // namespace retensor::pasta
