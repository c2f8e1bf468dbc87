// Kernels of the element-wise path of bcb_sptc.cuda, for tensors whose blocks hold too little for a
// tensor core. Included by .cu files alone.
//
// Rows of the result are made one by one as Gustavson multiplies sparse matrices: each nonzero of a
// row of x meets the nonzeros of y of the same contracted coordinate ("group"), and a hash table by
// column adds up their products. The same walk runs twice: to count the columns of a row, and, once
// a scan has told where its entries lie, to add up values. Eight lanes take a nonzero of x, so that
// short groups leave few lanes idle.
//
// A row of at most kWarpProducts products has a table in shared memory and one warp, one of at most
// kBlockProducts a thread block. A longer one is cut into units of kBlockProducts products, each of
// a thread block; a unit adds its products up in shared memory first and then goes to the row's
// table in global memory, so that a column that all units meet costs one atomic a unit.
//
// Tables have at least twice as many places as products, or columns where these are fewer.
// Instructions: about 40 for 32 products in a pass, and 10 for 32 places cleared and read.
#pragma once

#include <cstdint>

#include "papers/bcb_sptc/matricised_cuda.cuh"

namespace retensor::bcb_sptc {

inline constexpr unsigned kWarp = 32, kLanesPerNonzero = 8;
inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kSmallestTable = 6, kWarpTable = 10, kBlockTable = 12;  // log2 of the places
inline constexpr Count kWarpProducts = Count{1} << (kWarpTable - 1);
inline constexpr Count kBlockProducts = Count{1} << (kBlockTable - 1);
/// Classes of rows: tables of 2^6 to 2^10 places, 2^12, and rows that are cut.
inline constexpr int kBlockClass = kWarpTable - kSmallestTable + 1, kCutClass = kBlockClass + 1;
inline constexpr int kClasses = kCutClass + 1;
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
  for (int c = 0;; ++c)
    if (products <= Count{1} << (kSmallestTable + c - 1)) return c;
}

/// Sums by column.
struct Table {
  std::uint32_t* keys;
  float* sums;
  int bits;

  __device__ unsigned size() const { return 1u << bits; }
  __device__ unsigned start(std::uint32_t key) const { return key * 2654435761u >> (32 - bits); }
  /// The place of a key, which it takes if it is not there; is_new tells.
  __device__ unsigned insert(std::uint32_t key, bool& is_new) const {
    for (unsigned place = start(key);; place = (place + 1) & (size() - 1)) {
      const std::uint32_t there = atomicCAS(keys + place, kEmpty, key);
      is_new = there == kEmpty;
      if (is_new || there == key) return place;
    }
  }
  __device__ unsigned find(std::uint32_t key) const {
    unsigned place = start(key);
    while (keys[place] != key) place = (place + 1) & (size() - 1);
    return place;
  }
};

/// Some threads that work on one row or unit: a warp or the thread block.
template <unsigned kThreadsOfTeam>
struct Team {
  static constexpr unsigned kSize = kThreadsOfTeam;
  __device__ static unsigned rank() { return threadIdx.x % kSize; }
  __device__ static void synchronise() {
    if constexpr (kSize == kWarp)
      __syncwarp();
    else
      __syncthreads();
  }
};

template <class T, bool kSums>
__device__ void clear(const Table& table) {
  for (unsigned i = T::rank(); i < table.size(); i += T::kSize) {
    table.keys[i] = kEmpty;
    if constexpr (kSums) table.sums[i] = 0;
  }
  T::synchronise();
}

/// Adds the products `first` to `last` of the nonzeros of x from `begin` to `end`; how many columns
/// this thread was the first to meet.
template <class T, bool kSums>
__device__ std::uint32_t add_products(const RowProduct& p, const Table& table, Count begin,
                                      Count end, Count first, Count last) {
  std::uint32_t columns = 0;
  const unsigned lane = T::rank() % kLanesPerNonzero;
  for (Count a = begin + T::rank() / kLanesPerNonzero; a < end; a += T::kSize / kLanesPerNonzero) {
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
  T::synchronise();
  return columns;
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

/// Rows order[begin] to order[end - 1], whose tables have 2^bits places.
template <unsigned kTeam, bool kSums>
__global__ void __launch_bounds__(kThreads)
    multiply_rows(RowProduct p, Count begin, Count end, int bits) {
  using T = Team<kTeam>;
  extern __shared__ std::uint32_t memory[];
  __shared__ unsigned written[kThreads / kTeam];
  const unsigned team = threadIdx.x / kTeam;
  const Count place = begin + Count{blockIdx.x} * (blockDim.x / kTeam) + team;
  if (place >= end) return;  // a whole team
  const unsigned teams = blockDim.x / kTeam;
  Table table{memory + (team << bits), nullptr, bits};
  if constexpr (kSums)
    table.sums = reinterpret_cast<float*>(memory + (teams << bits)) + (team << bits);
  if (T::rank() == 0) written[team] = 0;
  clear<T, kSums>(table);
  const Count row = p.order[place], first_x = p.row_start[row], last_x = p.row_start[row + 1];
  const std::uint32_t columns = add_products<T, kSums>(
      p, table, first_x, last_x, p.first_product[first_x], p.first_product[last_x]);
  if constexpr (!kSums) {
    if (columns > 0) atomicAdd(&written[team], columns);
    T::synchronise();
    if (T::rank() == 0) p.row_entries[row] = written[team];
  } else {
    const Count first = p.first_entry[row];
    for (unsigned i = T::rank(); i < table.size(); i += T::kSize) {
      const bool is = table.keys[i] != kEmpty;
      const unsigned all = __ballot_sync(kAllLanes, is), lane = threadIdx.x % kWarp;
      unsigned base = 0;
      if (lane == 0 && all != 0)
        base = atomicAdd(&written[team], static_cast<unsigned>(__popc(all)));
      base = __shfl_sync(kAllLanes, base, 0);
      if (!is) continue;
      const Count entry = first + base + static_cast<Count>(__popc(all & ((1u << lane) - 1)));
      p.column[entry] = table.keys[i];
      p.values[entry] = p.alpha * table.sums[i];
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
    Count places = 64;
    while (places < 2 * most) places *= 2;
    return places;
  }
};

struct IsTaken {
  const std::uint32_t* keys;
  __host__ __device__ Count operator()(Count i) const { return keys[i] != kEmpty ? 1 : 0; }
};

template <bool kSums>
__global__ void __launch_bounds__(kThreads) multiply_units(RowProduct p, CutRows cut) {
  using T = Team<kThreads>;
  __shared__ std::uint32_t keys[1 << kBlockTable];
  __shared__ float sums[kSums ? 1 << kBlockTable : 1];
  const Table table{keys, sums, kBlockTable};
  clear<T, kSums>(table);
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
  add_products<T, kSums>(p, table, low, end, first, last);
  const Count place = cut.first_place[i];
  const Table whole{cut.keys + place, nullptr,
                    63 - __clzll(static_cast<long long>(cut.first_place[i + 1] - place))};
  for (unsigned s = threadIdx.x; s < table.size(); s += kThreads) {
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
