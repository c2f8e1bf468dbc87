// Nonzeros by contracted coordinate, made on the device.
//
// Bytes of a nonzero of order d with a key of b bits: 4 d + 4 uploaded, by way of pinned memory
// into which all threads copy; 16 as key and rest, which the sort moves both ways ceil(b / 8)
// times, then 20 stored. A tensor that meets itself over the same modes is uploaded once, and
// sorted once where the result is one range.
#include "papers/bcb_sptc/format/grouped_device.cuh"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <cub/device/device_radix_sort.cuh>

#include "common/core/error.hpp"
#include "common/device/loops.cuh"
#include "common/device/staging.cuh"
#include "common/tensor/linear_index.hpp"
#include "papers/bcb_sptc/format/tools_device.cuh"

namespace retensor::bcb_sptc {
namespace {

using device::PoolBuffer;

/// A tensor in coordinates on the device, its indices mode by mode.
struct Nonzeros {
  explicit Nonzeros(const Coo& x) : n(x.nnz()), indices(n * x.dims.size()), values(n) {
    device::Staging staging(copy_in_parallel);
    for (std::size_t m = 0; m < x.dims.size(); ++m)
      staging.upload(indices.data() + m * n, std::as_bytes(std::span<const Index>(x.indices[m])));
    staging.upload(values.data(), std::as_bytes(std::span(x.values.as<float>())));
  }
  CooView view(const Dims& dims) const {
    CooView to{dims, n, {}, values.data()};
    for (std::size_t m = 0; m < dims.size(); ++m) to.indices.push_back(indices.data() + m * n);
    return to;
  }

  Count n;
  PoolBuffer<Index> indices;
  PoolBuffer<float> values;
};

/// Both operands on the device.
struct BothNonzeros {
  explicit BothNonzeros(const Problem& problem) : x(problem.x()) {
    if (&problem.x() != &problem.y()) y.emplace(problem.y());
  }
  Nonzeros x;
  std::optional<Nonzeros> y;  // without it x
};

/// How coordinates become a key, a range above the contracted one, and a free one.
struct Split {
  Count nonzeros;
  int contracted = 0, free = 0;
  const Index* index[kMaxOrder];    // first of the contracted modes
  int shift[kMaxOrder];             // of a contracted mode
  std::uint32_t stride[kMaxOrder];  // of a free one
  int contracted_bits = 0;
  std::uint32_t rows_of_range = 0;  // 0: there are no ranges

  __device__ Index at(int k, Count p) const { return index[k][p]; }
  __device__ std::uint32_t free_at(Count p) const {
    std::uint32_t place = 0;
    for (int k = contracted; k < contracted + free; ++k) place += at(k, p) * stride[k];
    return place;
  }
  __device__ std::uint64_t key_at(Count p, std::uint32_t free_part) const {
    std::uint64_t key =
        rows_of_range == 0 ? 0 : std::uint64_t{free_part / rows_of_range} << contracted_bits;
    for (int k = 0; k < contracted; ++k) key |= std::uint64_t{at(k, p)} << shift[k];
    return key;
  }
};

Split split_of(const CooView& x, const std::vector<int>& contracted, const std::vector<int>& free) {
  const Dims& dims = x.dims;
  Split split{};
  split.nonzeros = x.nnz;
  split.contracted = static_cast<int>(contracted.size());
  split.free = static_cast<int>(free.size());
  const LinearIndex key(dims, contracted);
  split.contracted_bits = key.bits();
  for (int k = 0; k < split.contracted; ++k) {
    split.index[k] = x.indices[static_cast<std::size_t>(contracted[static_cast<std::size_t>(k)])];
    split.shift[k] = key.shift(k);
  }
  std::uint32_t stride = 1;
  for (int k = split.free; k-- > 0;) {
    const auto mode = static_cast<std::size_t>(free[static_cast<std::size_t>(k)]);
    split.index[split.contracted + k] = x.indices[mode];
    split.stride[split.contracted + k] = stride;
    stride *= static_cast<std::uint32_t>(dims[mode]);
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
    const std::uint32_t free = split.free_at(p);
    keys[p] = split.key_at(p, free);
    rests[p] = rest_of(free, values[p]);
  });
}

__global__ void mark_partners(Count n, const std::uint64_t* keys, const std::uint64_t* rests,
                              Partner* partners) {
  for_each_of_grid(n, [&](Count p) {
    const bool is_last = p + 1 == n || keys[p + 1] != keys[p];
    partners[p] = {free_of(rests[p]) | (is_last ? Partner::kLast : 0), value_of(rests[p])};
  });
}

/// Keys and rests of x, keys of y, and what becomes of x.
struct Search {
  Count n, partners;
  const std::uint64_t *keys, *rests, *partner_keys;
  std::uint64_t contracted_mask;
  std::uint32_t rows_of_range, columns;
  std::uint32_t *first, *cell;
  float* value;
};

__global__ void find_partners(const __grid_constant__ Search s) {
  for_each_of_grid(s.n, [&](Count p) {
    const std::uint64_t key = s.keys[p] & s.contracted_mask;
    const Count at = lower_bound(s.partners, key, [&](Count b) { return s.partner_keys[b]; });
    const bool is_there = at < s.partners && s.partner_keys[at] == key;
    s.first[p] = is_there ? static_cast<std::uint32_t>(at) : kNoPartner;
    s.cell[p] = free_of(s.rests[p]) % s.rows_of_range * s.columns;
    s.value[p] = value_of(s.rests[p]);
  });
}

__global__ void find_ranges(Count ranges, int contracted_bits, Count n, const std::uint64_t* keys,
                            std::uint32_t* start) {
  for_each_of_grid(ranges + 1, [&](Count range) {
    start[range] =
        range == ranges
            ? static_cast<std::uint32_t>(n)
            : static_cast<std::uint32_t>(lower_bound(n, std::uint64_t{range} << contracted_bits,
                                                     [&](Count p) { return keys[p]; }));
  });
}

/// A tensor's nonzeros by key.
struct SortedRests {
  SortedRests(const Split& split, const float* values, int bits);
  Count n;
  PoolBuffer<std::uint64_t> keys, rests;
};

SortedRests::SortedRests(const Split& split, const float* values, int bits)
    : n(split.nonzeros), keys(n), rests(n) {
  if (n == 0) return;
  RETENSOR_CUDA_LAUNCH(split_nonzeros, grid_for(n), kThreads, 0, nullptr, split, values,
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

std::uint64_t low_bits(int bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

}  // namespace

GroupedOperands::GroupedOperands(const Problem& problem)
    : GroupedOperands([&] {
        const BothNonzeros both(problem);
        const Dims &x = problem.x().dims, &y = problem.y().dims;
        return GroupedOperands({problem.spec().variant, x, y}, both.x.view(x),
                               (both.y ? *both.y : both.x).view(y));
      }()) {}

GroupedOperands::GroupedOperands(const Contraction& contraction, const CooView& x, const CooView& y)
    : modes(contraction), cells(modes, x.dims, y.dims) {
  if (!cells.are_taken() || cells.sorted_bits > kMostKeyBits)
    throw LogicError("a result or a contracted coordinate that is too large to be grouped");
  Split x_split = split_of(x, modes.contracted_x, modes.free_x);
  if (cells.ranges > 1) x_split.rows_of_range = static_cast<std::uint32_t>(cells.rows_of_range);
  const SortedRests of_x(x_split, x.values, cells.sorted_bits);
  std::optional<SortedRests> sorted_y;
  if (x.values != y.values || modes.contracted_x != modes.contracted_y || cells.ranges > 1)
    sorted_y.emplace(split_of(y, modes.contracted_y, modes.free_y), y.values,
                     cells.contracted_bits);
  const SortedRests& of_y = sorted_y ? *sorted_y : of_x;

  partner = PoolBuffer<Partner>(of_y.n);
  x_first = PoolBuffer<std::uint32_t>(of_x.n), x_cell = PoolBuffer<std::uint32_t>(of_x.n);
  x_value = PoolBuffer<float>(of_x.n);
  range_start = PoolBuffer<std::uint32_t>(cells.ranges + 1);
  RETENSOR_CUDA_LAUNCH(find_ranges, grid_for(cells.ranges + 1), kThreads, 0, nullptr, cells.ranges,
                       cells.contracted_bits, of_x.n, of_x.keys.data(), range_start.data());
  if (of_y.n > 0)
    RETENSOR_CUDA_LAUNCH(mark_partners, grid_for(of_y.n), kThreads, 0, nullptr, of_y.n,
                         of_y.keys.data(), of_y.rests.data(), partner.data());
  if (of_x.n > 0)
    RETENSOR_CUDA_LAUNCH(
        find_partners, grid_for(of_x.n), kThreads, 0, nullptr,
        (Search{of_x.n, of_y.n, of_x.keys.data(), of_x.rests.data(), of_y.keys.data(),
                low_bits(cells.contracted_bits), static_cast<std::uint32_t>(cells.rows_of_range),
                static_cast<std::uint32_t>(cells.columns), x_first.data(), x_cell.data(),
                x_value.data()}));
}

}  // namespace retensor::bcb_sptc
