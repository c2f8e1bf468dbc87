// Kernels of the element-wise path of bcb_sptc.cuda, for tensors whose blocks hold too little for a
// tensor core. Included by .cu files alone.
//
// Rows of the result are made one by one as Gustavson multiplies sparse matrices: each nonzero of a
// row of x meets the nonzeros of y of the same contracted coordinate ("group"), and a hash table by
// column adds up their products. The same walk runs twice: to count the columns of a row, and, once
// a scan has told where its entries lie, to add up values. Eight lanes take a nonzero of x, so that
// short groups leave few lanes idle.
//
// A row of at most kWarpProducts products has one warp and a table in shared memory, with half as
// many places again as products. The lane that meets a column first stores its product, and adds
// come after the whole warp's stores: where columns hardly ever meet twice no atomic is needed. A
// row of at most kBlockProducts has a thread block. A longer one is cut into units of so many
// products, each of a thread block; a unit adds its products up in shared memory first and then
// goes to the row's table in global memory, so that a column that all units meet costs one atomic a
// unit.
//
// Instructions: about 40 for 32 products in a pass, and 10 for 32 places cleared and read.
#pragma once

#include <cstdint>

#include "papers/bcb_sptc/matricised_cuda.cuh"

namespace retensor::bcb_sptc {

inline constexpr unsigned kWarp = 32, kLanesPerNonzero = 8, kWarpsOfBlock = 4;
inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kBlockTable = 12;  // log2 of the places of a thread block's table
inline constexpr Count kBlockProducts = Count{1} << (kBlockTable - 1);
/// Classes of rows: of a warp by their most products, of a thread block, and rows that are cut.
inline constexpr int kWarpClasses = 9, kBlockClass = kWarpClasses, kCutClass = kBlockClass + 1;
inline constexpr int kClasses = kCutClass + 1;
/// 32, 48, 64, 96 and so on to 512.
__host__ __device__ constexpr Count products_of_class(int c) {
  return (c % 2 == 0 ? Count{32} : Count{48}) << c / 2;
}
inline constexpr Count kWarpProducts = products_of_class(kWarpClasses - 1);
__host__ __device__ constexpr unsigned places_of_class(int c) {
  return static_cast<unsigned>(products_of_class(c) / 2 * 3);
}
inline constexpr std::uint32_t kEmpty = 0xffffffffu;

/// Operands and result as kernels get them.
struct RowProduct {
  Count rows, columns;
  const std::uint32_t *row_start, *x_group, *group_start, *y_column;
  const float *x_values, *y_values;
  const Count* first_product;  // of each nonzero of x, and the end
  const std::uint32_t* order;  // rows by class
  float alpha;
  std::uint32_t* row_entries;  // of the rows that are not cut
  const Count* first_entry;    // of each row, and the end
  std::uint32_t* column;       // of an entry
  float* values;

  __device__ Count products(Count row) const {
    return first_product[row_start[row + 1]] - first_product[row_start[row]];
  }
};

__device__ inline int class_of(Count products) {
  if (products > kBlockProducts) return kCutClass;
  if (products > kWarpProducts) return kBlockClass;
  int c = 0;
  while (products > products_of_class(c)) ++c;
  return c;
}

/// Sums by column.
struct Table {
  std::uint32_t* keys;
  float* sums;
  unsigned places;

  /// By the high bits of the hash, so that any number of places will do.
  __device__ unsigned start(std::uint32_t key) const { return __umulhi(key * 2654435761u, places); }
  __device__ unsigned after(unsigned place) const { return place + 1 < places ? place + 1 : 0; }
  /// The place of a key, which it takes if it is not there; is_new tells.
  __device__ unsigned insert(std::uint32_t key, bool& is_new) const {
    for (unsigned place = start(key);; place = after(place)) {
      const std::uint32_t there = atomicCAS(keys + place, kEmpty, key);
      is_new = there == kEmpty;
      if (is_new || there == key) return place;
    }
  }
  __device__ unsigned find(std::uint32_t key) const {
    unsigned place = start(key);
    while (keys[place] != key) place = after(place);
    return place;
  }
};

/// Sets a table that all of `threads` threads share to empty; `thread` is this one's number.
template <bool kSums>
__device__ void clear(const Table& table, unsigned thread, unsigned threads) {
  for (unsigned i = thread; i < table.places; i += threads) {
    table.keys[i] = kEmpty;
    if constexpr (kSums) table.sums[i] = 0;
  }
}

/// A warp adds the products of the nonzeros of x from `begin` to `end` up in a table of its own,
/// whose sums need not be cleared; how many columns this lane was the first to meet.
template <bool kSums>
__device__ unsigned add_row(const RowProduct& p, const Table& table, std::uint32_t begin,
                            std::uint32_t end) {
  const unsigned lane = threadIdx.x % kWarp, place_in_group = lane % kLanesPerNonzero;
  unsigned columns = 0;
  for (std::uint32_t base = begin; base < end; base += kWarp) {
    // A lane reads the group of one of 32 nonzeros.
    std::uint32_t own_first = 0, own_size = 0;
    float own_x = 0;
    if (base + lane < end) {
      const std::uint32_t group = p.x_group[base + lane];
      own_first = p.group_start[group];
      own_size = p.group_start[group + 1] - own_first;
      if constexpr (kSums) own_x = p.x_values[base + lane];
    }
    const unsigned here = min(kWarp, end - base);
    for (unsigned a = 0; a < here; a += kWarp / kLanesPerNonzero) {
      const int from = static_cast<int>(a + lane / kLanesPerNonzero);
      const std::uint32_t first = __shfl_sync(kAllLanes, own_first, from);
      const std::uint32_t size = __shfl_sync(kAllLanes, own_size, from);
      const float x = __shfl_sync(kAllLanes, own_x, from);
      unsigned longest = max(size, __shfl_xor_sync(kAllLanes, size, 8));
      longest = max(longest, __shfl_xor_sync(kAllLanes, longest, 16));
      for (unsigned step = 0; step < longest; step += kLanesPerNonzero) {
        const unsigned q = step + place_in_group;
        bool is_new = false;
        unsigned place = 0;
        float product = 0;
        if (q < size) {
          place = table.insert(p.y_column[first + q], is_new);
          columns += is_new ? 1u : 0u;
          if constexpr (kSums) product = x * p.y_values[first + q];
        }
        if constexpr (kSums) {
          if (is_new) table.sums[place] = product;
          __syncwarp();
          if (q < size && !is_new) atomicAdd(table.sums + place, product);
        }
      }
    }
  }
  __syncwarp();
  return columns;
}

/// A thread block adds the products `first` to `last` of the nonzeros of x from `begin` to `end` up
/// in a cleared table; how many columns this thread was the first to meet.
template <bool kSums>
__device__ unsigned add_products(const RowProduct& p, const Table& table, Count begin, Count end,
                                 Count first, Count last) {
  unsigned columns = 0;
  const unsigned lane = threadIdx.x % kLanesPerNonzero;
  for (Count a = begin + threadIdx.x / kLanesPerNonzero; a < end;
       a += kThreads / kLanesPerNonzero) {
    const Count product = p.first_product[a], group = p.group_start[p.x_group[a]];
    if (product >= last) break;
    const float x = kSums ? p.x_values[a] : 0;
    const Count stop = min(p.first_product[a + 1], last) - product;
    for (Count q = max(product, first) - product + lane; q < stop; q += kLanesPerNonzero) {
      bool is_new = false;
      const unsigned place = table.insert(p.y_column[group + q], is_new);
      columns += is_new ? 1u : 0u;
      if constexpr (kSums) atomicAdd(table.sums + place, x * p.y_values[group + q]);
    }
  }
  __syncthreads();
  return columns;
}

__device__ inline unsigned sum_of_warp(unsigned x) {
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(kAllLanes, x, distance);
  return x;
}

namespace kernels {

struct ProductsOf {
  const std::uint32_t *x_group, *group_start;
  __host__ __device__ Count operator()(Count a) const {
    return group_start[x_group[a] + 1] - group_start[x_group[a]];
  }
};

__global__ void classify(RowProduct p, std::uint32_t* classes, std::uint32_t* rows) {
  for_each_of_grid(p.rows, [&](Count row) {
    classes[row] = static_cast<std::uint32_t>(class_of(p.products(row)));
    rows[row] = static_cast<std::uint32_t>(row);
  });
}

/// Rows order[begin] to order[end - 1], a warp each; tables have `places` places.
template <bool kSums>
__global__ void __launch_bounds__(kWarpsOfBlock* kWarp)
    multiply_short_rows(RowProduct p, Count begin, Count end, unsigned places) {
  extern __shared__ std::uint32_t memory[];
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const Count at = begin + Count{blockIdx.x} * kWarpsOfBlock + warp;
  if (at >= end) return;
  std::uint32_t* const keys = memory + (kSums ? 2 : 1) * warp * places;
  const Table table{keys, reinterpret_cast<float*>(keys + places), places};
  clear<false>(table, lane, kWarp);
  __syncwarp();
  const Count row = p.order[at];
  const unsigned columns = add_row<kSums>(p, table, p.row_start[row], p.row_start[row + 1]);
  if constexpr (!kSums) {
    const unsigned all = sum_of_warp(columns);
    if (lane == 0) p.row_entries[row] = all;
  } else {
    Count entry = p.first_entry[row];
    for (unsigned i = lane; i < places; i += kWarp) {
      const bool is_taken = table.keys[i] != kEmpty;
      const unsigned all = __ballot_sync(kAllLanes, is_taken);
      if (is_taken) {
        const Count own = entry + static_cast<Count>(__popc(all & ((1u << lane) - 1)));
        p.column[own] = table.keys[i];
        p.values[own] = p.alpha * table.sums[i];
      }
      entry += static_cast<Count>(__popc(all));
    }
  }
}

/// The same, a thread block each.
template <bool kSums>
__global__ void __launch_bounds__(kThreads) multiply_rows(RowProduct p, Count begin) {
  __shared__ std::uint32_t keys[1 << kBlockTable];
  __shared__ float sums[kSums ? 1 << kBlockTable : 1];
  __shared__ unsigned written;
  const Table table{keys, sums, 1u << kBlockTable};
  clear<kSums>(table, threadIdx.x, kThreads);
  if (threadIdx.x == 0) written = 0;
  __syncthreads();
  const Count row = p.order[begin + blockIdx.x];
  const Count first = p.row_start[row], last = p.row_start[row + 1];
  const unsigned columns =
      add_products<kSums>(p, table, first, last, p.first_product[first], p.first_product[last]);
  if constexpr (!kSums) {
    if (columns > 0) atomicAdd(&written, columns);
    __syncthreads();
    if (threadIdx.x == 0) p.row_entries[row] = written;
  } else {
    for (unsigned i = threadIdx.x; i < table.places; i += kThreads) {
      const bool is_taken = keys[i] != kEmpty;
      const unsigned all = __ballot_sync(kAllLanes, is_taken), lane = threadIdx.x % kWarp;
      unsigned base = 0;
      if (lane == 0 && all != 0) base = atomicAdd(&written, static_cast<unsigned>(__popc(all)));
      base = __shfl_sync(kAllLanes, base, 0);
      if (!is_taken) continue;
      const Count entry =
          p.first_entry[row] + base + static_cast<Count>(__popc(all & ((1u << lane) - 1)));
      p.column[entry] = keys[i];
      p.values[entry] = p.alpha * sums[i];
    }
  }
}

/// Rows that are cut.
struct CutRows {
  Count rows;
  const std::uint32_t* row;               // number of each
  const Count *first_unit, *first_place;  // of each, and the end; places of the tables
  const std::uint32_t* row_of_unit;
  std::uint32_t* keys;  // of all tables
  const Count* rank;    // of each place among those that are taken
  Count first_entry;    // of the result
};

struct UnitsOf {
  RowProduct p;
  const std::uint32_t* row;
  __host__ __device__ Count operator()(Count i) const {
    const Count products =
        p.first_product[p.row_start[row[i] + 1]] - p.first_product[p.row_start[row[i]]];
    return (products + kBlockProducts - 1) / kBlockProducts;
  }
};

struct PlacesOf {
  RowProduct p;
  const std::uint32_t* row;
  __host__ __device__ Count operator()(Count i) const {
    const Count products =
        p.first_product[p.row_start[row[i] + 1]] - p.first_product[p.row_start[row[i]]];
    const Count most = products < p.columns ? products : p.columns;
    return 2 * most;
  }
};

struct IsTaken {
  const std::uint32_t* keys;
  __host__ __device__ Count operator()(Count i) const { return keys[i] != kEmpty ? 1 : 0; }
};

template <bool kSums>
__global__ void __launch_bounds__(kThreads) multiply_units(RowProduct p, CutRows cut) {
  __shared__ std::uint32_t keys[1 << kBlockTable];
  __shared__ float sums[kSums ? 1 << kBlockTable : 1];
  const Table table{keys, sums, 1u << kBlockTable};
  clear<kSums>(table, threadIdx.x, kThreads);
  __syncthreads();
  const Count i = cut.row_of_unit[blockIdx.x], row = cut.row[i];
  const Count begin = p.row_start[row], end = p.row_start[row + 1];
  const Count first = p.first_product[begin] + (blockIdx.x - cut.first_unit[i]) * kBlockProducts;
  const Count last = min(first + kBlockProducts, p.first_product[end]);
  // The nonzero of x with the first product.
  Count low = begin, high = end - 1;
  while (low < high) {
    const Count middle = (low + high + 1) / 2;
    if (p.first_product[middle] <= first)
      low = middle;
    else
      high = middle - 1;
  }
  add_products<kSums>(p, table, low, end, first, last);
  const Count place = cut.first_place[i];
  const Table whole{cut.keys + place, nullptr,
                    static_cast<unsigned>(cut.first_place[i + 1] - place)};
  for (unsigned s = threadIdx.x; s < table.places; s += kThreads) {
    if (keys[s] == kEmpty) continue;
    if constexpr (kSums) {
      atomicAdd(p.values + cut.first_entry + cut.rank[place + whole.find(keys[s])],
                p.alpha * sums[s]);
    } else {
      bool is_new = false;
      whole.insert(keys[s], is_new);
    }
  }
}

__global__ void write_cut_rows(Count places, CutRows cut, const std::uint32_t* row_of_place,
                               EntryModes modes) {
  for_each_of_grid(places, [&](Count s) {
    if (cut.keys[s] != kEmpty)
      modes.write(cut.first_entry + cut.rank[s], cut.row[row_of_place[s]], cut.keys[s]);
  });
}

}  // namespace kernels
}  // namespace retensor::bcb_sptc
