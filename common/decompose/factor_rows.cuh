// What an update of CP-ALS does with the rows of a factor on the device: A = M W with the Gram
// matrix of A and the column sums of M o A. Included by .cu files alone.
//
// A row is read once and written once, so that up to 32 columns the time is that of a copy as long
// as arithmetic hides behind it: 4 R^2 flops a row. Thread blocks keep a tile of rows and W in
// shared memory. For A a thread owns 8 rows x 4 columns, for the Gram matrix, which a warp adds up
// over its quarter of the tile's rows, 8 x 4 entries: 32 multiply-adds for 3 loads of 16 bytes.
// These sums stay in registers over all tiles of a block and are as exact as the type of the values
// is; thread blocks leave them in fp64 and add_parts adds them in the order of the blocks. More
// than 32 columns are taken in chunks of 32: blockIdx.y has the chunk of A, or the pair of chunks.
//
// Norms are not divided out here: prepare_mode (systems.cuh) folds those of the other factors, and
// this factor's of the sweep before, into W.
#pragma once

#include <cuda_runtime.h>

#include "common/core/types.hpp"

namespace retensor::cpd {

constexpr unsigned kThreads = 128, kWarps = kThreads / 32;

/// Four neighbours of a row.
template <class T>
struct Four {
  T x[4];
  static __device__ Four load(const T* at) {
    if constexpr (sizeof(T) == 4) {
      const float4 v = *reinterpret_cast<const float4*>(at);
      return {v.x, v.y, v.z, v.w};
    } else {
      const double2 v = *reinterpret_cast<const double2*>(at);
      const double2 w = *reinterpret_cast<const double2*>(at + 2);
      return {v.x, v.y, w.x, w.y};
    }
  }
  __device__ void store(T* at) const {
    if constexpr (sizeof(T) == 4) {
      *reinterpret_cast<float4*>(at) = make_float4(x[0], x[1], x[2], x[3]);
    } else {
      *reinterpret_cast<double2*>(at) = make_double2(x[0], x[1]);
      *reinterpret_cast<double2*>(at + 2) = make_double2(x[2], x[3]);
    }
  }
};

/// A tile of rows with C columns and what a thread has of it.
template <class T, unsigned C>
struct Tile {
  static constexpr unsigned kHeight = 512 / sizeof(T);
  static constexpr unsigned kPitch = C + 4;  // rows below each other in different banks
  static constexpr unsigned kFours = C / 4;  // threads side by side
  static constexpr unsigned kGroups = kThreads / kFours;
  static constexpr unsigned kRows = kHeight / kGroups;     // of a thread, kGroups apart
  static constexpr unsigned kGramRows = C * kFours / 32;   // of a thread
  static constexpr unsigned kOfWarp = kHeight / kWarps;    // rows that a warp adds up
  static constexpr unsigned kElements = kHeight * kPitch;  // in shared memory
  static constexpr unsigned kScratch = kWarps * C * C;     // for what the warps have added up

  const unsigned column = 4 * (threadIdx.x % kFours), group = threadIdx.x / kFours;
  __device__ unsigned row(unsigned i) const { return group + i * kGroups; }
};

/// Begins to copy 16 bytes to shared memory, zeros without `valid`.
inline __device__ void begin_copy(void* to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(valid ? 16 : 0)
               : "memory");
}
/// Ends a batch of copies; an empty one counts too.
inline __device__ void end_batch() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits for all batches of the thread but the last `kUnderWay`.
template <int kUnderWay>
__device__ void wait_for_batches() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kUnderWay) : "memory");
}

/// Begins to copy a batch to shared memory: rows from `first` on and the columns of a chunk, zeros
/// beyond.
template <class T, unsigned C>
__device__ void begin_tile(const T* from, Count first, Count rows, unsigned stride, unsigned chunk,
                           T* tile) {
  using Of = Tile<T, C>;
  constexpr unsigned kVector = 16 / sizeof(T);
  const Of at;
#pragma unroll
  for (unsigned i = 0; i < Of::kRows; ++i) {
    const Count row = first + at.row(i);
#pragma unroll
    for (unsigned c = 0; c < 4; c += kVector) {
      const unsigned column = chunk * C + at.column + c;
      const bool valid = row < rows && column < stride;
      begin_copy(tile + at.row(i) * Of::kPitch + at.column + c,
                 valid ? from + row * stride + column : from, valid);
    }
  }
  end_batch();
}

/// Adds the thread's entries of tile * w, C x C.
template <class T, unsigned C>
__device__ void multiply_add(const T* tile, const T* w, T (&sum)[Tile<T, C>::kRows][4]) {
  using Of = Tile<T, C>;
  const Of at;
#pragma unroll 1
  for (unsigned k = 0; k < C; k += 4) {
    Four<T> b[4];
#pragma unroll
    for (unsigned q = 0; q < 4; ++q) b[q] = Four<T>::load(w + (k + q) * C + at.column);
#pragma unroll
    for (unsigned i = 0; i < Of::kRows; ++i) {
      const auto a = Four<T>::load(tile + at.row(i) * Of::kPitch + k);
#pragma unroll
      for (unsigned q = 0; q < 4; ++q)
#pragma unroll
        for (unsigned c = 0; c < 4; ++c) sum[i][c] += a.x[q] * b[q].x[c];
    }
  }
}

/// Adds the thread's entries of left^T * right over the warp's rows of two tiles.
template <class T, unsigned C>
__device__ void add_gram(const T* left, const T* right, T (&sum)[Tile<T, C>::kGramRows][4]) {
  using Of = Tile<T, C>;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned i0 = lane / Of::kFours * Of::kGramRows, j0 = lane % Of::kFours * 4;
#pragma unroll 2
  for (unsigned r = warp * Of::kOfWarp; r < (warp + 1) * Of::kOfWarp; ++r) {
    const auto b = Four<T>::load(right + r * Of::kPitch + j0);
    T a[Of::kGramRows];
    if constexpr (Of::kGramRows % 4 == 0) {
#pragma unroll
      for (unsigned i = 0; i < Of::kGramRows; i += 4) {
        const auto four = Four<T>::load(left + r * Of::kPitch + i0 + i);
#pragma unroll
        for (unsigned c = 0; c < 4; ++c) a[i + c] = four.x[c];
      }
    } else {
#pragma unroll
      for (unsigned i = 0; i < Of::kGramRows; ++i) a[i] = left[r * Of::kPitch + i0 + i];
    }
#pragma unroll
    for (unsigned i = 0; i < Of::kGramRows; ++i)
#pragma unroll
      for (unsigned c = 0; c < 4; ++c) sum[i][c] += a[i] * b.x[c];
  }
}

/// What the warps have added up of a Gram matrix to `part`, C x C. All threads call it; `scratch`
/// is shared memory that none uses any more.
template <class T, unsigned C>
__device__ void leave_gram(const T (&sum)[Tile<T, C>::kGramRows][4], T* scratch, double* part) {
  using Of = Tile<T, C>;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned i0 = lane / Of::kFours * Of::kGramRows, j0 = lane % Of::kFours * 4;
  __syncthreads();
  for (unsigned i = 0; i < Of::kGramRows; ++i)
    for (unsigned c = 0; c < 4; ++c) scratch[(warp * C + i0 + i) * C + j0 + c] = sum[i][c];
  __syncthreads();
  for (unsigned e = threadIdx.x; e < C * C; e += kThreads) {
    double total = 0;
    for (unsigned w = 0; w < kWarps; ++w) total += static_cast<double>(scratch[w * C * C + e]);
    part[e] = total;
  }
}

/// An update: M and A are rows x stride, W is chunks * C wide and high. Parts are [chunk of
/// columns][thread block][C] of the sums of M o A and [thread block][C][C] of the Gram matrix.
template <class T>
struct Update {
  const T* m;
  const T* w;
  Count rows;
  unsigned stride, chunks;
  T* a;
  double *product_parts, *gram_parts;
};

/// Writes the thread's part of a tile of A and adds up M o A; M lies in shared memory.
template <class T, unsigned C>
__device__ void store_rows(const Update<T>& x, Count first, unsigned chunk, const T* m,
                           const T (&a)[Tile<T, C>::kRows][4], T (&product)[4]) {
  using Of = Tile<T, C>;
  constexpr unsigned kVector = 16 / sizeof(T);
  const Of at;
  const unsigned column = chunk * C + at.column;
#pragma unroll
  for (unsigned i = 0; i < Of::kRows; ++i) {
    const auto of_m = Four<T>::load(m + at.row(i) * Of::kPitch + at.column);
#pragma unroll
    for (unsigned c = 0; c < 4; ++c) product[c] += of_m.x[c] * a[i][c];
    const Count row = first + at.row(i);
    if (row >= x.rows) continue;
    T* const to = x.a + row * x.stride + column;
    if constexpr (kVector == 4) {
      if (column < x.stride) Four<T>{a[i][0], a[i][1], a[i][2], a[i][3]}.store(to);
    } else {
#pragma unroll
      for (unsigned c = 0; c < 4; ++c)
        if (column + c < x.stride) to[c] = a[i][c];
    }
  }
}

/// What the threads have added up of M o A to `part`, C numbers.
template <class T, unsigned C>
__device__ void leave_products(const T (&product)[4], T* scratch, double* part) {
  using Of = Tile<T, C>;
  const Of at;
  __syncthreads();
  for (unsigned c = 0; c < 4; ++c) scratch[at.group * C + at.column + c] = product[c];
  __syncthreads();
  if (threadIdx.x >= C) return;
  double total = 0;
  for (unsigned g = 0; g < Of::kGroups; ++g)
    total += static_cast<double>(scratch[g * C + threadIdx.x]);
  part[threadIdx.x] = total;
}

/// A = M W, the sums of M o A and the Gram matrix, of at most C columns. A tile is copied to shared
/// memory while the one before is worked on.
template <class T, unsigned C>
__global__ void __launch_bounds__(kThreads, sizeof(T) == 4 ? 4 : 2) update_rows(Update<T> x) {
  using Of = Tile<T, C>;
  __shared__ __align__(16) T tiles[2 * Of::kElements];
  __shared__ __align__(16) T w[C * C];
  static_assert(2 * Of::kElements >= Of::kScratch);
  const Of at;
  T gram[Of::kGramRows][4] = {}, product[4] = {};
  const Count step = Count{gridDim.x} * Of::kHeight;
  Count first = Count{blockIdx.x} * Of::kHeight;
  begin_tile<T, C>(x.m, first, x.rows, x.stride, 0, tiles);
  for (unsigned e = threadIdx.x; e < C * C; e += kThreads) w[e] = x.w[e];
  for (unsigned turn = 0; first < x.rows; first += step, ++turn) {
    T* const tile = tiles + turn % 2 * Of::kElements;
    __syncthreads();  // nobody reads the other tile any more
    begin_tile<T, C>(x.m, first + step, x.rows, x.stride, 0,
                     tiles + (turn + 1) % 2 * Of::kElements);
    wait_for_batches<1>();
    __syncthreads();
    T sum[Of::kRows][4] = {};
    multiply_add<T, C>(tile, w, sum);
    store_rows<T, C>(x, first, 0, tile, sum, product);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < Of::kRows; ++i)
      Four<T>{sum[i][0], sum[i][1], sum[i][2], sum[i][3]}.store(tile + at.row(i) * Of::kPitch +
                                                                at.column);
    __syncthreads();
    add_gram<T, C>(tile, tile, gram);
  }
  wait_for_batches<0>();
  leave_gram<T, C>(gram, tiles, x.gram_parts + Count{blockIdx.x} * C * C);
  leave_products<T, C>(product, tiles, x.product_parts + Count{blockIdx.x} * C);
}

/// A = M W and the sums of M o A for more than C columns; blockIdx.y is the chunk of them.
template <class T, unsigned C>
__global__ void __launch_bounds__(kThreads) update_chunks(Update<T> x) {
  using Of = Tile<T, C>;
  __shared__ __align__(16) T tile[Of::kElements];
  __shared__ __align__(16) T w[C * C];
  const unsigned chunk = blockIdx.y, width = x.chunks * C;
  T product[4] = {};
  for (Count first = Count{blockIdx.x} * Of::kHeight; first < x.rows;
       first += Count{gridDim.x} * Of::kHeight) {
    T sum[Of::kRows][4] = {};
    // The chunk of M that lies below this one of A comes last: M o A needs it too.
    for (unsigned turn = 1; turn <= x.chunks; ++turn) {
      const unsigned k = (chunk + turn) % x.chunks;
      __syncthreads();
      begin_tile<T, C>(x.m, first, x.rows, x.stride, k, tile);
      for (unsigned e = threadIdx.x; e < C * C; e += kThreads)
        w[e] = x.w[(k * C + e / C) * width + chunk * C + e % C];
      wait_for_batches<0>();
      __syncthreads();
      multiply_add<T, C>(tile, w, sum);
    }
    store_rows<T, C>(x, first, chunk, tile, sum, product);
  }
  leave_products<T, C>(product, tile,
                       x.product_parts + (Count{chunk} * gridDim.x + blockIdx.x) * C);
}

/// Chunks i >= j of the Gram matrix that blockIdx.y stands for.
struct Pair {
  unsigned i = 0, j;
  __device__ explicit Pair(unsigned number) : j(number) {
    for (; j > i; ++i) j -= i + 1;
  }
};

/// Parts [pair of chunks][thread block][C][C] of A^T A.
template <class T, unsigned C>
__global__ void __launch_bounds__(kThreads)
    gram_of_rows(const T* a, Count rows, unsigned stride, double* parts) {
  using Of = Tile<T, C>;
  __shared__ __align__(16) T shared[2 * Of::kElements];
  static_assert(2 * Of::kElements >= Of::kScratch);
  const Pair pair(blockIdx.y);
  T gram[Of::kGramRows][4] = {};
  T* const right = pair.i == pair.j ? shared : shared + Of::kElements;
  for (Count first = Count{blockIdx.x} * Of::kHeight; first < rows;
       first += Count{gridDim.x} * Of::kHeight) {
    __syncthreads();
    begin_tile<T, C>(a, first, rows, stride, pair.i, shared);
    if (pair.i != pair.j) begin_tile<T, C>(a, first, rows, stride, pair.j, right);
    wait_for_batches<0>();
    __syncthreads();
    add_gram<T, C>(shared, right, gram);
  }
  leave_gram<T, C>(gram, shared, parts + (Count{blockIdx.y} * gridDim.x + blockIdx.x) * C * C);
}

constexpr unsigned kAdders = 32;  // warps of a thread block of add_parts, a lane an entry

/// Adds up the parts of `blocks` thread blocks: blockIdx.y is a pair of chunks of the Gram matrix,
/// which is `width` wide, or beyond these a chunk of the products.
template <unsigned C>
__global__ void __launch_bounds__(32 * kAdders)
    add_parts(const double* gram_parts, const double* product_parts, unsigned blocks,
              unsigned pairs, unsigned width, double* gram, double* products) {
  __shared__ double sums[kAdders][32];
  const unsigned lane = threadIdx.x % 32, adder = threadIdx.x / 32;
  const unsigned e = blockIdx.x * 32 + lane;
  const bool of_gram = blockIdx.y < pairs;
  const unsigned entries = of_gram ? C * C : C;
  const double* const parts = of_gram
                                  ? gram_parts + Count{blockIdx.y} * blocks * entries
                                  : product_parts + Count{blockIdx.y - pairs} * blocks * entries;
  double sum = 0;
  if (e < entries)
    for (unsigned b = adder; b < blocks; b += kAdders) sum += parts[Count{b} * entries + e];
  sums[adder][lane] = sum;
  __syncthreads();
  if (adder > 0 || e >= entries) return;
  for (unsigned k = 1; k < kAdders; ++k) sum += sums[k][lane];
  if (!of_gram) {
    products[(blockIdx.y - pairs) * C + e] = sum;
    return;
  }
  const Pair pair(blockIdx.y);
  const unsigned i = pair.i * C + e / C, j = pair.j * C + e % C;
  gram[i * width + j] = sum;
  gram[j * width + i] = sum;
}

}  // namespace retensor::cpd
