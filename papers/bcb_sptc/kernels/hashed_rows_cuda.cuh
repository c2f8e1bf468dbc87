// Rows of a product of sparse matrices by hash tables in shared memory, for hash_spgemm.cuda and
// bcb_sptc.cuda.rows. Included by .cu files alone.
//
// Rows stand in lists by weight, mostly their size. A row has a group of threads, of which some
// neighbours walk over a row of y together, as many as its rows of y are long on average. Their
// sums stand in a hash table that is at most half full; a row that is too large for the largest
// table gets an array of sums over a range of columns, one range after the other. What becomes of
// the table is the pass's.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include "papers/bcb_sptc/format/matricised_device.cuh"

namespace retensor::bcb_sptc {

using device::kWarpSize;
using device::kWholeWarp;

/// Threads of a row, and places of the largest hash table.
struct RowBin {
  unsigned threads, places;
  constexpr unsigned most() const { return places / 2; }
  constexpr unsigned block() const { return threads < 256 ? 256 : threads; }
  constexpr unsigned rows_of_block() const { return block() / threads; }
};
inline constexpr RowBin kRowBins[] = {{8, 32},     {32, 256},   {256, 1024},  {256, 2048},
                                      {512, 4096}, {512, 8192}, {1024, 16384}};
inline constexpr unsigned kHashBins = std::size(kRowBins), kRowLists = kHashBins + 1;
/// Threads of a row in an array of sums, and the columns that they take at once.
inline constexpr unsigned kRowThreads = 1024, kSumColumns = 24'576, kBitColumns = 1 << 19;
/// Products that weigh as an entry, an own choice.
inline constexpr Count kProductsOfWeight = 32;
inline constexpr std::uint32_t kNoColumn = 0xffffffffu;
static_assert(kSumColumns % kWarpSize == 0 && kBitColumns % kWarpSize == 0);

/// Operands.
struct SparseProduct {
  Count rows, columns;
  const std::uint32_t *row_start, *x_group, *group_start, *y_column;
  const float *x_values, *y_values;
  const Count* first_product;  ///< of each nonzero of x, and the end

  explicit SparseProduct(const DeviceMatricised& m)
      : rows(m.rows),
        columns(m.columns),
        row_start(m.row_start.data()),
        x_group(m.x_group.data()),
        group_start(m.group_start.data()),
        y_column(m.y_column.data()),
        x_values(m.x_values.data()),
        y_values(m.y_values.data()),
        first_product(nullptr) {}

  __host__ __device__ Count products(Count row) const {
    return first_product[row_start[row + 1]] - first_product[row_start[row]];
  }
  /// Entries of a row at most.
  __host__ __device__ Count most_entries(Count row) const {
    return products(row) < columns ? products(row) : columns;
  }
  /// What a row is listed by: its entries, or more where a hash table suffices that they fit in but
  /// many products meet there, which want threads.
  __host__ __device__ Count weight(Count row, Count entries) const {
    const Count busy = products(row) / kProductsOfWeight;
    constexpr Count kMost = kRowBins[kHashBins - 1].most();
    return entries > busy || entries > kMost ? entries : busy < kMost ? busy : kMost;
  }
  /// Neighbouring threads for a row of y.
  __device__ unsigned together(Count row, unsigned threads) const {
    const unsigned length =
        static_cast<unsigned>(products(row) / (row_start[row + 1] - row_start[row]));
    return min(threads, min(kWarpSize, 1u << (31 - __clz(static_cast<int>(max(length, 1u))))));
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
            lower_bound(Count{end - b}, low, [&](Count i) { return y_column[b + i]; }));
      for (b += thread % lanes; b < end; b += lanes) {
        const std::uint32_t y = y_column[b];
        if (!all && y >= high) break;
        f(y, kSums ? x * y_values[b] : 0);
      }
    }
  }
};

/// A pass that counts the entries of each row.
struct CountPass {
  static constexpr bool kSums = false;
  std::uint32_t* row_entries;

  /// Entries at most.
  __device__ Count size(const SparseProduct& p, Count row) const { return p.most_entries(row); }
};
/// A pass that writes entries to the places of their rows.
struct FillPass {
  static constexpr bool kSums = true;
  const Count* first_entry;  ///< of each row, and the end
  std::uint32_t* column;
  float* values;
  float alpha;

  __device__ Count size(const SparseProduct&, Count row) const {
    return first_entry[row + 1] - first_entry[row];
  }
  /// Where `found` entries begin, of a row of which some have been written.
  __device__ Count first(Count row, Count written, unsigned) const {
    return first_entry[row] + written;
  }
  __device__ void write(Count entry, Count, std::uint32_t at, float sum) const {
    column[entry] = at;
    values[entry] = alpha * sum;
  }
};
/// A pass that writes entries behind those of the rows that have ended, with their coordinates.
struct AppendPass {
  static constexpr bool kSums = true;
  unsigned long long* entries;
  float* values;  ///< null where entries are only counted
  EntryModes modes;
  float alpha;

  __device__ Count size(const SparseProduct& p, Count row) const { return p.most_entries(row); }
  __device__ Count first(Count, Count, unsigned found) const { return atomicAdd(entries, found); }
  __device__ void write(Count entry, Count row, std::uint32_t at, float sum) const {
    if (values == nullptr) return;
    values[entry] = alpha * sum;
    modes.write(entry, row, at);
  }
};

/// Weights of rows whose entries are not counted yet.
struct WeightAtMost {
  SparseProduct p;
  __host__ __device__ Count operator()(Count row) const {
    return p.weight(row, p.most_entries(row));
  }
};

/// Numbers of rows by weight.
struct RowLists {
  std::uint32_t *rows, *count;  ///< [list][row] and [list]
};

/// The first whose tables hold as many entries.
__device__ inline unsigned list_of(Count size) {
  return [&]<unsigned... kBin>(std::integer_sequence<unsigned, kBin...>) {
    return (0u + ... +
            (size > std::integral_constant<unsigned, kRowBins[kBin].most()>::value ? 1 : 0));
  }
  (std::make_integer_sequence<unsigned, kHashBins>());
}

/// The lanes of a warp that belong to the thread's row.
template <unsigned kThreads>
__device__ unsigned lanes_of_row() {
  if constexpr (kThreads >= kWarpSize)
    return kWholeWarp;
  else
    return ((1u << kThreads) - 1) << (threadIdx.x % kWarpSize / kThreads * kThreads);
}
/// Waits for the threads of a row.
template <unsigned kThreads>
__device__ void meet_row() {
  if constexpr (kThreads > kWarpSize)
    __syncthreads();
  else
    __syncwarp(lanes_of_row<kThreads>());
}

/// The number of an entry among those of the row that were found before; all lanes of
/// lanes_of_row ask.
template <unsigned kThreads>
__device__ unsigned next_entry(bool is_entry, unsigned* found) {
  const unsigned lanes = lanes_of_row<kThreads>(), lane = threadIdx.x % kWarpSize;
  const unsigned all = __ballot_sync(lanes, is_entry);
  const int leader = __ffs(static_cast<int>(lanes)) - 1;
  unsigned base = 0;
  if (static_cast<int>(lane) == leader && all != 0)
    base = atomicAdd(found, static_cast<unsigned>(__popc(all)));
  base = __shfl_sync(lanes, base, leader);
  return base + static_cast<unsigned>(__popc(all & ((1u << lane) - 1)));
}

namespace kernels {

/// Into lists that are empty: each block takes places for its rows at once.
template <class Weight>
__global__ void __launch_bounds__(kThreads)
    list_rows(Count rows, const __grid_constant__ Weight weight, RowLists lists) {
  __shared__ unsigned count[kRowLists], first[kRowLists];
  if (threadIdx.x < kRowLists) count[threadIdx.x] = 0;
  __syncthreads();
  const Count row = device::thread_of_grid();
  const unsigned list = row < rows ? list_of(weight(row)) : 0;
  const unsigned place = row < rows ? atomicAdd(count + list, 1u) : 0;
  __syncthreads();
  if (threadIdx.x < kRowLists && count[threadIdx.x] > 0)
    first[threadIdx.x] = atomicAdd(lists.count + threadIdx.x, count[threadIdx.x]);
  __syncthreads();
  if (row < rows) lists.rows[list * rows + first[list] + place] = static_cast<std::uint32_t>(row);
}

/// Rows of a list with a hash table each, whose places are a power of two.
template <unsigned kBin, class Pass>
__global__ void __launch_bounds__(kRowBins[kBin].block())
    multiply_hashed(const __grid_constant__ SparseProduct p, const __grid_constant__ Pass pass,
                    const std::uint32_t* rows, unsigned count) {
  constexpr RowBin kOwn = kRowBins[kBin];
  constexpr unsigned kOfRow = kOwn.threads;
  extern __shared__ std::uint32_t memory[];
  __shared__ unsigned found_by_row[kOwn.rows_of_block()];
  [[maybe_unused]] __shared__ unsigned written_by_row[kOwn.rows_of_block()];
  [[maybe_unused]] __shared__ Count first_by_row[kOwn.rows_of_block()];
  const unsigned own = threadIdx.x / kOfRow, thread = threadIdx.x % kOfRow;
  const unsigned i = blockIdx.x * kOwn.rows_of_block() + own;
  if (i >= count) return;
  const Count row = rows[i];
  const unsigned bits =
      33u -
      static_cast<unsigned>(__clz(static_cast<int>(max(pass.size(p, row), Count{kOfRow} / 2) - 1)));
  const unsigned places = min(1u << bits, kOwn.places);
  std::uint32_t* const keys = memory + own * kOwn.places * (Pass::kSums ? 2 : 1);
  [[maybe_unused]] float* const sums = reinterpret_cast<float*>(keys + kOwn.places);
  unsigned* const found = found_by_row + own;
  for (unsigned at = thread; at < places; at += kOfRow) {
    keys[at] = kNoColumn;
    if constexpr (Pass::kSums) sums[at] = 0;
  }
  if (thread == 0) *found = 0, written_by_row[own] = 0;
  meet_row<kOfRow>();
  unsigned is_new = 0;
  p.for_each<Pass::kSums>(row, thread, kOfRow, 0, kNoColumn,
                          [&](std::uint32_t column, float product) {
                            unsigned at = __umulhi(column * 2654435761u, places);
                            for (;; at = (at + 1) & (places - 1)) {
                              const std::uint32_t there = atomicCAS(keys + at, kNoColumn, column);
                              is_new += there == kNoColumn ? 1 : 0;
                              if (there == kNoColumn || there == column) break;
                            }
                            if constexpr (Pass::kSums) atomicAdd(sums + at, product);
                          });
  if (is_new > 0) atomicAdd(found, is_new);
  meet_row<kOfRow>();
  if constexpr (!Pass::kSums) {
    if (thread == 0) pass.row_entries[row] = *found;
  } else {
    if (thread == 0) first_by_row[own] = pass.first(row, 0, *found);
    meet_row<kOfRow>();
    for (unsigned at = thread; at < places; at += kOfRow) {
      const bool is_entry = keys[at] != kNoColumn;
      const unsigned entry = next_entry<kOfRow>(is_entry, written_by_row + own);
      if (is_entry) pass.write(first_by_row[own] + entry, row, keys[at], sums[at]);
    }
  }
}

/// A row of a list a thread block, with a bit and, but where entries are only counted, a sum for
/// each column of a range.
template <class Pass>
__global__ void __launch_bounds__(kRowThreads)
    multiply_ranges(const __grid_constant__ SparseProduct p, const __grid_constant__ Pass pass,
                    const std::uint32_t* rows) {
  constexpr unsigned kRange = Pass::kSums ? kSumColumns : kBitColumns, kWords = kRange / kWarpSize;
  extern __shared__ std::uint32_t memory[];
  __shared__ unsigned found;
  [[maybe_unused]] __shared__ unsigned written;
  [[maybe_unused]] __shared__ Count first;
  std::uint32_t* const bits = memory;
  [[maybe_unused]] float* const sums = reinterpret_cast<float*>(memory + kWords);
  const Count row = rows[blockIdx.x];
  Count before = 0;  // entries of the ranges before
  for (std::uint32_t low = 0; low < p.columns; low += kRange) {
    for (unsigned w = threadIdx.x; w < kWords; w += kRowThreads) bits[w] = 0;
    if constexpr (Pass::kSums)
      for (unsigned c = threadIdx.x; c < kRange; c += kRowThreads) sums[c] = 0;
    if (threadIdx.x == 0) found = written = 0;
    __syncthreads();
    p.for_each<Pass::kSums>(row, threadIdx.x, kRowThreads, low, low + kRange,
                            [&](std::uint32_t column, float product) {
                              const std::uint32_t c = column - low, bit = 1u << c % kWarpSize;
                              if ((bits[c / kWarpSize] & bit) == 0)
                                atomicOr(bits + c / kWarpSize, bit);
                              if constexpr (Pass::kSums) atomicAdd(sums + c, product);
                            });
    __syncthreads();
    unsigned own = 0;
    for (unsigned w = threadIdx.x; w < kWords; w += kRowThreads)
      own += static_cast<unsigned>(__popc(bits[w]));
    if (own > 0) atomicAdd(&found, own);
    __syncthreads();
    if constexpr (Pass::kSums) {
      if (threadIdx.x == 0) first = pass.first(row, before, found);
      __syncthreads();
      for (unsigned c = threadIdx.x; c < kRange; c += kRowThreads) {
        const bool is_entry = (bits[c / kWarpSize] >> c % kWarpSize & 1) != 0;
        const unsigned entry = next_entry<kRowThreads>(is_entry, &written);
        if (is_entry) pass.write(first + entry, row, low + c, sums[c]);
      }
    }
    before += found;
    __syncthreads();
  }
  if constexpr (!Pass::kSums)
    if (threadIdx.x == 0) pass.row_entries[row] = static_cast<std::uint32_t>(before);
}

}  // namespace kernels

/// Lists of rows and the launches over them.
class ListedRows {
 public:
  using Lengths = std::array<std::uint32_t, kRowLists>;

  explicit ListedRows(Count rows) : rows_(rows), listed_(rows * kRowLists), count_(kRowLists) {}

  template <class Weight>
  void make(const Weight& weight, cudaStream_t stream) {
    count_.zero(stream);
    RETENSOR_CUDA_LAUNCH(kernels::list_rows<Weight>, device::blocks_for(rows_, kThreads), kThreads,
                         0, stream, rows_, weight, RowLists{listed_.data(), count_.data()});
  }
  /// Of the lists that were made last, small rows first; waits for the device.
  Lengths lengths() const {
    Lengths host;
    count_.download(host);
    return host;
  }
  /// Over lists of these lengths.
  template <class Pass>
  void multiply(const SparseProduct& p, const Pass& pass, const Lengths& lengths,
                cudaStream_t stream) const {
    [&]<unsigned... kBin>(std::integer_sequence<unsigned, kBin...>) {
      (launch<kBin>(p, pass, lengths[kBin], stream), ...);
    }
    (std::make_integer_sequence<unsigned, kHashBins>());
    constexpr unsigned kBytes = Pass::kSums ? kSumColumns * 4 + kSumColumns / 8 : kBitColumns / 8;
    if (lengths[kHashBins] > 0)
      RETENSOR_CUDA_LAUNCH((with_memory<kernels::multiply_ranges<Pass>, kBytes>()),
                           lengths[kHashBins], kRowThreads, kBytes, stream, p, pass,
                           listed_.data() + kHashBins * rows_);
  }
  Count bytes() const { return listed_.bytes() + count_.bytes(); }

 private:
  template <unsigned kBin, class Pass>
  void launch(const SparseProduct& p, const Pass& pass, unsigned count, cudaStream_t stream) const {
    constexpr RowBin kOwn = kRowBins[kBin];
    constexpr unsigned kBytes = kOwn.rows_of_block() * kOwn.places * (Pass::kSums ? 8 : 4);
    if (count > 0)
      RETENSOR_CUDA_LAUNCH((with_memory<kernels::multiply_hashed<kBin, Pass>, kBytes>()),
                           device::blocks_for(count, kOwn.rows_of_block()), kOwn.block(), kBytes,
                           stream, p, pass, listed_.data() + kBin * rows_, count);
  }
  /// The kernel, which may have so many bytes of shared memory from the first call on.
  template <auto kKernel, unsigned kBytes>
  static auto with_memory() {
    [[maybe_unused]] static const bool is_set = [] {
      RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(kBytes)));
      return true;
    }();
    return kKernel;
  }

  const Count rows_;
  Buffer<std::uint32_t> listed_, count_;
};

/// As a row of results tells them, small rows first.
inline std::string text_of(const ListedRows::Lengths& lengths) {
  std::string list;
  for (const std::uint32_t length : lengths) {
    if (!list.empty()) list += ' ';
    list += std::to_string(length);
  }
  return list;
}

/// The first product of each nonzero of x.
inline void number_listed_products(const DeviceMatricised& m, SparseProduct& product,
                                   Buffer<Count>& first_product, Cub& cub, cudaStream_t stream) {
  cub.sums(m.x_group.size(), kernels::ProductsOf{m.x_group.data(), m.group_start.data()},
           first_product, stream);
  product.first_product = first_product.data();
}

}  // namespace retensor::bcb_sptc
