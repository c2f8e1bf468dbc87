#include "papers/bcb_sptc/format/grouped.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/tensor/linear_index.hpp"

namespace retensor::bcb_sptc {
namespace {

/// At most 2^64 - 1.
Count product_of(const Dims& dims, const std::vector<int>& modes) {
  constexpr Count most = std::numeric_limits<Count>::max();
  Count product = 1;
  for (const int mode : modes) {
    const Count length = std::max<Count>(dims[static_cast<std::size_t>(mode)], 1);
    if (product > most / length) return most;
    product *= length;
  }
  return product;
}

}  // namespace

CellRanges::CellRanges(const Contraction& modes, const Dims& x, const Dims& y)
    : rows(product_of(x, modes.free_x)), columns(product_of(y, modes.free_y)) {
  for (const int mode : modes.contracted_x)
    contracted_bits += bits_for(x[static_cast<std::size_t>(mode)]);
  rows_of_range = are_few() ? rows : std::clamp<Count>(kSumWords / columns, 1, rows);
  ranges = (rows - 1) / rows_of_range + 1;
  sorted_bits = contracted_bits + bits_for(ranges);
}

void copy_in_parallel(void* to, const void* from, std::size_t bytes) {
#pragma omp parallel
  {
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const std::size_t begin = bytes * thread / threads, end = bytes * (thread + 1) / threads;
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                end - begin);
  }
}

}  // namespace retensor::bcb_sptc
