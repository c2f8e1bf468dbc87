// The parts of collecting distinct coordinates that do not depend on the law.
#include "common/generate/sampling.hpp"

#include <algorithm>
#include <parallel/algorithm>

#include "common/tensor/operations.hpp"

namespace retensor::sampling {

namespace {

template <class Key>
void merge(Keys<Key>& keys, Count sorted) {
  const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(sorted);
  sort_keys(std::span(middle, keys.end()));
  Keys<Key> other(keys.size());
  if (sorted > 0) {
    __gnu_parallel::merge(keys.begin(), middle, middle, keys.end(), other.begin());
    keys.swap(other);
  }
  other.erase(__gnu_parallel::unique_copy(keys.begin(), keys.end(), other.begin()), other.end());
  if (!other.empty() && other.back() == kRejected<Key>) other.pop_back();
  keys.swap(other);
}

}  // namespace

void merge_new(Keys<std::uint64_t>& keys, Count sorted) {
  merge(keys, sorted);
}
void merge_new(Keys<Uint128>& keys, Count sorted) {
  merge(keys, sorted);
}

Uint128 volume(const Dims& dims) {
  Uint128 product = 1;
  for (const std::uint64_t length : dims) {
    if (length != 0 && product > (Uint128{1} << 127) / length)
      throw input_error("the number of coordinates passes 2^127");
    product *= length;
  }
  return product;
}

Coordinate coordinate_at(const Dims& dims, Uint128 p) {
  Coordinate coordinate{};
  for (std::size_t m = dims.size(); m-- > 0;) {
    // Division of 64 bits is several times faster than of 128.
    if (p >> 64 == 0) {
      const auto low = static_cast<std::uint64_t>(p);
      coordinate[m] = static_cast<Index>(low % dims[m]);
      p = low / dims[m];
    } else {
      coordinate[m] = static_cast<Index>(p % dims[m]);
      p /= dims[m];
    }
  }
  return coordinate;
}

LinearIndex key_layout(const Target& target) {
  const Coo shape(target.dims, target.dtype);  // refuses wrong orders and lengths
  LinearIndex layout(target.dims, natural_order(shape.order()));
  if (layout.bits() > 127)
    throw input_error("coordinates need {} bits, more than 127", layout.bits());
  if (target.nnz > volume(target.dims))
    throw input_error("{} nonzeros are more than the tensor has coordinates", target.nnz);
  return layout;
}

Count next_batch(Count nnz, Count missing, double yield, Count previous) {
  const double wanted = 1.1 * static_cast<double>(missing) / std::max(yield, kSmallestYield) + 64;
  const Count most = std::max(nnz / 2, kSmallestRound);
  return std::min(most, std::max(static_cast<Count>(wanted), 2 * previous));
}

}  // namespace retensor::sampling
