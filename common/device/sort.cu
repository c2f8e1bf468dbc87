// Sorting permutations by CUB's stable least-significant-digit radix sort. A 128-bit key is sorted
// by its low half first and then, stably, by its high half.
#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include <cub/device/device_radix_sort.cuh>

#include "common/device/cuda.cuh"
#include "common/device/device.hpp"
#include "common/device/loops.cuh"

namespace retensor::device {
namespace {

using Keys = std::vector<std::uint64_t>;

/// The bits below which all keys agree to be zero: the sort's passes stop there.
int used_bits(const Keys& keys) {
  const auto all = std::accumulate(keys.begin(), keys.end(), std::uint64_t{0}, std::bit_or<>());
  return std::max(1, static_cast<int>(std::bit_width(all)));
}

__global__ void count_up(Count n, Count* out) {
  for_each_of_grid(n, [&](Count i) { out[i] = i; });
}

__global__ void gather(Count n, const std::uint64_t* from, const Count* where, std::uint64_t* out) {
  for_each_of_grid(n, [&](Count i) { out[i] = from[where[i]]; });
}

constexpr unsigned kBlock = 256;
constexpr Count kMostBlocks = 1 << 16;

/// Buffers of one sort; the permutation starts as the identity.
class Sorter {
 public:
  explicit Sorter(Count n)
      : n_(n), keys_(n), spare_keys_(n), permutation_(n), spare_permutation_(n) {
    RETENSOR_CUDA_LAUNCH(count_up, blocks_for(n, kBlock, kMostBlocks), kBlock, 0, nullptr, n,
                         permutation_.data());
  }

  /// Reorders the permutation stably so that keys[permutation[p]] ascends.
  void by(const Keys& keys) {
    spare_keys_.upload(keys);
    RETENSOR_CUDA_LAUNCH(gather, blocks_for(n_, kBlock, kMostBlocks), kBlock, 0, nullptr, n_,
                         spare_keys_.data(), permutation_.data(), keys_.data());
    cub::DoubleBuffer<std::uint64_t> k(keys_.data(), spare_keys_.data());
    cub::DoubleBuffer<Count> p(permutation_.data(), spare_permutation_.data());
    const int bits = used_bits(keys);
    std::size_t bytes = 0;
    RETENSOR_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, k, p, n_, 0, bits));
    Buffer<unsigned char> scratch(bytes);
    RETENSOR_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(scratch.data(), bytes, k, p, n_, 0, bits));
    RETENSOR_CUDA_CHECK(cudaStreamSynchronize(nullptr));
    if (p.Current() != permutation_.data()) std::swap(permutation_, spare_permutation_);
  }

  std::vector<Count> permutation() const { return permutation_.to_host(); }

 private:
  Count n_;
  Buffer<std::uint64_t> keys_, spare_keys_;
  Buffer<Count> permutation_, spare_permutation_;
};

}  // namespace

std::vector<Count> sort_permutation(const Keys& keys) {
  if (keys.empty()) return {};
  Sorter sorter(keys.size());
  sorter.by(keys);
  return sorter.permutation();
}

std::vector<Count> sort_permutation(const std::vector<Uint128>& keys) {
  if (keys.empty()) return {};
  Sorter sorter(keys.size());
  Keys half(keys.size());
  for (const int shift : {0, 64}) {
    std::transform(keys.begin(), keys.end(), half.begin(),
                   [shift](Uint128 key) { return static_cast<std::uint64_t>(key >> shift); });
    sorter.by(half);
  }
  return sorter.permutation();
}

}  // namespace retensor::device
