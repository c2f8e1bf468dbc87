// Nonzeros by contracted coordinate, made on the device.
//
// Bytes of a nonzero of order d with a contracted coordinate of b bits: 4 d + 4 uploaded, 16 as key
// and rest, which the sort moves both ways ceil(b / 8) times, then 20 stored. A tensor that meets
// itself over the same modes is uploaded and sorted once.
#include "papers/bcb_sptc/format/grouped_device.cuh"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <cub/device/device_radix_sort.cuh>

#include "common/core/error.hpp"
#include "common/device/loops.cuh"
#include "common/tensor/linear_index.hpp"
#include "papers/bcb_sptc/format/tools_device.cuh"

namespace retensor::bcb_sptc {
namespace {

using device::PoolBuffer;

/// How the coordinates of a tensor in its arrays by mode become a contracted and a free one.
struct Split {
  const Index* indices;  // mode by mode
  Count nonzeros;
  int contracted = 0, free = 0;
  int mode[kMaxOrder];              // first the contracted ones
  int shift[kMaxOrder];             // of a contracted mode
  std::uint32_t stride[kMaxOrder];  // of a free one

  __device__ Index at(int k, Count p) const {
    return indices[static_cast<Count>(mode[k]) * nonzeros + p];
  }
  __device__ std::uint64_t contracted_at(Count p) const {
    std::uint64_t key = 0;
    for (int k = 0; k < contracted; ++k) key |= std::uint64_t{at(k, p)} << shift[k];
    return key;
  }
  __device__ std::uint32_t free_at(Count p) const {
    std::uint32_t place = 0;
    for (int k = contracted; k < contracted + free; ++k) place += at(k, p) * stride[k];
    return place;
  }
};

Split split_of(const Dims& dims, const std::vector<int>& contracted, const std::vector<int>& free) {
  Split split{};
  split.contracted = static_cast<int>(contracted.size());
  split.free = static_cast<int>(free.size());
  const LinearIndex key(dims, contracted);
  for (int k = 0; k < split.contracted; ++k) {
    split.mode[k] = contracted[static_cast<std::size_t>(k)];
    split.shift[k] = key.shift(k);
  }
  std::uint32_t stride = 1;
  for (int k = split.free; k-- > 0;) {
    const int mode = free[static_cast<std::size_t>(k)];
    split.mode[split.contracted + k] = mode;
    split.stride[split.contracted + k] = stride;
    stride *= static_cast<std::uint32_t>(dims[static_cast<std::size_t>(mode)]);
  }
  return split;
}

/// The free coordinate above the value's bits.
__device__ std::uint64_t rest_of(std::uint32_t free, float value) {
  return std::uint64_t{free} << 32 | __float_as_uint(value);
}
__device__ std::uint32_t free_of(std::uint64_t rest) {
  return static_cast<std::uint32_t>(rest >> 32);
}
__device__ float value_of(std::uint64_t rest) {
  return __uint_as_float(static_cast<std::uint32_t>(rest));
}

__global__ void split_nonzeros(const __grid_constant__ Split split, const float* values,
                               std::uint64_t* keys, std::uint64_t* rests) {
  for_each_of_grid(split.nonzeros, [&](Count p) {
    keys[p] = split.contracted_at(p);
    rests[p] = rest_of(split.free_at(p), values[p]);
  });
}

__global__ void mark_partners(Count n, const std::uint64_t* keys, const std::uint64_t* rests,
                              Partner* partners) {
  for_each_of_grid(n, [&](Count p) {
    const bool is_last = p + 1 == n || keys[p + 1] != keys[p];
    partners[p] = {free_of(rests[p]) | (is_last ? Partner::kLast : 0), value_of(rests[p])};
  });
}

__global__ void find_partners(Count n, const std::uint64_t* keys, const std::uint64_t* rests,
                              Count partners, const std::uint64_t* partner_keys,
                              std::uint32_t columns, std::uint32_t* first, std::uint32_t* cell,
                              float* value) {
  for_each_of_grid(n, [&](Count p) {
    const Count at = lower_bound(partners, keys[p], [&](Count b) { return partner_keys[b]; });
    const bool is_there = at < partners && partner_keys[at] == keys[p];
    first[p] = is_there ? static_cast<std::uint32_t>(at) : kNoPartner;
    cell[p] = free_of(rests[p]) * columns;
    value[p] = value_of(rests[p]);
  });
}

/// A tensor's nonzeros by contracted coordinate.
struct SortedRests {
  SortedRests(const Coo& x, Split split, int bits);
  Count n;
  PoolBuffer<std::uint64_t> keys, rests;
};

template <class T>
void upload(std::span<const T> from, T* to) {
  RETENSOR_CUDA_CHECK(
      cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, nullptr));
}

SortedRests::SortedRests(const Coo& x, Split split, int bits) : n(x.nnz()), keys(n), rests(n) {
  if (n == 0) return;
  PoolBuffer<Index> indices(n * x.dims.size());
  PoolBuffer<float> values(n);
  for (std::size_t m = 0; m < x.dims.size(); ++m)
    upload(std::span<const Index>(x.indices[m]), indices.data() + m * n);
  upload(std::span<const float>(x.values.as<float>()), values.data());
  split.indices = indices.data(), split.nonzeros = n;
  RETENSOR_CUDA_LAUNCH(split_nonzeros, grid_for(n), kThreads, 0, nullptr, split, values.data(),
                       keys.data(), rests.data());
  if (bits == 0) return;
  PoolBuffer<std::uint64_t> spare_keys(n), spare_rests(n);
  cub::DoubleBuffer<std::uint64_t> key_buffers(keys.data(), spare_keys.data()),
      rest_buffers(rests.data(), spare_rests.data());
  const auto sort = [&](void* scratch, std::size_t& bytes) {
    RETENSOR_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(scratch, bytes, key_buffers, rest_buffers,
                                                        static_cast<std::int64_t>(n), 0, bits));
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);
  PoolBuffer<std::byte> scratch(bytes);
  sort(scratch.data(), bytes);
  if (key_buffers.Current() != keys.data()) std::swap(keys, spare_keys);
  if (rest_buffers.Current() != rests.data()) std::swap(rests, spare_rests);
}

Count product_of(const Dims& dims, const std::vector<int>& modes) {
  Count product = 1;
  for (const int mode : modes) product *= dims[static_cast<std::size_t>(mode)];
  return product;
}

}  // namespace

GroupedOperands::GroupedOperands(const Problem& problem)
    : modes(problem.spec().variant, problem.x().dims, problem.y().dims) {
  const Coo &x = problem.x(), &y = problem.y();
  const int bits = bits_of_contracted(modes, x.dims);
  if (result_cells(modes, x.dims, y.dims) > kMostCells || bits > kMostKeyBits)
    throw LogicError("a result or a contracted coordinate that is too large to be grouped");
  rows = product_of(x.dims, modes.free_x), columns = product_of(y.dims, modes.free_y);
  const SortedRests of_x(x, split_of(x.dims, modes.contracted_x, modes.free_x), bits);
  const bool is_same = &x == &y && modes.contracted_x == modes.contracted_y;
  std::optional<SortedRests> other;
  if (!is_same) other.emplace(y, split_of(y.dims, modes.contracted_y, modes.free_y), bits);
  const SortedRests& of_y = is_same ? of_x : *other;

  partner = PoolBuffer<Partner>(of_y.n);
  x_first = PoolBuffer<std::uint32_t>(of_x.n), x_cell = PoolBuffer<std::uint32_t>(of_x.n);
  x_value = PoolBuffer<float>(of_x.n);
  if (of_y.n > 0)
    RETENSOR_CUDA_LAUNCH(mark_partners, grid_for(of_y.n), kThreads, 0, nullptr, of_y.n,
                         of_y.keys.data(), of_y.rests.data(), partner.data());
  if (of_x.n > 0)
    RETENSOR_CUDA_LAUNCH(find_partners, grid_for(of_x.n), kThreads, 0, nullptr, of_x.n,
                         of_x.keys.data(), of_x.rests.data(), of_y.n, of_y.keys.data(),
                         static_cast<std::uint32_t>(columns), x_first.data(), x_cell.data(),
                         x_value.data());
}

}  // namespace retensor::bcb_sptc
