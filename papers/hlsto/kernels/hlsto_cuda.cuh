// MTTKRP and TTM-chain on HLS with WMMA, as the paper has them (HLSTO section VI, Algorithms 1 and
// 2).
//
// A thread block takes one dense tile, N_w warps share its slices. The bitmap goes to shared memory
// with the prefix sums of its words' bits, so that every cell of a slice finds its value. The
// fragments of B^T and C are loaded once for all slices of a warp; of slice i a warp fills the
// fragment X_i, multiplies X_i C, rounds the product to the operand type in shared memory and
// multiplies B^T (X_i C), of which MTTKRP adds the diagonal and TTM-chain all 16 x 16 elements to
// the result. The sparse part has one thread a nonzero. Both parts are one grid (fused, section
// VI.C) or two.
//
// Deviations, beyond those of hlsto_cpu.hpp: linear indices have up to 128 bits, where Algorithm
// 2 shifts 64; a tile of edge 8 is padded to 16, one of edge 32 is 2 x 2 fragments; more than 16
// columns are taken 16 at a time; factors of the sparse part are in single precision.
#pragma once

#include <mma.h>

#include "common/device/warp.cuh"
#include "papers/hlsto/format/hls_device.cuh"
#include "papers/hlsto/format/tensor_core_device.cuh"

namespace retensor::hlsto {

/// Rows of the factors that multiply a whole slice: those of the kept modes, and where the output
/// is a kept mode that of the slice.
struct OuterRows {
  const float* row[kMaxFactors];
  unsigned columns[kMaxFactors];
  Count stride[kMaxFactors];
  int count;

  __device__ void push(const DeviceFactor& factor, Index i) {
    row[count] = factor.rows + Count{i} * factor.columns;
    columns[count] = factor.columns, stride[count] = factor.stride;
    ++count;
  }
};

/// Adds x times the Kronecker product of the rows to a row of the result; MTTKRP takes column r of
/// each.
template <class Element>
__device__ inline void add_outer(const OuterRows& outer, float x, Element* to) {
  Count combinations = 1;
  for (int k = 0; k < outer.count; ++k) combinations *= outer.columns[k];
  for (Count c = 0; c < combinations; ++c) {
    float weight = x;
    Count rest = c, offset = 0;
    for (int k = 0; k < outer.count; ++k) {
      const auto r = static_cast<unsigned>(rest % outer.columns[k]);
      rest /= outer.columns[k];
      weight *= outer.row[k][r];
      offset += r * outer.stride[k];
    }
    atomicAdd(to + offset, static_cast<Element>(weight));
  }
}
template <class Element>
__device__ inline void add_column(const OuterRows& outer, float x, unsigned r, Element* to) {
  for (int k = 0; k < outer.count; ++k) x *= outer.row[k][r];
  atomicAdd(to + r, static_cast<Element>(x));
}

/// Shared memory of a thread block: the bitmap, the bits before each of its words, and of each warp
/// one slice or product as operand and one as sum.
template <class Core>
struct TileMemory {
  std::uint32_t* words;
  std::uint32_t* bits_before;
  typename Core::Element* operand[Core::kParts];
  float* sum;

  __host__ __device__ static unsigned cells_words(int edge_bits) {
    const unsigned cells = 1u << (3 * edge_bits);
    return cells < 64 ? 2 : cells / 32;
  }
  __host__ static unsigned bytes(int edge_bits, unsigned warps) {
    return 2 * sizeof(std::uint32_t) * cells_words(edge_bits) +
           warps * kFragmentSize *
               static_cast<unsigned>(Core::kParts * sizeof(typename Core::Element) + sizeof(float));
  }
  __device__ TileMemory(char* shared, int edge_bits, unsigned warp, unsigned warps) {
    sum = reinterpret_cast<float*>(shared) + warp * kFragmentSize;
    auto* elements =
        reinterpret_cast<typename Core::Element*>(shared + sizeof(float) * warps * kFragmentSize);
    for (int p = 0; p < Core::kParts; ++p)
      operand[p] = elements + (warp * Core::kParts + p) * kFragmentSize;
    words = reinterpret_cast<std::uint32_t*>(elements + warps * Core::kParts * kFragmentSize);
    bits_before = words + cells_words(edge_bits);
  }
};

/// Get_Prefix_Sum of Algorithm 1, by one warp.
__device__ inline void sum_bits(const std::uint32_t* words, std::uint32_t* bits_before,
                                unsigned count) {
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t before = 0;
  for (unsigned first = 0; first < count; first += 32) {
    const std::uint32_t own = first + lane < count ? __popc(words[first + lane]) : 0;
    const std::uint32_t lower = device::sum_below_lane(own);
    if (first + lane < count) bits_before[first + lane] = before + lower;
    before += __shfl_sync(device::kWholeWarp, lower + own, 31);
  }
}

/// One dense tile of Algorithm 1; kAlong fragments along an edge.
template <class Core, int kAlong, bool kKronecker>
class DenseTile {
  using Element = typename Core::Element;
  template <class Layout>
  using Left = typename Core::template Operand<nvcuda::wmma::matrix_a, Layout>;
  using Right = typename Core::template Operand<nvcuda::wmma::matrix_b, nvcuda::wmma::row_major>;
  using Sum = typename Core::Sum;

 public:
  __device__ DenseTile(const DeviceChain& x, Count tile, char* shared)
      : x_(x),
        warp_(threadIdx.x / 32),
        warps_(blockDim.x / 32),
        memory_(shared, x.edge_bits, warp_, warps_),
        key_(x.tile_index + tile * x.tile_words),
        first_value_(x.value_start[tile]) {
    const unsigned words = TileMemory<Core>::cells_words(x.edge_bits);
    for (unsigned w = threadIdx.x; w < words; w += blockDim.x)
      memory_.words[w] = x.bitmap[tile * words + w];
    __syncthreads();
    if (warp_ == 0) sum_bits(memory_.words, memory_.bits_before, words);
    __syncthreads();
  }

  __device__ void run() {
    const DeviceFactor& rows = factor(x_.row);
    const DeviceFactor& columns = factor(x_.column);
    for (unsigned r = 0; r < rows.columns; r += kFragmentEdge) {
      if constexpr (!kKronecker) {
        take_columns(r, r);
      } else {
        for (unsigned s = 0; s < columns.columns; s += kFragmentEdge) take_columns(r, s);
      }
    }
  }

 private:
  __device__ unsigned edge() const { return 1u << x_.edge_bits; }
  __device__ const DeviceFactor& factor(int place) const { return x_.factor[x_.mode_at[place]]; }
  /// First index of the tile along a tiled place, index of a kept one.
  __device__ Index origin(int place) const {
    return decode(key_, x_.place[place]) << (place < 3 ? x_.edge_bits : 0);
  }

  /// All slices of the warp for 16 columns of B and of C, whose fragments stay in registers.
  __device__ void take_columns(unsigned r, unsigned s) {
    Left<nvcuda::wmma::col_major> b[kAlong];
    Right c[kAlong];
#pragma unroll
    for (int p = 0; p < kAlong; ++p) {
      load_factor(b[p], x_.row, p, r);
      load_factor(c[p], x_.column, p, s);
    }
    for (unsigned i = warp_; i < edge(); i += warps_) {
      Sum y;
      nvcuda::wmma::fill_fragment(y, 0.0f);
#pragma unroll
      for (int p = 0; p < kAlong; ++p) {
        Sum xc;
        nvcuda::wmma::fill_fragment(xc, 0.0f);
#pragma unroll
        for (int q = 0; q < kAlong; ++q) {
          Left<nvcuda::wmma::row_major> slice;
          fill_slice(slice, i, p, q);
          Core::multiply_add(slice, c[q], xc);
        }
        Right product;
        as_operand(product, xc);
        Core::multiply_add(b[p], product, y);
      }
      add_slice(i, y, r, s);
    }
  }

  /// Rows of fragment p of the tile, 16 columns from `first` on; B^T is B in the other layout. In
  /// both the inner dimension runs down the rows.
  template <class Operand>
  __device__ void load_factor(Operand& to, int place, int p, unsigned first) const {
    const DeviceFactor& f = factor(place);
    const Count begin = (origin(place) + Count{kFragmentEdge} * p) * f.operand_columns + first;
    const Element* from[Core::kParts];
    for (int k = 0; k < Core::kParts; ++k)
      from[k] = static_cast<const Element*>(f.operand[k]) + begin;
    Core::load(to, from, f.operand_columns, Core::kDepth * f.operand_columns);
  }

  /// Fill2Frag of Algorithm 1: each lane decodes eight cells of fragment (p, q) of slice i.
  __device__ void fill_slice(Left<nvcuda::wmma::row_major>& to, unsigned i, int p, int q) const {
    const unsigned inside = edge() < kFragmentEdge ? edge() : kFragmentEdge;
    __syncwarp();
    for (unsigned e = threadIdx.x % 32; e < kFragmentSize; e += 32) {
      const unsigned a = e / kFragmentEdge, b = e % kFragmentEdge;
      float value = 0;
      if (a < inside && b < inside)
        value = cell_value(shifted(i, x_.slice) | shifted(p * kFragmentEdge + a, x_.row) |
                           shifted(q * kFragmentEdge + b, x_.column));
      for (int k = 0; k < Core::kParts; ++k) memory_.operand[k][e] = Core::part_of(value, k);
    }
    __syncwarp();
    load_operand(to, Core::kDepth);
  }

  /// A coordinate inside the tile at its place in the number of a cell.
  __device__ unsigned shifted(unsigned coordinate, int place) const {
    return coordinate << ((2 - place) * x_.edge_bits);
  }
  __device__ float cell_value(unsigned cell) const {
    const std::uint32_t word = memory_.words[cell / 32], bit = 1u << (cell % 32);
    if ((word & bit) == 0) return 0.0f;
    const Count rank = memory_.bits_before[cell / 32] + __popc(word & (bit - 1));
    return load_value(x_.dense_values, x_.values, first_value_ + rank);
  }

  /// X_i C, a sum, as the operand of the second product (lines 23 and 24).
  __device__ void as_operand(Right& to, const Sum& product) const {
    __syncwarp();
    Core::store_operand(memory_.operand, memory_.sum, product);
    __syncwarp();
    load_operand(to, Core::kDepth * kFragmentEdge);
  }

  template <class Operand>
  __device__ void load_operand(Operand& to, unsigned step) const {
    const Element* from[Core::kParts];
    for (int k = 0; k < Core::kParts; ++k) from[k] = memory_.operand[k];
    Core::load(to, from, kFragmentEdge, step);
  }

  /// Adds B^T (X_i C), or its diagonal, to the row of the result.
  __device__ void add_slice(unsigned i, const Sum& y, unsigned r, unsigned s) const {
    OuterRows outer{};
    for (int place = 3; place < x_.order; ++place)
      if (place != x_.output_place) outer.push(factor(place), origin(place));
    const Index index = origin(x_.slice) + i;
    const bool kept_output = x_.output_place >= 3;
    if (index >= x_.slice_length) return;
    if (kept_output) outer.push(factor(x_.slice), index);
    auto* const to =
        Core::result(x_.out) + (kept_output ? origin(x_.output_place) : index) * x_.width;

    __syncwarp();
    Core::store(memory_.sum, y);
    __syncwarp();
    const unsigned lane = threadIdx.x % 32;
    if constexpr (!kKronecker) {
      if (lane < kFragmentEdge && r + lane < x_.width)
        add_column(outer, memory_.sum[lane * (kFragmentEdge + 1)], r + lane, to);
    } else {
      const DeviceFactor& rows = factor(x_.row);
      const DeviceFactor& columns = factor(x_.column);
      for (unsigned e = lane; e < kFragmentSize; e += 32) {
        const unsigned a = r + e / kFragmentEdge, b = s + e % kFragmentEdge;
        if (a < rows.columns && b < columns.columns)
          add_outer(outer, memory_.sum[e], to + a * rows.stride + b * columns.stride);
      }
    }
  }
  const DeviceChain& x_;
  const unsigned warp_, warps_;
  const TileMemory<Core> memory_;
  const std::uint32_t* const key_;
  const Count first_value_;
};

/// The element-wise form of the sparse part: nonzero p (section VI.A).
template <class Core, bool kKronecker>
__device__ void add_nonzero(const DeviceChain& x, Count p) {
  const std::uint32_t* const key = x.nonzero_index + p * x.nonzero_words;
  const float value = load_value(x.sparse_values, x.values, p);
  auto* const to = Core::result(x.out) + decode(key, x.index[x.mode]) * x.width;
  OuterRows outer{};
  for (int m = 0; m < x.order; ++m)
    if (m != x.mode) outer.push(x.factor[m], decode(key, x.index[m]));
  if constexpr (kKronecker) {
    add_outer(outer, value, to);
  } else {
    for (unsigned r = 0; r < x.width; ++r) add_column(outer, value, r, to);
  }
}

/// Thread blocks below `tile_blocks` take a dense tile each, the others a thread a nonzero.
template <class Core, int kAlong, bool kKronecker>
__device__ void take_part(const DeviceChain& x, const unsigned tile_blocks, char* shared) {
  if (blockIdx.x < tile_blocks) {
    DenseTile<Core, kAlong, kKronecker>(x, blockIdx.x, shared).run();
    return;
  }
  const Count p = Count{blockIdx.x - tile_blocks} * blockDim.x + threadIdx.x;
  if (p < x.nonzeros) add_nonzero<Core, kKronecker>(x, p);
}

template <Arithmetic kArithmetic, int kAlong, bool kKronecker>
__global__ void multiply(const DeviceChain x, const unsigned tile_blocks) {
  extern __shared__ __align__(128) char shared[];
  take_part<Core<kArithmetic>, kAlong, kKronecker>(x, tile_blocks, shared);
}

/// With sums in half precision.
template <class Result, int kAlong, bool kKronecker>
__global__ void multiply_in_halves(const DeviceChain x, const unsigned tile_blocks) {
  extern __shared__ __align__(128) char shared[];
  take_part<HalfCore<Result>, kAlong, kKronecker>(x, tile_blocks, shared);
}

}  // namespace retensor::hlsto
