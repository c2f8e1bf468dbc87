// Kernels of the product of blocks (BCB-SpTC section IV.B, Algorithms 2 to 4). Included by .cu
// files alone.
//
// A pair of blocks is a product of two matrices, R x K (free cells of x by contracted cells) times
// K x C, for any number of modes of each kind; both lie in their bitmaps row after row, R, K and C
// are powers of two. A warp takes a chunk of the pairs of one result block and a tile of 16 rows
// and at most 64 columns of it, whose sums it keeps in registers (Algorithm 2). It walks over the
// pairs and over those steps of 8 contracted cells in which both blocks hold a nonzero.
//
// Fragments are filled by bitmaps (Algorithm 3): a lane reads the word that has its cells, tests
// its two bits and finds each value by the popcount of the bits below. Cells of contracted index k
// that the other block lacks are left out, and so are tiles of 8 columns without a nonzero. So a
// product of 16 x 8 x 8 is done when both its fragments hold a nonzero that the other block's
// contracted cells meet.
//
// The pattern is found before the product, by bit operations: row i of the result's bitmap is the
// union of y's rows k over the bits k of x's row i, a thread a word, or a warp where that is long.
// A scan of the popcounts tells where the values of each word begin (compaction). Sums go out once,
// after the last pair of a chunk (Algorithm 4); chunks of one result block add theirs atomically.
//
// Instructions of a warp: about 60 a pair, 40 a step and 25 a tile of 8 columns with two values
// loaded; bytes of a pair: 8 of the task, 8 of each mask, 12 of each bitmap word and the values.
#pragma once

#include <cstdint>

#include "papers/bcb_sptc/format/task_list_device.cuh"
#include "papers/bcb_sptc/kernels/mma_cuda.cuh"

namespace retensor::bcb_sptc {

using device::kWholeWarp;

inline constexpr unsigned kTileRows = 16, kTileColumns = 64, kStep = 8;

/// One operand's bitmaps.
struct BlockBits {
  const std::uint64_t* bitmap;
  const std::uint32_t* word_start;
  unsigned words;  // of a block
};

/// Up to 64 neighbouring cells and the value of the first that is set.
template <class Position>
struct Strip {
  std::uint64_t bits;
  Position first;
  __device__ Position place(unsigned bit) const {
    return first + static_cast<Position>(__popcll(bits & ((std::uint64_t{1} << bit) - 1)));
  }
  __device__ bool has(unsigned bit) const { return (bits >> bit & 1) != 0; }
};

/// `width` cells, a power of two of at most 64, from a multiple of it on; `word` is a block's
/// first.
template <class Position>
__device__ inline Strip<Position> strip(const std::uint64_t* bitmap, const Position* word_start,
                                        Count word, unsigned cell, unsigned width) {
  const Count w = word + cell / 64;
  const std::uint64_t bits = bitmap[w];
  const unsigned shift = cell % 64;
  const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  return {
      bits >> shift & mask,
      word_start[w] + static_cast<Position>(__popcll(bits & ((std::uint64_t{1} << shift) - 1)))};
}

/// Everything that the kernels read and write.
struct BlockProduct {
  DeviceTaskList::View list;
  BlockBits x, y;
  const void *x_values, *y_values;  // as operands
  unsigned rows, contracted, columns;
  int column_bits;  // log2 of the columns
  int row_tile_bits,
      column_tile_bits;  // log2 of tiles of 16 rows, of 64 columns, in a result block
  int result_word_bits;  // log2 of the words of a result block
  bool is_split;         // some result block has more than one chunk
  float alpha;
  std::uint64_t* bitmap;    // of the results
  const Count* word_start;  // first entry of each word, and the end
  float* values;
  unsigned long long* mmas;  // products done, where they are counted

  __device__ Count result_of(Count chunk) const {
    return is_split ? list.chunk_result[chunk] : chunk;
  }
  /// The same before the list has it, by a search.
  __device__ Count find_result(Count chunk) const {
    if (!is_split || !list.sorted) return result_of(chunk);
    return lower_bound(list.results, chunk + 1, [&](Count r) { return list.chunk_first[r + 1]; });
  }
  __device__ Count first_task(Count chunk, Count result) const {
    if (is_split && !list.sorted) return chunk;
    const Count first = list.result_first[result];
    return is_split ? first + (chunk - list.chunk_first[result]) * list.chunk_tasks : first;
  }
  __device__ Count last_task(Count first, Count result) const {
    if (!list.sorted) return first + 1;
    return min(first + list.chunk_tasks, Count{list.result_first[result + 1]});
  }
  __device__ bool is_shared(Count result) const {
    return is_split &&
           (!list.sorted || list.chunk_first[result + 1] - list.chunk_first[result] > 1);
  }
  /// Blocks and result blocks are words of 8 x 8 cells.
  __host__ __device__ bool are_cubes() const {
    return rows == 8 && contracted == 8 && columns == 8;
  }
  /// 8 x 64 by 64 x 8 cells, or a multiple of the 64.
  __host__ __device__ bool are_long() const {
    return rows == 8 && columns == 8 && contracted >= 64;
  }
  /// Parts of a task in a word of the result's bitmap: its rows by words of contracted cells.
  __host__ __device__ unsigned pattern_parts() const {
    const unsigned rows_of_word = columns < 64 ? 64 / columns : 1;
    return (rows_of_word < rows ? rows_of_word : rows) * list.mask_words;
  }
  /// Contracted cells in which both blocks hold a nonzero, 64 a word.
  __device__ std::uint64_t common(Task task, unsigned w) const {
    return list.x_mask[Count{task.x} * list.mask_words + w] &
           list.y_mask[Count{task.y} * list.mask_words + w];
  }
};

/// What one row of x in 64 contracted cells, a part of pattern_parts(), adds of a task to a word of
/// a result block's bitmap.
__device__ inline std::uint64_t pattern_part(const BlockProduct& p, Count t, unsigned word,
                                             unsigned part) {
  const unsigned width = min(64u, p.columns);
  const unsigned row0 = word * 64 >> p.column_bits, column0 = word * 64 & (p.columns - 1);
  const unsigned w = part % p.list.mask_words, r = part / p.list.mask_words;
  const Task task = p.list.tasks[t];
  const std::uint64_t common = p.common(task, w);
  if (common == 0) return 0;
  const auto cells = [](const std::uint64_t* words, unsigned cell, unsigned n) {
    const std::uint64_t from = words[cell / 64] >> cell % 64;
    return n == 64 ? from : from & ((std::uint64_t{1} << n) - 1);
  };
  const std::uint64_t* const x = p.x.bitmap + Count{task.x} * p.x.words;
  const std::uint64_t* const y = p.y.bitmap + Count{task.y} * p.y.words;
  std::uint64_t line = 0;
  for (std::uint64_t ks =
           common & cells(x, (row0 + r) * p.contracted + w * 64, min(64u, p.contracted));
       ks != 0; ks &= ks - 1) {
    const unsigned k = w * 64 + static_cast<unsigned>(__ffsll(static_cast<long long>(ks)) - 1);
    line |= cells(y, k * p.columns + column0, width);
  }
  return line << r * width;
}

/// Where blocks and result blocks are words of 8 x 8 cells: as many boolean products at once as a
/// word has cells, one contracted index at a time.
__device__ inline std::uint64_t pattern_of_cubes(const BlockProduct& p, Count first, Count last) {
  constexpr std::uint64_t kFirstColumn = 0x0101010101010101u;
  std::uint64_t pattern = 0;
  for (Count t = first; t < last; ++t) {
    const Task task = p.list.tasks[t];
    const std::uint64_t x = p.x.bitmap[task.x], y = p.y.bitmap[task.y];
#pragma unroll
    for (unsigned k = 0; k < 8; ++k)
      pattern |= (x >> k & kFirstColumn) * 0xff & (y >> 8 * k & 0xff) * kFirstColumn;
  }
  return pattern;
}

/// A warp's tile of a result block. kTiles: tiles of 8 columns that it has at most.
template <Arithmetic kArithmetic, int kTiles>
class TileProduct {
  using Operand = typename OperandOf<kArithmetic>::Type;
  using Cells = Strip<std::uint32_t>;

 public:
  __device__ TileProduct(const BlockProduct& product, unsigned row0, unsigned column0)
      : p_(product),
        group_(threadIdx.x % 32 / 4),
        place_(threadIdx.x % 4),
        row0_(row0),
        column0_(column0) {}

  __device__ void add(Task task) {
    for (unsigned w = 0; w < p_.list.mask_words; ++w)
      for (std::uint64_t common = p_.common(task, w); common != 0;) {
        const auto step =
            static_cast<unsigned>(__ffsll(static_cast<long long>(common)) - 1) / kStep;
        add_step(task, w * 64 + step * kStep, static_cast<unsigned>(common >> step * kStep & 0xff));
        common &= ~(std::uint64_t{0xff} << step * kStep);
      }
  }

  /// Writes the sums where the result's bitmap has a bit.
  __device__ void store(Count result, bool is_shared) const {
    const unsigned width = min(kTileColumns, p_.columns);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned row = row0_ + group_ + 8 * half;
      if (row >= p_.rows) continue;
      const auto line = strip<Count>(p_.bitmap, p_.word_start, result << p_.result_word_bits,
                                     row * p_.columns + column0_, width);
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (unsigned e = 0; e < 2; ++e) {
          const unsigned column = static_cast<unsigned>(j) * 8 + 2 * place_ + e;
          if (column >= width || !line.has(column)) continue;
          const float sum = p_.alpha * sums_[j][2 * half + e];
          float* const to = p_.values + line.place(column);
          if (is_shared)
            atomicAdd(to, sum);
          else
            *to = sum;
        }
    }
  }

  __device__ unsigned mmas() const {
    return mmas_;
  }

 private:
  /// The contracted cells k0 to k0 + 7 of which `common` has the ones to take.
  __device__ void add_step(Task task, unsigned k0, unsigned common) {
    const unsigned own = common >> 2 * place_ & 3;  // of this lane's two
    Pair a[2];
    bool any = false;
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned row = row0_ + group_ + 8 * half;
      if (row >= p_.rows) continue;
      const Cells cells = strip(p_.x.bitmap, p_.x.word_start, Count{task.x} * p_.x.words,
                                row * p_.contracted + k0, min(kStep, p_.contracted));
      a[half] = {value(p_.x_values, cells, 2 * place_, own & 1),
                 value(p_.x_values, cells, 2 * place_ + 1, own >> 1)};
      any |= (cells.bits & common) != 0;
    }
    if (__any_sync(kWholeWarp, any)) add_columns(task, k0, own, a);
  }

  __device__ void add_columns(Task task, unsigned k0, unsigned own, const Pair (&a)[2]) {
    const Cells upper = row_of_y(task, k0 + 2 * place_, own & 1);
    const Cells lower = row_of_y(task, k0 + 2 * place_ + 1, own >> 1);
    std::uint64_t columns = upper.bits | lower.bits;
    columns |= __shfl_xor_sync(kWholeWarp, columns, 1);
    columns |= __shfl_xor_sync(kWholeWarp, columns, 2);
    Pair b[kTiles];  // all are on their way before the first product
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      const unsigned column = static_cast<unsigned>(j) * 8 + group_;
      b[j] = {value(p_.y_values, upper, column, 1), value(p_.y_values, lower, column, 1)};
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      if ((columns >> 8 * j & 0xff) == 0) continue;
      multiply_add<kArithmetic>(sums_[j], a, b[j]);
      ++mmas_;
    }
  }

  /// The tile's columns of row k of y's block; no bits where the row is left out.
  __device__ Cells row_of_y(Task task, unsigned k, unsigned taken) const {
    if (taken == 0) return {0, 0};
    return strip(p_.y.bitmap, p_.y.word_start, Count{task.y} * p_.y.words,
                 k * p_.columns + column0_, min(kTileColumns, p_.columns));
  }

  __device__ static std::uint32_t value(const void* values, const Cells& cells, unsigned bit,
                                        unsigned taken) {
    if (taken == 0 || !cells.has(bit)) return 0;
    return static_cast<const Operand*>(values)[cells.place(bit)];
  }

  const BlockProduct& p_;
  const unsigned group_, place_, row0_, column0_;
  float sums_[kTiles][4] = {};
  unsigned mmas_ = 0;
};

namespace kernels {

/// A warp a chunk and tile, whose sums a `Product` keeps.
template <class Product, bool kCounts>
__global__ void __launch_bounds__(kThreads) multiply(const __grid_constant__ BlockProduct p) {
  const Count warp = Count{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  const int tile_bits = p.row_tile_bits + p.column_tile_bits;
  const Count chunk = warp >> tile_bits;
  if (chunk >= p.list.chunks) return;
  const auto tile = static_cast<unsigned>(warp - (chunk << tile_bits));
  const unsigned row_tile = tile >> p.column_tile_bits;
  const Count result = p.result_of(chunk), first = p.first_task(chunk, result);
  Product product(p, row_tile * kTileRows,
                  (tile - (row_tile << p.column_tile_bits)) * kTileColumns);
  for (Count t = first; t < p.last_task(first, result); ++t) product.add(p.list.tasks[t]);
  if constexpr (kCounts) {
    if (threadIdx.x % 32 == 0) atomicAdd(p.mmas, Count{product.mmas()});
  } else {
    product.store(result, p.is_shared(result));
  }
}

}  // namespace kernels

/// The chunks of a warp whose blocks are words.
inline constexpr unsigned kChunksOfWarp = 8;

/// Products of blocks that are one word each, at most 8 x 8 by 8 x 8. A warp takes the tasks of
/// kChunksOfWarp chunks, which are neighbours: a lane reads the words of one of 32, which then go
/// round, and the values of the next pair are on their way while one is multiplied.
template <Arithmetic kArithmetic>
class WordProduct {
  using Operand = typename OperandOf<kArithmetic>::Type;

 public:
  __device__ WordProduct(const BlockProduct& p, Count first_chunk)
      : p_(p),
        lane_(threadIdx.x % 32),
        row_(lane_ / 4),
        k_(lane_ % 4 * 2),
        chunks_(static_cast<unsigned>(min(Count{kChunksOfWarp}, p.list.chunks - first_chunk))) {
    const Count chunk = first_chunk + min(lane_, chunks_ - 1);
    result_ = p.result_of(chunk);
    const Count first = p.first_task(chunk, result_);
    const Count last = p.last_task(first, result_);
    begin_ = __shfl_sync(kWholeWarp, first, 0);
    end_ = static_cast<unsigned>(last - begin_);
    bits_ = p.bitmap[result_];
    start_ = p.word_start[result_];
    is_shared_ = p.is_shared(result_);
  }

  __device__ void run() {
    const unsigned tasks = __shfl_sync(kWholeWarp, end_, static_cast<int>(chunks_ - 1));
    unsigned chunk = 0, end = __shfl_sync(kWholeWarp, end_, 0);
    for (unsigned base = 0; base < tasks; base += 32) {
      load(base, tasks);
      const unsigned here = min(32u, tasks - base);
      Operands next = operands(0);
      for (unsigned i = 0; i < here; ++i) {
        const Operands now = next;
        if (i + 1 < here) next = operands(i + 1);
        multiply_add<kArithmetic>(sums_, now.a, now.b);
        if (base + i + 1 < end) continue;
        store(chunk);
        ++chunk;
        end = __shfl_sync(kWholeWarp, end_, static_cast<int>(chunk % 32));
      }
    }
  }

 private:
  struct Operands {
    Pair a[2];
    Pair b;
  };

  /// The words of 32 tasks, a lane each.
  __device__ void load(unsigned base, unsigned tasks) {
    if (base + lane_ >= tasks) return;
    const Task task = p_.list.tasks[begin_ + base + lane_];
    x_ = p_.x.bitmap[task.x], y_ = p_.y.bitmap[task.y];
    x_start_ = p_.x.word_start[task.x], y_start_ = p_.y.word_start[task.y];
  }

  /// This lane's part of the fragments of the task whose words lane `from` has.
  __device__ Operands operands(unsigned from) const {
    const auto source = static_cast<int>(from);
    const Strip<std::uint32_t> x{__shfl_sync(kWholeWarp, x_, source),
                                 __shfl_sync(kWholeWarp, x_start_, source)};
    const Strip<std::uint32_t> y{__shfl_sync(kWholeWarp, y_, source),
                                 __shfl_sync(kWholeWarp, y_start_, source)};
    Operands to;
    const unsigned cell = row_ * p_.contracted + k_;
    to.a[0] = {value(p_.x_values, x, cell, row_ < p_.rows && k_ < p_.contracted),
               value(p_.x_values, x, cell + 1, row_ < p_.rows && k_ + 1 < p_.contracted)};
    const unsigned upper = (k_ << p_.column_bits) + row_;
    to.b = {value(p_.y_values, y, upper, row_ < p_.columns && k_ < p_.contracted),
            value(p_.y_values, y, upper + p_.columns, row_ < p_.columns && k_ + 1 < p_.contracted)};
    return to;
  }

  __device__ static std::uint32_t value(const void* values, const Strip<std::uint32_t>& word,
                                        unsigned bit, bool is_inside) {
    if (!is_inside || !word.has(bit)) return 0;
    return static_cast<const Operand*>(values)[word.place(bit)];
  }

  /// Writes the sums of a chunk and clears them.
  __device__ void store(unsigned chunk) {
    const auto source = static_cast<int>(chunk);
    const Strip<Count> line{__shfl_sync(kWholeWarp, bits_, source),
                            __shfl_sync(kWholeWarp, start_, source)};
    const bool is_shared = __shfl_sync(kWholeWarp, static_cast<int>(is_shared_), source) != 0;
    const unsigned cell = (row_ << p_.column_bits) + k_;
#pragma unroll
    for (unsigned e = 0; e < 2; ++e) {
      if (row_ < p_.rows && k_ + e < p_.columns && line.has(cell + e)) {
        float* const to = p_.values + line.place(cell + e);
        if (is_shared)
          atomicAdd(to, p_.alpha * sums_[e]);
        else
          *to = p_.alpha * sums_[e];
      }
    }
#pragma unroll
    for (float& sum : sums_) sum = 0;
  }

  const BlockProduct& p_;
  const unsigned lane_, row_, k_, chunks_;
  // Of the chunk that this lane stands for; its end among the warp's tasks.
  Count result_, begin_, start_;
  unsigned end_;
  std::uint64_t bits_;
  bool is_shared_;
  // Of the task that this lane has read.
  std::uint64_t x_ = 0, y_ = 0;
  std::uint32_t x_start_ = 0, y_start_ = 0;
  float sums_[4] = {};
};

namespace kernels {

template <Arithmetic kArithmetic>
__global__ void __launch_bounds__(kThreads) multiply_words(const __grid_constant__ BlockProduct p) {
  const Count first = (Count{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32) * kChunksOfWarp;
  if (first < p.list.chunks) WordProduct<kArithmetic>(p, first).run();
}

}  // namespace kernels

/// Products of 8 rows and 8 columns over 64 contracted cells and more, as contractions over all
/// modes but one have them. 64 cells are a word of each of x's rows and eight words of y; lanes
/// read the sixteen words at once, and the values of all are on their way before the first is
/// multiplied.
template <Arithmetic kArithmetic>
class LongProduct {
  using Operand = typename OperandOf<kArithmetic>::Type;

 public:
  __device__ explicit LongProduct(const BlockProduct& p)
      : p_(p), lane_(threadIdx.x % 32), row_(lane_ / 4), k_(lane_ % 4 * 2) {}

  __device__ void add(Task task) {
    if (p_.list.mask_words == 1) return add_cells(task, 0);
    for (unsigned first = 0; first < p_.list.mask_words; first += 32) {
      const unsigned own = first + lane_;
      unsigned filled =
          __ballot_sync(kWholeWarp, own < p_.list.mask_words && p_.common(task, own) != 0);
      for (; filled != 0; filled &= filled - 1)
        add_cells(task, first + static_cast<unsigned>(__ffs(static_cast<int>(filled)) - 1));
    }
  }

  __device__ void store(Count result, bool is_shared) const {
    const Strip<Count> line{p_.bitmap[result], p_.word_start[result]};
#pragma unroll
    for (unsigned e = 0; e < 2; ++e) {
      const unsigned cell = 8 * row_ + k_ + e;
      if (!line.has(cell)) continue;
      float* const to = p_.values + line.place(cell);
      if (is_shared)
        atomicAdd(to, p_.alpha * sums_[e]);
      else
        *to = p_.alpha * sums_[e];
    }
  }

  __device__ unsigned mmas() const {
    return mmas_;
  }

 private:
  static constexpr int kSteps = 64 / kStep;

  __device__ void add_cells(Task task, unsigned w) {
    const unsigned own = lane_ % 16;
    const bool of_x = own < 8;
    const BlockBits& from = of_x ? p_.x : p_.y;
    const Count word = of_x ? Count{task.x} * p_.x.words + own * p_.list.mask_words + w
                            : Count{task.y} * p_.y.words + w * 8 + own - 8;
    const Strip<std::uint32_t> read{from.bitmap[word], from.word_start[word]};
    const auto of_lane = [&](int lane) {
      return Strip<std::uint32_t>{__shfl_sync(kWholeWarp, read.bits, lane),
                                  __shfl_sync(kWholeWarp, read.first, lane)};
    };
    const auto x = of_lane(static_cast<int>(row_));
    Pair a[kSteps], b[kSteps];
#pragma unroll
    for (unsigned s = 0; s < kSteps; ++s) {
      const auto y = of_lane(static_cast<int>(8 + s));
      const unsigned cell = s * kStep + k_;
      a[s] = {value(p_.x_values, x, cell), value(p_.x_values, x, cell + 1)};
      b[s] = {value(p_.y_values, y, 8 * k_ + row_), value(p_.y_values, y, 8 * k_ + 8 + row_)};
    }
#pragma unroll
    for (unsigned s = 0; s < kSteps; ++s) {
      const Pair rows[2] = {a[s], {}};  // rows 8 to 15 are empty
      multiply_add<kArithmetic>(sums_, rows, b[s]);
    }
    mmas_ += kSteps;
  }

  __device__ static std::uint32_t value(const void* values, const Strip<std::uint32_t>& word,
                                        unsigned bit) {
    return word.has(bit) ? static_cast<const Operand*>(values)[word.place(bit)] : 0;
  }

  const BlockProduct& p_;
  const unsigned lane_, row_, k_;
  float sums_[4] = {};
  unsigned mmas_ = 0;
};

namespace kernels {

/// A warp a chunk, whose tasks it reads at once.
template <Arithmetic kArithmetic, bool kCounts>
__global__ void __launch_bounds__(kThreads) multiply_long(const __grid_constant__ BlockProduct p) {
  const Count chunk = Count{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (chunk >= p.list.chunks) return;
  const Count result = p.result_of(chunk), first = p.first_task(chunk, result);
  const auto tasks = static_cast<unsigned>(p.last_task(first, result) - first);  // at most 32
  const unsigned lane = threadIdx.x % 32;
  const Task own = lane < tasks ? p.list.tasks[first + lane] : Task{};
  LongProduct<kArithmetic> product(p);
  for (unsigned t = 0; t < tasks; ++t)
    product.add({__shfl_sync(kWholeWarp, own.x, static_cast<int>(t)),
                 __shfl_sync(kWholeWarp, own.y, static_cast<int>(t))});
  if constexpr (kCounts) {
    if (lane == 0) atomicAdd(p.mmas, Count{product.mmas()});
  } else {
    product.store(result, p.is_shared(result));
  }
}

}  // namespace kernels

/// Where a mode of the result comes from.
struct ResultMode {
  bool from_x;
  const Index* origin;  // of each row or column of result blocks
  int shift;            // of the mode in a free cell's number
  Index mask;
  Index* out;
};
struct ResultModes {
  int order;
  ResultMode mode[kMaxOrder];
};

}  // namespace retensor::bcb_sptc
