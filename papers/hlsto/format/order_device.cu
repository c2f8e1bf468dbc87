// Stable sorts of tiles and nonzeros by fields of their linear indices.
#include "papers/hlsto/format/order_device.cuh"

#include <algorithm>
#include <ranges>
#include <utility>

#include <cub/device/device_radix_sort.cuh>

#include "common/device/cub.cuh"
#include "common/device/loops.cuh"
#include "papers/hlsto/format/chain_device.cuh"

namespace retensor::hlsto {
namespace {

using device::Buffer;
using Numbers = Buffer<std::uint32_t>;

constexpr unsigned kThreads = 256;
constexpr Count kMostBlocks = 1 << 16;

unsigned blocks(Count n) {
  return device::blocks_for(n, kThreads, kMostBlocks);
}

__global__ void number(Count n, std::uint32_t* positions) {
  device::for_each_of_grid(n, [&](Count p) { positions[p] = static_cast<std::uint32_t>(p); });
}

/// Of the entries in this order.
__global__ void read_field(Count n, const std::uint32_t* order, const std::uint32_t* indices,
                           int words, BitField field, std::uint32_t* fields) {
  const Count step = Count{gridDim.x} * blockDim.x;
  for (Count p = device::thread_of_grid(); p < n; p += step)
    fields[p] = decode(indices + Count{order[p]} * static_cast<Count>(words), field);
}

/// to[p] = from[order[p]] of elements of so many units.
template <class Unit>
__global__ void gather(Count n, const std::uint32_t* order, int units, const Unit* from, Unit* to) {
  device::for_each_of_grid(n, [&](Count p) {
    for (int u = 0; u < units; ++u) {
      const auto width = static_cast<Count>(units), unit = static_cast<Count>(u);
      to[p * width + unit] = from[order[p] * width + unit];
    }
  });
}

/// The entries of `indices` in ascending order of the fields of listed modes, the first of `modes`
/// before the next, stably: sorted by the last field first.
Numbers order_of(const Numbers& indices, const LinearIndex& index, std::span<const int> modes) {
  const int words = words_for(index.bits());
  const Count n = indices.size() / static_cast<Count>(words);
  Numbers order(n);
  if (n == 0) return order;
  Numbers before(n), fields(n), sorted(n);
  RETENSOR_CUDA_LAUNCH(number, blocks(n), kThreads, 0, nullptr, n, order.data());
  for (const int k : std::views::reverse(modes)) {
    std::swap(before, order);
    RETENSOR_CUDA_LAUNCH(read_field, blocks(n), kThreads, 0, nullptr, n, before.data(),
                         indices.data(), words, (BitField{index.shift(k), index.width(k)}),
                         fields.data());
    device::with_scratch([&](void* scratch, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(scratch, bytes, fields.data(), sorted.data(),
                                             before.data(), order.data(), n, 0,
                                             std::max(1, index.width(k)));
    });
  }
  return order;
}

template <class Unit>
void gather_values(Count n, const Numbers& order, const Buffer<std::byte>& from,
                   Buffer<std::byte>& to) {
  RETENSOR_CUDA_LAUNCH(gather<Unit>, blocks(n), kThreads, 0, nullptr, n, order.data(), 1,
                       reinterpret_cast<const Unit*>(from.data()),
                       reinterpret_cast<Unit*>(to.data()));
}

}  // namespace

Numbers tiles_by_place(const DeviceHls& hls, int k) {
  return order_of(hls.tile_index, hls.grid.tile_index(), std::span(&k, 1));
}

void sort_sparse(DeviceHls& hls, std::span<const int> modes) {
  const Count n = hls.sparse_nonzeros();
  if (n == 0) return;
  const Numbers order = order_of(hls.nonzero_index, hls.grid.nonzero_index(), modes);
  Numbers index(hls.nonzero_index.size());
  RETENSOR_CUDA_LAUNCH(gather<std::uint32_t>, blocks(n), kThreads, 0, nullptr, n, order.data(),
                       words_for(hls.grid.nonzero_index().bits()), hls.nonzero_index.data(),
                       index.data());
  Buffer<std::byte> values(hls.sparse_values.size());
  values.zero(nullptr);
  if (hls.options.values == ValueType::f32)
    gather_values<std::uint32_t>(n, order, hls.sparse_values, values);
  else
    gather_values<std::uint16_t>(n, order, hls.sparse_values, values);
  hls.nonzero_index = std::move(index);
  hls.sparse_values = std::move(values);
}

}  // namespace retensor::hlsto
