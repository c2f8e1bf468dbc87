// The parts of collecting distinct coordinates that do not depend on the law.
#include "common/generate/sampling.hpp"

#include <algorithm>

#include "common/core/rng.hpp"
#include "common/tensor/keys.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::sampling {

Uint128 volume(const Dims& dims) {
  Uint128 product = 1;
  for (const std::uint64_t length : dims) {
    if (length != 0 && product > (Uint128{1} << 127) / length)
      throw InputError("the number of coordinates passes 2^127");
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
    throw InputError(fmt::format("coordinates need {} bits, more than 127", layout.bits()));
  if (target.nnz > volume(target.dims))
    throw InputError(
        fmt::format("{} nonzeros are more than the tensor has coordinates", target.nnz));
  return layout;
}

Values target_values(const Target& target) {
  return draw_values(target.values, target.dtype, target.nnz, target.seed, kValueStream);
}

Count next_batch(Count nnz, Count missing, double yield, Count previous) {
  const double wanted = 1.1 * static_cast<double>(missing) / std::max(yield, kSmallestYield) + 64;
  const Count most = std::max(nnz / 2, kSmallestRound);
  return std::min(most, std::max(static_cast<Count>(wanted), 2 * previous));
}

// Selection sampling: Knuth, TAOCP vol. 2, algorithm 3.4.2 S.
template <class Key>
void thin(std::vector<Key>& keys, Count count, std::uint64_t seed) {
  const CounterRng rng(seed, kThinningStream);
  const Count n = keys.size();
  Count kept = 0;
  for (Count i = 0; i < n && kept < count; ++i)
    if (rng.below(i, n - i) < count - kept) keys[kept++] = keys[i];
  keys.resize(count);
}

template <class Key>
void merge_new(std::vector<Key>& keys, Count sorted, Key rejected) {
  const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(sorted);
  sort_keys(std::span(middle, keys.end()));
  std::inplace_merge(keys.begin(), middle, keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  if (!keys.empty() && keys.back() == rejected) keys.pop_back();
}

template <class Key>
Coo unpack(const Target& target, const LinearIndex& layout, const std::vector<Key>& keys) {
  Coo tensor(target.dims, target.dtype);
  for (std::size_t m = 0; m < tensor.dims.size(); ++m) {
    auto& index = tensor.indices[m];
    index.resize(keys.size());
#pragma omp parallel for schedule(static)
    for (Count x = 0; x < keys.size(); ++x) index[x] = layout.decode(keys[x], static_cast<int>(m));
  }
  return tensor;
}

// The two widths of keys.
template void thin(std::vector<std::uint64_t>&, Count, std::uint64_t);
template void merge_new(std::vector<std::uint64_t>&, Count, std::uint64_t);
template Coo unpack(const Target&, const LinearIndex&, const std::vector<std::uint64_t>&);
template void thin(std::vector<Uint128>&, Count, std::uint64_t);
template void merge_new(std::vector<Uint128>&, Count, Uint128);
template Coo unpack(const Target&, const LinearIndex&, const std::vector<Uint128>&);

}  // namespace retensor::sampling
