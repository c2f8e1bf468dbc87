// Kernels of hash_spgemm.cuda. Included by .cu files alone.
//
// Rows of the result stand in lists by their size: in the first pass, which counts their entries,
// the number of products or of columns, whichever is less; in the second the number of entries. A
// row has a group of threads, of which some neighbours walk over a row of y together, as many as
// its rows of y are long on average. Their sums stand in a hash table in shared memory, at most
// half full; a row that is too large for the largest table gets an array of sums over a range of
// columns, one range after the other.
#pragma once

#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include "papers/bcb_sptc/format/matricised_device.cuh"

namespace retensor::hash_spgemm {

using bcb_sptc::Buffer;
using device::kWarpSize;
using device::kWholeWarp;

/// Threads of a row, and places of its hash table.
struct Bin {
  unsigned threads, places;
  constexpr unsigned most() const { return places / 2; }
  constexpr unsigned block() const { return threads < 256 ? 256 : threads; }
  constexpr unsigned rows_of_block() const { return block() / threads; }
};
inline constexpr Bin kBins[] = {{8, 32}, {32, 256}, {256, 2048}, {512, 8192}, {1024, 16384}};
inline constexpr unsigned kHashBins = std::size(kBins), kLists = kHashBins + 1;
/// Threads of a row in an array of sums, and the columns that they take at once.
inline constexpr unsigned kDenseThreads = 1024, kDenseColumns = 24'576, kDenseBits = 1 << 19;
inline constexpr std::uint32_t kEmpty = 0xffffffffu;

/// Operands and result.
struct Product {
  Count rows, columns;
  const std::uint32_t *row_start, *x_group, *group_start, *y_column;
  const float *x_values, *y_values;
  const Count* first_product;  ///< of each nonzero of x, and the end
  float alpha;
  std::uint32_t* row_entries;
  const Count* first_entry;
  std::uint32_t* column;
  float* values;

  __host__ __device__ Count products(Count row) const {
    return first_product[row_start[row + 1]] - first_product[row_start[row]];
  }
  /// Neighbouring threads for a row of y.
  __device__ unsigned together(Count row, unsigned threads) const {
    const unsigned length =
        static_cast<unsigned>(products(row) / (row_start[row + 1] - row_start[row]));
    return min(threads, min(kWarpSize, 1u << (31 - __clz(max(length, 1u)))));
  }
  /// Calls f(column, product) for those of the columns from `low` on and before `high`.
  template <bool kSums, class F>
  __device__ void for_each(Count row, unsigned thread, unsigned threads, std::uint32_t low,
                           std::uint32_t high, const F& f) const {
    const unsigned lanes = together(row, threads);
    const bool all = low == 0 && high >= columns;
    for (std::uint32_t a = row_start[row] + thread / lanes; a < row_start[row + 1];
         a += threads / lanes) {
      const std::uint32_t group = x_group[a];
      std::uint32_t b = group_start[group];
      const std::uint32_t end = group_start[group + 1];
      const float x = kSums ? x_values[a] : 0;
      if (!all)
        b += static_cast<std::uint32_t>(
            bcb_sptc::lower_bound(Count{end - b}, low, [&](Count i) { return y_column[b + i]; }));
      for (b += thread % lanes; b < end; b += lanes) {
        const std::uint32_t y = y_column[b];
        if (!all && y >= high) break;
        f(y, kSums ? x * y_values[b] : 0);
      }
    }
  }
};

/// What a row takes at most in the first pass, and in the second.
struct Estimate {
  Product p;
  __host__ __device__ Count operator()(Count row) const {
    const Count products = p.products(row);
    return products < p.columns ? products : p.columns;
  }
};
struct Entries {
  const std::uint32_t* of;
  __host__ __device__ Count operator()(Count row) const { return of[row]; }
};

/// Numbers of rows by size.
struct Lists {
  std::uint32_t *rows, *count;  ///< [list][row] and [list]
};

/// The first whose tables hold so many entries.
__device__ inline unsigned list_of(Count size) {
  return [&]<unsigned... kBin>(std::integer_sequence<unsigned, kBin...>) {
    return (0u + ... +
            (size > std::integral_constant<unsigned, kBins[kBin].most()>::value ? 1 : 0));
  }
  (std::make_integer_sequence<unsigned, kHashBins>());
}

namespace kernels {

/// Into lists that are empty: each block takes places for its rows at once.
template <class Size>
__global__ void __launch_bounds__(bcb_sptc::kThreads)
    list_rows(Count rows, const __grid_constant__ Size size, Lists lists) {
  __shared__ unsigned count[kLists], first[kLists];
  if (threadIdx.x < kLists) count[threadIdx.x] = 0;
  __syncthreads();
  const Count row = device::thread_of_grid();
  const unsigned list = row < rows ? list_of(size(row)) : 0;
  const unsigned place = row < rows ? atomicAdd(count + list, 1u) : 0;
  __syncthreads();
  if (threadIdx.x < kLists && count[threadIdx.x] > 0)
    first[threadIdx.x] = atomicAdd(lists.count + threadIdx.x, count[threadIdx.x]);
  __syncthreads();
  if (row < rows) lists.rows[list * rows + first[list] + place] = static_cast<std::uint32_t>(row);
}

/// The lanes of a group of at most a warp.
template <unsigned kThreads>
__device__ unsigned lanes_of_group() {
  if constexpr (kThreads >= kWarpSize)
    return kWholeWarp;
  else
    return ((1u << kThreads) - 1) << (threadIdx.x % kWarpSize / kThreads * kThreads);
}
template <unsigned kThreads>
__device__ void meet() {
  if constexpr (kThreads > kWarpSize)
    __syncthreads();
  else
    __syncwarp(lanes_of_group<kThreads>());
}

/// The number of an entry among those of the row that were found before; all lanes of the group's
/// part of a warp ask.
template <unsigned kThreads>
__device__ unsigned next_entry(bool is_entry, unsigned* found) {
  const unsigned lanes = lanes_of_group<kThreads>(), lane = threadIdx.x % kWarpSize;
  const unsigned all = __ballot_sync(lanes, is_entry);
  const int leader = __ffs(static_cast<int>(lanes)) - 1;
  unsigned base = 0;
  if (static_cast<int>(lane) == leader && all != 0)
    base = atomicAdd(found, static_cast<unsigned>(__popc(all)));
  base = __shfl_sync(lanes, base, leader);
  return base + static_cast<unsigned>(__popc(all & ((1u << lane) - 1)));
}

/// Rows of a list with a hash table each.
template <unsigned kBin, bool kSums>
__global__ void __launch_bounds__(kBins[kBin].block())
    multiply_hashed(const __grid_constant__ Product p, const std::uint32_t* rows, unsigned count) {
  constexpr Bin kOwn = kBins[kBin];
  constexpr unsigned kThreads = kOwn.threads, kPlaces = kOwn.places;
  extern __shared__ std::uint32_t memory[];
  __shared__ unsigned found_by_row[kOwn.rows_of_block()];
  const unsigned group = threadIdx.x / kThreads, thread = threadIdx.x % kThreads;
  const unsigned i = blockIdx.x * kOwn.rows_of_block() + group;
  if (i >= count) return;
  const Count row = rows[i];
  std::uint32_t* const keys = memory + group * kPlaces * (kSums ? 2 : 1);
  float* const sums = reinterpret_cast<float*>(keys + kPlaces);
  unsigned* const found = found_by_row + group;
  for (unsigned at = thread; at < kPlaces; at += kThreads) {
    keys[at] = kEmpty;
    if constexpr (kSums) sums[at] = 0;
  }
  if (thread == 0) *found = 0;
  meet<kThreads>();
  unsigned is_new = 0;
  p.for_each<kSums>(row, thread, kThreads, 0, kEmpty, [&](std::uint32_t column, float product) {
    unsigned at = column * 2654435761u >> (32 - __builtin_ctz(kPlaces));
    for (;; at = (at + 1) % kPlaces) {
      const std::uint32_t there = atomicCAS(keys + at, kEmpty, column);
      is_new += there == kEmpty ? 1 : 0;
      if (there == kEmpty || there == column) break;
    }
    if constexpr (kSums) atomicAdd(sums + at, product);
  });
  if constexpr (!kSums) {
    if (is_new > 0) atomicAdd(found, is_new);
    meet<kThreads>();
    if (thread == 0) p.row_entries[row] = *found;
  } else {
    meet<kThreads>();
    for (unsigned at = thread; at < kPlaces; at += kThreads) {
      const bool is_entry = keys[at] != kEmpty;
      const Count entry = p.first_entry[row] + next_entry<kThreads>(is_entry, found);
      if (is_entry) p.column[entry] = keys[at], p.values[entry] = p.alpha * sums[at];
    }
  }
}

/// A row of a list a thread block, with a bit and, in the second pass, a sum for each column of a
/// range.
template <bool kSums>
__global__ void __launch_bounds__(kDenseThreads)
    multiply_dense(const __grid_constant__ Product p, const std::uint32_t* rows) {
  constexpr unsigned kRange = kSums ? kDenseColumns : kDenseBits, kWords = kRange / kWarpSize;
  extern __shared__ std::uint32_t memory[];
  __shared__ unsigned found;
  std::uint32_t* const bits = memory;
  [[maybe_unused]] float* const sums = reinterpret_cast<float*>(memory + kWords);
  const Count row = rows[blockIdx.x];
  if (threadIdx.x == 0) found = 0;
  for (std::uint32_t low = 0; low < p.columns; low += kRange) {
    for (unsigned w = threadIdx.x; w < kWords; w += kDenseThreads) bits[w] = 0;
    if constexpr (kSums)
      for (unsigned c = threadIdx.x; c < kRange; c += kDenseThreads) sums[c] = 0;
    __syncthreads();
    p.for_each<kSums>(row, threadIdx.x, kDenseThreads, low, low + kRange,
                      [&](std::uint32_t column, float product) {
                        const std::uint32_t c = column - low;
                        const std::uint32_t bit = 1u << c % kWarpSize;
                        if ((bits[c / kWarpSize] & bit) == 0) atomicOr(bits + c / kWarpSize, bit);
                        if constexpr (kSums) atomicAdd(sums + c, product);
                      });
    __syncthreads();
    if constexpr (!kSums) {
      unsigned own = 0;
      for (unsigned w = threadIdx.x; w < kWords; w += kDenseThreads)
        own += static_cast<unsigned>(__popc(bits[w]));
      if (own > 0) atomicAdd(&found, own);
    } else {
      for (unsigned c = threadIdx.x; c < kRange; c += kDenseThreads) {
        const bool is_entry = (bits[c / kWarpSize] >> c % kWarpSize & 1) != 0;
        const Count entry = p.first_entry[row] + next_entry<kDenseThreads>(is_entry, &found);
        if (is_entry) p.column[entry] = low + c, p.values[entry] = p.alpha * sums[c];
      }
    }
    __syncthreads();
  }
  if constexpr (!kSums)
    if (threadIdx.x == 0) p.row_entries[row] = found;
}

}  // namespace kernels
}  // namespace retensor::hash_spgemm
