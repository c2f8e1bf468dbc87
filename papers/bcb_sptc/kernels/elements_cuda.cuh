// Kernels of the element-wise path of bcb_sptc.cuda, for tensors whose blocks hold too little for a
// tensor core. Included by .cu files alone.
//
// Rows of the result are made one by one as Gustavson multiplies sparse matrices: each nonzero of a
// row of x meets the nonzeros of y of the same contracted coordinate ("group"), and a hash table by
// column adds up their products. The same walk runs twice: to count the columns of a row, and, once
// a scan has told where its entries lie, to add up values.
//
// A row of at most kWarpProducts products has one warp and a table in shared memory with twice as
// many places as products. All these rows are one launch: on an H200 nine launches by the size of
// the table, with half as many places again as products, took 0.155 ms for 65,536 rows where five
// with twice as many took 0.098. The warp numbers the products of 32 nonzeros of x and takes 32
// products at a time, whatever the groups' lengths; those of the next step are read before these
// are added up. The lane that meets a column first stores its product, and adds come after the
// whole warp's stores: where columns hardly ever meet twice no atomic is needed.
//
// A row of at most kBlockProducts has a thread block, each of whose warps takes an equal part of
// the products, however few nonzeros of x they belong to. A longer one is cut into units of so many
// products, each of a thread block; a unit adds its products up in shared memory first and then
// goes to the row's table in global memory, so that a column that all units meet costs one atomic a
// unit. Where there are few columns, as contractions over all modes but one have them, each warp of
// a thread block has sums of its own.
//
// Instructions: about 60 for 32 products in a pass, and 10 for 32 places cleared and read.
#pragma once

#include <cstdint>

#include "papers/bcb_sptc/format/matricised_device.cuh"

namespace retensor::bcb_sptc {

inline constexpr unsigned kWarp = 32, kWarpsOfBlock = 4;
inline constexpr unsigned kAllLanes = 0xffffffffu;
/// The most products of a row of one warp and of one thread block.
inline constexpr Count kWarpProducts = 512, kBlockProducts = 2048;
/// Places of a table up to which each warp of a thread block has sums of its own.
inline constexpr unsigned kFewPlaces = 256;
/// Places of a table for so many columns.
__host__ __device__ constexpr unsigned places_for(Count columns) {
  return static_cast<unsigned>((2 * columns + 31) / 32 * 32);
}
/// Sums of a place in the table of a thread block.
__host__ __device__ constexpr unsigned copies_for(unsigned places) {
  return places <= kFewPlaces ? kThreads / kWarp : 1;
}
/// Bytes of such a table.
template <bool kSums>
constexpr unsigned table_bytes(unsigned places) {
  return 4 * places * (kSums ? 1 + copies_for(places) : 1);
}
static_assert(table_bytes<true>(kFewPlaces) <= device::kSharedUnasked &&
              table_bytes<true>(places_for(kBlockProducts)) <= device::kSharedUnasked &&
              kWarpsOfBlock * places_for(kWarpProducts) * 8 <= device::kSharedUnasked);
inline constexpr std::uint32_t kEmpty = 0xffffffffu;

/// Operands and result as kernels get them.
struct RowProduct {
  Count rows, columns;
  const std::uint32_t *row_start, *x_group, *group_start, *y_column;
  const float *x_values, *y_values;
  const Count* first_product;  // of each nonzero of x, and the end
  float alpha;
  std::uint32_t* row_entries;  // of the rows that are not cut
  const Count* first_entry;    // of each row, and the end
  std::uint32_t* column;       // of an entry
  float* values;

  __host__ __device__ Count products(Count row) const {
    return first_product[row_start[row + 1]] - first_product[row_start[row]];
  }
  /// Places of a table for some products of a row.
  __host__ __device__ unsigned places(Count products) const {
    return places_for(products < columns ? products : columns);
  }
};

/// Sums by column.
struct Table {
  std::uint32_t* keys;
  float* sums;
  unsigned places;
  unsigned copies = 1;  // of the sums, one after the other

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
  for (unsigned i = thread; i < table.places; i += threads) table.keys[i] = kEmpty;
  if constexpr (kSums)
    for (unsigned i = thread; i < table.copies * table.places; i += threads) table.sums[i] = 0;
}

/// The products of up to 32 nonzeros of x, a lane each, numbered one after the other.
template <bool kSums>
class WarpProducts {
 public:
  struct Product {
    std::uint32_t column;
    float value;
  };

  /// Of the nonzeros from `base` on and before `end`.
  __device__ WarpProducts(const RowProduct& p, Count base, Count end) : p_(p) {
    const Count own = base + threadIdx.x % kWarp;
    std::uint32_t size = 0;
    if (own < end) {
      const std::uint32_t group = p.x_group[own];
      first_ = p.group_start[group];
      size = p.group_start[group + 1] - first_;
      if constexpr (kSums) x_ = p.x_values[own];
    }
    number(size);
  }
  /// Those of them that are number `first` to last - 1 of all products.
  __device__ WarpProducts(const RowProduct& p, Count base, Count end, Count first, Count last)
      : p_(p) {
    const Count own = base + threadIdx.x % kWarp;
    std::uint32_t size = 0;
    if (own < end) {
      const Count before = p.first_product[own], begin = max(before, first);
      const Count stop = min(p.first_product[own + 1], last);
      first_ = p.group_start[p.x_group[own]] + static_cast<std::uint32_t>(begin - before);
      size = stop > begin ? static_cast<std::uint32_t>(stop - begin) : 0;
      if constexpr (kSums) x_ = p.x_values[own];
    }
    number(size);
  }

  __device__ std::uint32_t count() const { return count_; }

  /// Product i, which the whole warp asks for, each lane for its own; none from count() on.
  __device__ Product at(std::uint32_t i) const {
    int nonzero = 0;  // the last whose first product is not above i
    for (int step = kWarp / 2; step > 0; step /= 2)
      if (__shfl_sync(kAllLanes, before_, nonzero + step) <= i) nonzero += step;
    const std::uint32_t place =
        __shfl_sync(kAllLanes, first_, nonzero) + (i - __shfl_sync(kAllLanes, before_, nonzero));
    const float x = kSums ? __shfl_sync(kAllLanes, x_, nonzero) : 0;
    if (i >= count_) return {kEmpty, 0};
    return {p_.y_column[place], kSums ? x * p_.y_values[place] : 0};
  }

 private:
  __device__ void number(std::uint32_t size) {
    const std::uint32_t sum = device::sum_up_to_lane(size);
    before_ = sum - size;
    count_ = __shfl_sync(kAllLanes, sum, kWarp - 1);
  }

  const RowProduct& p_;
  std::uint32_t first_ = 0, before_ = 0, count_ = 0;
  float x_ = 0;
};

/// A warp adds the products of the nonzeros of x from `begin` to `end` up in a table of its own,
/// whose sums need not be cleared; how many columns this lane was the first to meet.
template <bool kSums>
__device__ unsigned add_row(const RowProduct& p, const Table& table, std::uint32_t begin,
                            std::uint32_t end) {
  const unsigned lane = threadIdx.x % kWarp;
  unsigned columns = 0;
  for (std::uint32_t base = begin; base < end; base += kWarp) {
    const WarpProducts<kSums> products(p, base, end);
    auto next = products.at(lane);
    for (std::uint32_t i = 0; i < products.count(); i += kWarp) {
      const auto now = next;
      if (i + kWarp < products.count()) next = products.at(i + kWarp + lane);
      bool is_new = false;
      unsigned place = 0;
      if (now.column != kEmpty) place = table.insert(now.column, is_new);
      columns += is_new ? 1u : 0u;
      if constexpr (kSums) {
        if (is_new) table.sums[place] = now.value;
        __syncwarp();
        if (now.column != kEmpty && !is_new) atomicAdd(table.sums + place, now.value);
      }
    }
  }
  __syncwarp();
  return columns;
}

/// Adds the warps' sums up in the first copy.
__device__ inline void add_copies(const Table& table) {
  for (unsigned i = threadIdx.x; i < table.places; i += kThreads) {
    float sum = 0;
    for (unsigned c = 0; c < table.copies; ++c) sum += table.sums[c * table.places + i];
    table.sums[i] = sum;
  }
  __syncthreads();
}

/// A thread block adds the products `first` to last - 1, of the nonzeros of x from `begin` to
/// `end`, up in a cleared table; how many columns this thread was the first to meet.
template <bool kSums>
__device__ unsigned add_products(const RowProduct& p, const Table& table, Count begin, Count end,
                                 Count first, Count last) {
  constexpr unsigned kWarps = kThreads / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  const Count part = (last - first + kWarps - 1) / kWarps;
  const Count own_first = first + threadIdx.x / kWarp * part,
              own_last = min(own_first + part, last);
  // The nonzero with the warp's first product.
  const Count nonzero = begin + lower_bound(end - begin, own_first + 1, [&](Count a) {
                          return p.first_product[begin + a + 1];
                        });
  [[maybe_unused]] float* const sums =
      table.sums + (table.copies > 1 ? threadIdx.x / kWarp * table.places : 0);
  unsigned columns = 0;
  for (Count base = nonzero; base < end && p.first_product[base] < own_last; base += kWarp) {
    const WarpProducts<kSums> products(p, base, end, own_first, own_last);
    auto next = products.at(lane);
    for (std::uint32_t i = 0; i < products.count(); i += kWarp) {
      const auto now = next;
      if (i + kWarp < products.count()) next = products.at(i + kWarp + lane);
      if (now.column == kEmpty) continue;
      bool is_new = false;
      const unsigned place = table.insert(now.column, is_new);
      columns += is_new ? 1u : 0u;
      if constexpr (kSums) atomicAdd(sums + place, now.value);
    }
  }
  __syncthreads();
  if (kSums && table.copies > 1) add_copies(table);
  return columns;
}

__device__ inline unsigned sum_of_warp(unsigned x) {
  return device::joined_by_warp(x, [](unsigned a, unsigned b) { return a + b; });
}

namespace kernels {

/// Rows of `least` products or more, at most `most`.
struct HasProducts {
  RowProduct p;
  Count least, most;
  __host__ __device__ bool operator()(std::uint32_t row) const {
    const Count products = p.products(row);
    return products >= least && products <= most;
  }
};

/// A warp a row, for those of at most kWarpProducts products, whose tables have at most `most`
/// places.
template <bool kSums>
__global__ void __launch_bounds__(kWarpsOfBlock* kWarp)
    multiply_short_rows(const __grid_constant__ RowProduct p, unsigned most) {
  extern __shared__ std::uint32_t memory[];
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const Count row = Count{blockIdx.x} * kWarpsOfBlock + warp;
  if (row >= p.rows) return;
  const Count products = p.products(row);
  if (products > kWarpProducts) return;
  const unsigned places = p.places(products);
  std::uint32_t* const keys = memory + (kSums ? 2 : 1) * warp * most;
  const Table table{keys, reinterpret_cast<float*>(keys + most), places};
  clear<false>(table, lane, kWarp);
  __syncwarp();
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

/// A thread block a row of a list; tables have at most `most` places.
template <bool kSums>
__global__ void __launch_bounds__(kThreads)
    multiply_rows(const __grid_constant__ RowProduct p, const std::uint32_t* rows, unsigned most) {
  extern __shared__ std::uint32_t memory[];
  __shared__ unsigned written;
  const Count row = rows[blockIdx.x];
  const Count first = p.row_start[row], last = p.row_start[row + 1];
  const Table table{memory, reinterpret_cast<float*>(memory + most), p.places(p.products(row)),
                    copies_for(most)};
  clear<kSums>(table, threadIdx.x, kThreads);
  if (threadIdx.x == 0) written = 0;
  __syncthreads();
  const unsigned columns =
      add_products<kSums>(p, table, first, last, p.first_product[first], p.first_product[last]);
  if constexpr (!kSums) {
    if (columns > 0) atomicAdd(&written, columns);
    __syncthreads();
    if (threadIdx.x == 0) p.row_entries[row] = written;
  } else {
    for (unsigned i = threadIdx.x; i < (table.places + kThreads - 1) / kThreads * kThreads;
         i += kThreads) {
      const bool is_taken = i < table.places && table.keys[i] != kEmpty;
      const unsigned all = __ballot_sync(kAllLanes, is_taken), lane = threadIdx.x % kWarp;
      unsigned base = 0;
      if (lane == 0 && all != 0) base = atomicAdd(&written, static_cast<unsigned>(__popc(all)));
      base = __shfl_sync(kAllLanes, base, 0);
      if (!is_taken) continue;
      const Count entry =
          p.first_entry[row] + base + static_cast<Count>(__popc(all & ((1u << lane) - 1)));
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
  std::uint32_t* keys;                    // of all tables
  const Count* rank;                      // of each place among those that are taken
  Count first_entry;                      // of the result

  __device__ Count row_of_unit(Count unit) const {
    return lower_bound(rows, unit + 1, [&](Count r) { return first_unit[r + 1]; });
  }
};

struct UnitsOf {
  RowProduct p;
  const std::uint32_t* row;
  __host__ __device__ Count operator()(Count i) const {
    return (p.products(row[i]) + kBlockProducts - 1) / kBlockProducts;
  }
};

struct PlacesOf {
  RowProduct p;
  const std::uint32_t* row;
  __host__ __device__ Count operator()(Count i) const {
    const Count products = p.products(row[i]);
    return 2 * (products < p.columns ? products : p.columns);
  }
};

struct IsTaken {
  const std::uint32_t* keys;
  __host__ __device__ Count operator()(Count i) const { return keys[i] != kEmpty ? 1 : 0; }
};

template <bool kSums>
__global__ void __launch_bounds__(kThreads)
    multiply_units(const __grid_constant__ RowProduct p, const __grid_constant__ CutRows cut) {
  extern __shared__ std::uint32_t memory[];
  const unsigned places = p.places(kBlockProducts);
  const Table table{memory, reinterpret_cast<float*>(memory + places), places, copies_for(places)};
  clear<kSums>(table, threadIdx.x, kThreads);
  __syncthreads();
  const Count i = cut.row_of_unit(blockIdx.x), row = cut.row[i];
  const Count begin = p.row_start[row], end = p.row_start[row + 1];
  const Count first = p.first_product[begin] + (blockIdx.x - cut.first_unit[i]) * kBlockProducts;
  add_products<kSums>(p, table, begin, end, first,
                      min(first + kBlockProducts, p.first_product[end]));
  const Count place = cut.first_place[i];
  const Table whole{cut.keys + place, nullptr,
                    static_cast<unsigned>(cut.first_place[i + 1] - place)};
  for (unsigned s = threadIdx.x; s < table.places; s += kThreads) {
    if (table.keys[s] == kEmpty) continue;
    if constexpr (kSums) {
      atomicAdd(p.values + cut.first_entry + cut.rank[place + whole.find(table.keys[s])],
                p.alpha * table.sums[s]);
    } else {
      bool is_new = false;
      whole.insert(table.keys[s], is_new);
    }
  }
}

}  // namespace kernels
}  // namespace retensor::bcb_sptc
