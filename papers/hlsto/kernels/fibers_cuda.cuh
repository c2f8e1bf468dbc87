// MTTKRP and TTM-chain on groups of fibers (format/fiber_groups.hpp): a thread block keeps a
// segment of the leaves' factor in shared memory, and its warps take groups one after another.
//
// sum_fibers    With D(m, :) = sum over fiber m of value times leaf row, A(i, :) += D(m, :) times
//               the rows of the fiber's other modes. The tensor core computes eight columns of D^T
//               at a time: its first operand are the leaves' rows of 16 nonzeros, transposed as
//               they are loaded (ldmatrix), its second selects by fiber: (nonzero, fiber) is the
//               value where the nonzero is of the fiber, else 0. So 16 nonzeros take as many
//               instructions as one would of multiply-adds. Operands are halves or sums of two.
// sum_in_single The same by multiply-adds in single precision, eight lanes a fiber.
// chain_fibers  TTM-chain of order 3: Y(i, :, :) += B(m, :)^T D(m, :) is a second product, whose
//               first operand is D^T as the first product leaves it.
//
// A row of the result is added up in registers as long as a warp stays with it, and then added to
// memory by atomics.
#pragma once

#include <cuda_fp16.h>

#include "common/core/types.hpp"
#include "common/device/mma.cuh"
#include "common/device/vec.cuh"
#include "common/device/warp.cuh"
#include "papers/hlsto/format/fiber_groups.hpp"

namespace retensor::hlsto {

using device::kWholeWarp;
using device::Vec;

inline constexpr unsigned kFiberThreads = 1024;
inline constexpr unsigned kSumColumns = 32, kChainColumns = 16;  ///< of the leaves' factor, a block

/// Bytes of shared memory of a leaf row: `parts` times halves, or single precision where 0.
inline constexpr Count bytes_of_leaf(unsigned columns, int parts) {
  return columns * (parts == 0 ? sizeof(float) : static_cast<Count>(parts) * sizeof(__half));
}

/// The groups on the device, and what a pass over them reads and adds to.
struct FiberPass {
  const std::uint16_t *code = nullptr, *selector = nullptr;
  const uint4 *value = nullptr, *rest = nullptr;
  const std::uint32_t *first = nullptr, *row = nullptr, *upper = nullptr;
  const std::uint32_t* share = nullptr;    ///< by warp: its first group; their number at the end
  const std::uint32_t* segment = nullptr;  ///< by thread block
  unsigned segment_rows = 0, leaf_rows = 0;
  /// Factors in single precision, rows so many elements apart, padded by zeros.
  const float* leaf = nullptr;
  const float* other[kMaxOther - 1] = {};
  unsigned leaf_stride = 0, other_stride = 0;
  int others = 0;  ///< modes but the output's and the leaves'
  float* out = nullptr;
  unsigned width = 0;  ///< elements between rows of the result
  /// Of the chain: columns of both factors, and how far apart neighbours stand in the result.
  unsigned leaf_columns = 0, other_columns = 0, leaf_step = 0, other_step = 0;
};

/// Calls load(step) for steps ahead, add(what load gave) for each step, begin(group) and
/// end(group) for each group and end_row(row) where a row of the warp's groups ends. Every thread
/// calls fill(), which writes shared memory that add reads; the first steps are on their way then.
template <int kAhead, class Fill, class Load, class Add, class Begin, class End, class EndRow>
__device__ void walk_groups(const FiberPass& x, const Fill& fill, const Load& load, const Add& add,
                            const Begin& begin, const End& end, const EndRow& end_row) {
  const unsigned warp = (blockIdx.x * kFiberThreads + threadIdx.x) / 32;
  std::uint32_t group = __ldg(x.share + warp);
  const std::uint32_t last_group = __ldg(x.share + warp + 1);
  const bool none = group == last_group;
  std::uint32_t step = 0, last = 0, next = 0, row = 0;
  decltype(load(step)) ahead[kAhead];
  if (!none) {
    step = __ldg(x.first + group), last = __ldg(x.first + last_group) - 1;
#pragma unroll
    for (int k = 0; k < kAhead; ++k) ahead[k] = load(min(step + k, last));
    next = __ldg(x.first + group + 1), row = __ldg(x.row + group);
  }
  fill();
  __syncthreads();
  if (none) return;
  begin(group);
  for (;;)
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const auto now = ahead[k];
      ahead[k] = load(min(step + kAhead, last));
      add(now);
      if (++step != next) continue;
      end(group);
      if (step > last) return end_row(row);
      const std::uint32_t next_row = __ldg(x.row + ++group);
      if (next_row != row) end_row(row);
      next = __ldg(x.first + group + 1), row = next_row;
      begin(group);
    }
}

/// A step as a lane of the tensor core's operands holds it, a half of the step in each half of a
/// word or vector.
template <int kParts>
struct SummedStep {
  uint4 value[kParts];
  std::uint32_t code, selector;
};

/// The leaves' rows in shared memory as halves, and the products of steps with them.
template <int kParts, unsigned kColumns>
class LeafTable {
  static constexpr unsigned kVectors = kColumns / 8, kRowBytes = kColumns * sizeof(__half);
  static constexpr unsigned kTiles = kColumns / 16;

 public:
  /// The sums of eight fibers in a lane's columns: by tile of 16 columns, as the core has them.
  using Sums = float[kTiles][4];

  __device__ LeafTable(const FiberPass& x, char* shared)
      : x_(x), part_bytes_(x.segment_rows * kRowBytes) {
    constexpr unsigned kByte = 0xff;
    const unsigned fiber = threadIdx.x % 32 / 4;
    low_ = fiber < 4 ? kByte << 8 * fiber : 0, high_ = fiber < 4 ? 0 : kByte << 8 * (fiber - 4);
    const unsigned lane = threadIdx.x % 32;
    vector_ = lane / 8 % 2 * 16;
    nonzero_ = lane / 16 * 8 + lane % 8;
    at_ = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  }

  __device__ void fill(char* shared, unsigned first_column) const {
    const unsigned begin = __ldg(x_.segment + blockIdx.x) * x_.segment_rows;
    const unsigned rows = min(x_.segment_rows, x_.leaf_rows - begin);
    for (unsigned i = threadIdx.x; i < rows * kVectors; i += kFiberThreads) {
      const unsigned row = i / kVectors, v = i % kVectors;
      const float* const from = x_.leaf + Count{begin + row} * x_.leaf_stride;
      float columns[8];
#pragma unroll
      for (unsigned e = 0; e < 8; ++e) {
        const unsigned c = first_column + column(v, e);
        columns[e] = c < x_.leaf_stride ? __ldg(from + c) : 0;
      }
      char* const to = shared + (table_code(row, kVectors) ^ v) * 16;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        __half2 halves[4];
#pragma unroll
        for (int e = 0; e < 8; e += 2) {
          halves[e / 2] = __floats2half2_rn(columns[e], columns[e + 1]);
          columns[e] -= __low2float(halves[e / 2]), columns[e + 1] -= __high2float(halves[e / 2]);
        }
        *reinterpret_cast<uint4*>(to + part * part_bytes_) =
            *reinterpret_cast<const uint4*>(halves);
      }
    }
  }

  __device__ SummedStep<kParts> load(std::uint32_t step) const {
    const Count of_lane = Count{step} * 4 + threadIdx.x % 4;
    SummedStep<kParts> s;
    s.value[0] = __ldg(x_.value + of_lane);
    if constexpr (kParts == 2) s.value[1] = __ldg(x_.rest + of_lane);
    s.code = __ldg(reinterpret_cast<const std::uint32_t*>(x_.code) + Count{step} * 16 + nonzero_);
    s.selector = __ldg(reinterpret_cast<const std::uint32_t*>(x_.selector) + of_lane);
    return s;
  }

  __device__ void add(const SummedStep<kParts>& step, Sums& sums) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // Four bytes of the selected fiber, then each for both bytes of a half.
      const std::uint32_t bytes = __byte_perm(low_, high_, step.selector >> 16 * half);
      const std::uint32_t first = __byte_perm(bytes, 0, 0x1100);
      const std::uint32_t last = __byte_perm(bytes, 0, 0x3322);
      std::uint32_t value[kParts][2];
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const uint4& v = step.value[part];
        value[part][0] = (half == 0 ? v.x : v.z) & first;
        value[part][1] = (half == 0 ? v.y : v.w) & last;
      }
      add(half == 0 ? step.code & 0xffffu : step.code >> 16, value, sums);
    }
  }

 private:
  __device__ void add(std::uint32_t code, const std::uint32_t (&value)[kParts][2],
                      Sums& sums) const {
    const std::uint32_t row = ((code << 4) ^ vector_) + at_;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (unsigned tile = 0; tile < kTiles; ++tile) {
        std::uint32_t a[4];
        load_transposed(a, (row ^ tile * 32) + part * part_bytes_);
#pragma unroll
        for (int of_value = 0; of_value + part < kParts; ++of_value)
          device::multiply_add<device::MmaType::f16>(sums[tile], a[0], a[1], a[2], a[3],
                                                     value[of_value][0], value[of_value][1]);
      }
  }

  /// Column of vector v and element e. With 32 columns a lane has four neighbours.
  static __device__ unsigned column(unsigned v, unsigned e) {
    return kColumns == kSumColumns ? e * kVectors + v : v * 8 + e;
  }
  static __device__ void load_transposed(std::uint32_t (&a)[4], std::uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(from)
                 : "memory");
  }

  const FiberPass& x_;
  const unsigned part_bytes_;
  std::uint32_t low_, high_;  // eight bytes, of which that of the lane's fiber has ones
  unsigned vector_, nonzero_;
  std::uint32_t at_;
};

/// The numbers of kFibers fibers' rows in the other modes, which are loaded as a group begins;
/// kOthers 0: any number of modes, loaded where they are needed.
template <int kOthers, int kFibers>
class UpperRows {
  static constexpr int kHeld = kOthers > 0 ? kOthers : 1;

 public:
  __device__ UpperRows(const FiberPass& x, unsigned fibers, unsigned first)
      : x_(x), fibers_(fibers), first_(first) {}
  __device__ void begin(std::uint32_t group) {
#pragma unroll
    for (int k = 0; k < kOthers; ++k) load(group, k, index_[k]);
  }
  /// The product of the fibers' rows in four columns; `column` below the stride.
  __device__ void products(std::uint32_t group, unsigned column, Vec<float> (&product)[kFibers]) {
#pragma unroll
    for (int f = 0; f < kFibers; ++f) product[f] = Vec<float>::splat(1);
    if constexpr (kOthers > 0) {
#pragma unroll
      for (int k = 0; k < kOthers; ++k) multiply(k, index_[k], column, product);
    } else {
      for (int k = 0; k < x_.others; ++k) {
        load(group, k, index_[0]);
        multiply(k, index_[0], column, product);
      }
    }
  }

 private:
  __device__ void load(std::uint32_t group, int k, Index (&index)[kFibers]) const {
    const Index* const from =
        x_.upper + (Count{group} * static_cast<unsigned>(x_.others) + k) * fibers_ + first_;
    if constexpr (kFibers == 2) {
      const uint2 both = __ldg(reinterpret_cast<const uint2*>(from));
      index[0] = both.x, index[1] = both.y;
    } else {
      index[0] = __ldg(from);
    }
  }
  __device__ void multiply(int k, const Index (&index)[kFibers], unsigned column,
                           Vec<float> (&product)[kFibers]) const {
#pragma unroll
    for (int f = 0; f < kFibers; ++f)
      product[f].multiply(
          Vec<float>::load(x_.other[k] + Count{index[f]} * x_.other_stride + column));
  }

  const FiberPass& x_;
  const unsigned fibers_, first_;
  Index index_[kHeld][kFibers];
};

/// Adds the four columns of lanes that differ in the bits of `lanes`, and lets one of them add them
/// to the result.
template <unsigned kFirst, unsigned kLast>
__device__ void end_of_row(const FiberPass& x, Index row, unsigned column, Vec<float>& sum) {
#pragma unroll
  for (unsigned mask = kFirst; mask <= kLast; mask *= 2) sum.add(sum.exchanged(mask));
  if (threadIdx.x % (2 * kLast) / kFirst == 0 && column < x.width)
    sum.reduce_into(x.out + Count{row} * x.width + column);
  sum = Vec<float>::splat(0);
}

/// Steps that are loaded ahead: registers of 32 warps hold no more.
constexpr int steps_ahead(int parts) {
  return parts == 2 ? 1 : 2;
}

/// kOthers: modes but the output's and the leaves', 0 for any number.
template <int kParts, int kOthers>
__global__ void __launch_bounds__(kFiberThreads) sum_fibers(const FiberPass x) {
  extern __shared__ __align__(128) char shared[];
  const unsigned first_column = blockIdx.y * kSumColumns, lane = threadIdx.x % 32;
  using Table = LeafTable<kParts, kSumColumns>;
  const Table table(x, shared);
  // Lane 4 q + t has columns 4 q to 4 q + 3 of fibers 2 t and 2 t + 1.
  const unsigned column = first_column + lane / 4 * 4;
  UpperRows<kOthers, 2> upper(x, kSumFibers, lane % 4 * 2);
  typename Table::Sums d = {};
  auto sum = Vec<float>::splat(0);
  walk_groups<steps_ahead(kParts)>(
      x, [&] { table.fill(shared, first_column); },
      [&](std::uint32_t step) { return table.load(step); },
      [&](const SummedStep<kParts>& step) { table.add(step, d); },
      [&](std::uint32_t group) { upper.begin(group); },
      [&](std::uint32_t group) {
        Vec<float> row[2];
        upper.products(group, column < x.other_stride ? column : 0, row);
#pragma unroll
        for (int f = 0; f < 2; ++f)
          sum.fma({make_float4(d[0][f], d[0][2 + f], d[1][f], d[1][2 + f])}, row[f]);
#pragma unroll
        for (int e = 0; e < 8; ++e) d[e / 4][e % 4] = 0;
      },
      [&](Index row) { end_of_row<1, 2>(x, row, column, sum); });
}

/// Four slots of a fiber.
struct SingleStep {
  float4 value;
  uint2 row;
};

template <int kOthers>
__global__ void __launch_bounds__(kFiberThreads) sum_in_single(const FiberPass x) {
  extern __shared__ __align__(128) char shared[];
  const unsigned first_column = blockIdx.y * kSumColumns, lane = threadIdx.x % 8;
  const unsigned fiber = threadIdx.x % 32 / 8, column = first_column + 4 * lane;
  auto* const table = reinterpret_cast<float4*>(shared);
  const auto fill = [&] {
    const unsigned begin = __ldg(x.segment + blockIdx.x) * x.segment_rows;
    const unsigned rows = min(x.segment_rows, x.leaf_rows - begin);
    for (unsigned i = threadIdx.x; i < rows * 8; i += kFiberThreads) {
      const unsigned c = first_column + i % 8 * 4;
      table[i] = c < x.leaf_stride
                     ? Vec<float>::load(x.leaf + Count{begin + i / 8} * x.leaf_stride + c).v
                     : make_float4(0, 0, 0, 0);
    }
  };

  UpperRows<kOthers, 1> upper(x, kSideFibers, fiber);
  auto d = Vec<float>::splat(0), sum = d;
  const auto add = [&](unsigned row, float value) {
    d.fma(Vec<float>::splat(value), {table[row * 8 + lane]});
  };
  walk_groups<3>(
      x, fill,
      [&](std::uint32_t step) -> SingleStep {
        const Count at = Count{step} * 4 + fiber;
        return {__ldg(reinterpret_cast<const float4*>(x.value) + at),
                __ldg(reinterpret_cast<const uint2*>(x.code) + at)};
      },
      [&](const SingleStep& step) {
        add(step.row.x & 0xffffu, step.value.x), add(step.row.x >> 16, step.value.y);
        add(step.row.y & 0xffffu, step.value.z), add(step.row.y >> 16, step.value.w);
      },
      [&](std::uint32_t group) { upper.begin(group); },
      [&](std::uint32_t group) {
        Vec<float> row[1];
        upper.products(group, column < x.other_stride ? column : 0, row);
        sum.fma(d, row[0]);
        d = Vec<float>::splat(0);
      },
      [&](Index row) { end_of_row<8, 16>(x, row, column, sum); });
}

/// Two neighbours in halves, and what these leave.
template <int kParts>
__device__ void split(float low, float high, std::uint32_t (&parts)[kParts]) {
#pragma unroll
  for (int p = 0; p < kParts; ++p) {
    const __half2 halves = __floats2half2_rn(low, high);
    parts[p] = reinterpret_cast<const std::uint32_t&>(halves);
    low -= __low2float(halves), high -= __high2float(halves);
  }
}

/// Adds four columns of the other factor, the first of them `o`, to a row's sums with column `l` of
/// the leaves'. kAtOnce: they are 16 aligned bytes of the result.
template <bool kAtOnce>
__device__ void add_chain(const FiberPass& x, Index row, unsigned l, unsigned o,
                          const float (&y)[4]) {
  if (l >= x.leaf_columns || o >= x.other_columns) return;
  float* const to = x.out + Count{row} * x.width + l * x.leaf_step + o * x.other_step;
  if constexpr (kAtOnce) {
    Vec<float>{make_float4(y[0], y[1], y[2], y[3])}.reduce_into(to);
  } else {
#pragma unroll
    for (unsigned e = 0; e < 4; ++e)
      if (o + e < x.other_columns) atomicAdd(to + e * x.other_step, y[e]);
  }
}

/// 16 columns of the leaves' factor (blockIdx.y) by 16 of the other (blockIdx.z).
template <int kParts, bool kAtOnce>
__global__ void __launch_bounds__(kFiberThreads) chain_fibers(const FiberPass x) {
  extern __shared__ __align__(128) char shared[];
  const unsigned lane = threadIdx.x % 32, q = lane / 4, t = lane % 4;
  const unsigned leaf_column = blockIdx.y * kChainColumns,
                 other_column = blockIdx.z * kChainColumns;
  using Table = LeafTable<kParts, kChainColumns>;
  const Table table(x, shared);
  uint2 fibers = {};
  typename Table::Sums d = {};
  float y[2][4] = {};
  walk_groups<steps_ahead(kParts)>(
      x, [&] { table.fill(shared, leaf_column); },
      [&](std::uint32_t step) { return table.load(step); },
      [&](const SummedStep<kParts>& step) { table.add(step, d); },
      [&](std::uint32_t group) {
        fibers = __ldg(reinterpret_cast<const uint2*>(x.upper) + Count{group} * 4 + t);
      },
      [&](std::uint32_t) {
        const auto row = [&](Index fiber) {
          return __ldg(reinterpret_cast<const float2*>(x.other[0] + Count{fiber} * x.other_stride +
                                                       other_column + 2 * q));
        };
        const float2 one = row(fibers.x), two = row(fibers.y);
        std::uint32_t upper[2][kParts], low[kParts], high[kParts];
        split(one.x, two.x, upper[0]), split(one.y, two.y, upper[1]);
        split(d[0][0], d[0][1], low), split(d[0][2], d[0][3], high);
#pragma unroll
        for (int n = 0; n < 2; ++n)
#pragma unroll
          for (int a = 0; a < kParts; ++a)
#pragma unroll
            for (int b = 0; a + b < kParts; ++b)
              device::multiply_add<device::MmaType::f16>(y[n], low[a], high[a], upper[n][b]);
#pragma unroll
        for (int e = 0; e < 4; ++e) d[0][e] = 0;
      },
      [&](Index row) {
  // Element e of y[n]: leaf column q or 8 further on, other column 4 t + n or 2 further on.
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float *const one = y[0] + 2 * half, *const two = y[1] + 2 * half;
          add_chain<kAtOnce>(x, row, leaf_column + 8 * half + q, other_column + 4 * t,
                             {one[0], two[0], one[1], two[1]});
          one[0] = one[1] = two[0] = two[1] = 0;
        }
      });
}

}  // namespace retensor::hlsto
