// Ceilings of the device. Copy and triad with 16-byte accesses; random rows of 128 bytes (32
// single-precision numbers) gathered by 8 lanes with 16-byte loads and updated by a warp with one
// atomic add per lane; records of 16 bytes read in order and written to scattered places;
// multiply-adds in registers; tensor-core products of fragments that never leave registers. Each
// launch is timed by events and moves enough for launch and tail not to count. Bytes are read plus
// written.
#include <functional>
#include <string>

#include "common/core/rng.hpp"
#include "common/device/cuda.cuh"
#include "common/device/device.hpp"
#include "common/device/loops.cuh"
#include "common/device/mma.cuh"
#include "common/device/warp.cuh"
#include "common/machine/ceilings.hpp"

namespace retensor {
namespace {

using device::blocks_for;
using device::Buffer;
using device::thread_of_grid;

constexpr unsigned kBlock = 256;
constexpr unsigned kRowFloats = 32;
constexpr unsigned kRowVectors = kRowFloats / 4;

/// Each thread moves 4 vectors a block apart: four loads are in flight before the first store.
__global__ void copy(Count n, const float4* __restrict__ from, float4* __restrict__ to) {
  const Count first = static_cast<Count>(blockIdx.x) * blockDim.x * 4 + threadIdx.x;
  float4 held[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (const Count i = first + k * blockDim.x; i < n) held[k] = __ldcs(from + i);
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (const Count i = first + k * blockDim.x; i < n) __stcs(to + i, held[k]);
}

/// Copies the same set `passes` times in one launch, past the L1, so that a set in the L2 takes
/// long enough for launches not to count.
__global__ void copy_resident(Count n, int passes, const float4* from, float4* to) {
  const Count stride = static_cast<Count>(gridDim.x) * blockDim.x;
  for (int p = 0; p < passes; ++p)
    for (Count i = thread_of_grid(); i < n; i += 4 * stride) {
      float4 held[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (i + k * stride < n) held[k] = __ldcg(from + i + k * stride);
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (i + k * stride < n) __stcg(to + i + k * stride, held[k]);
    }
}

__device__ float4 triad_of(float4 b, float4 c) {
  return make_float4(b.x + 0.5f * c.x, b.y + 0.5f * c.y, b.z + 0.5f * c.z, b.w + 0.5f * c.w);
}

__global__ void triad(Count n, const float4* __restrict__ b, const float4* __restrict__ c,
                      float4* __restrict__ a) {
  const Count first = static_cast<Count>(blockIdx.x) * blockDim.x * 2 + threadIdx.x;
  float4 x[2], y[2];
#pragma unroll
  for (int k = 0; k < 2; ++k)
    if (const Count i = first + k * blockDim.x; i < n) {
      x[k] = __ldcs(b + i);
      y[k] = __ldcs(c + i);
    }
#pragma unroll
  for (int k = 0; k < 2; ++k)
    if (const Count i = first + k * blockDim.x; i < n) __stcs(a + i, triad_of(x[k], y[k]));
}

/// The triad of the same set `passes` times in one launch, as copy_resident.
__global__ void triad_resident(Count n, int passes, const float4* b, const float4* c, float4* a) {
  const Count stride = static_cast<Count>(gridDim.x) * blockDim.x;
  for (int p = 0; p < passes; ++p)
    for (Count i = thread_of_grid(); i < n; i += 2 * stride) {
      float4 x[2], y[2];
#pragma unroll
      for (int k = 0; k < 2; ++k)
        if (i + k * stride < n) {
          x[k] = __ldcg(b + i + k * stride);
          y[k] = __ldcg(c + i + k * stride);
        }
#pragma unroll
      for (int k = 0; k < 2; ++k)
        if (i + k * stride < n) __stcg(a + i + k * stride, triad_of(x[k], y[k]));
    }
}

__global__ void draw_rows(Count n, std::uint64_t rows, Index* out) {
  const CounterRng rng(1);
  if (const Count i = thread_of_grid(); i < n) out[i] = static_cast<Index>(rng.below(i, rows));
}

__global__ void fill(Count n, float* out) {
  if (const Count i = thread_of_grid(); i < n) out[i] = 1.0f + static_cast<float>(i & 7);
}

/// A group of 8 lanes loads 8 row numbers, one each, and then the 8 rows, 16 bytes a lane; n is a
/// multiple of the block.
__global__ void gather(const float4* __restrict__ table, const Index* __restrict__ rows,
                       float* never) {
  const unsigned lane = threadIdx.x % kRowVectors;
  const Index mine = rows[thread_of_grid()];
  float4 held[kRowVectors];
#pragma unroll
  for (unsigned k = 0; k < kRowVectors; ++k) {
    const Index row = device::of_lane<kRowVectors>(mine, static_cast<int>(k));
    held[k] = __ldg(table + static_cast<Count>(row) * kRowVectors + lane);
  }
  float sum = 0;
#pragma unroll
  for (unsigned k = 0; k < kRowVectors; ++k)
    sum += (held[k].x + held[k].y) + (held[k].z + held[k].w);
  // The table holds positive numbers: the store keeps the loads alive and never happens.
  if (sum < 0) *never = sum;
}

/// A warp loads 32 row numbers and adds to the 32 rows, one number a lane; n is a multiple of the
/// block.
__global__ void atomic_rows(float* table, const Index* __restrict__ rows) {
  const unsigned lane = threadIdx.x % kRowFloats;
  const Index mine = rows[thread_of_grid()];
#pragma unroll 8
  for (unsigned k = 0; k < kRowFloats; ++k) {
    const Index row = device::of_lane<kRowFloats>(mine, static_cast<int>(k));
    atomicAdd(table + static_cast<Count>(row) * kRowFloats + lane, 1.0f);
  }
}

/// A bijection of 0 .. 2^bits - 1 without visible order: odd multipliers and right shifts each are.
__device__ std::uint32_t scattered(std::uint32_t i, int bits) {
  const std::uint32_t mask = (1u << bits) - 1;
  i ^= i >> (bits / 2);
  i = (i * 0x9e3779b1u) & mask;
  i ^= i >> (bits / 2 - 1);
  i = (i * 0x85ebca77u) & mask;
  return i ^ (i >> (bits / 2 + 1));
}

__global__ void scatter(int bits, const uint4* __restrict__ from, uint4* __restrict__ to) {
  const auto i = static_cast<std::uint32_t>(thread_of_grid());
  to[scattered(i, bits)] = __ldcs(from + i);
}

constexpr int kChains = 16;

__global__ void multiply_add(int steps, float* never) {
  float sum[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum[c] = static_cast<float>(threadIdx.x + c);
  const float scale = 0.999f, shift = 0.001f * static_cast<float>(threadIdx.x + 1);
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) sum[c] = fmaf(sum[c], scale, shift);
  }
  float total = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) total += sum[c];
  if (total < 0) *never = total;
}

constexpr int kTiles = 8;
constexpr double kTileFlops = 2.0 * 16 * 8 * 16;

/// m16n8k16, fp16 operands, fp32 sums: 8 independent accumulators a warp. Operands lie between 1/4
/// and 1/2 with changing bits, since products of zeros draw less power and clock higher.
__global__ void mma_f16(int steps, float* never) {
  const std::uint32_t noise = threadIdx.x * 0x9e3779b1u;
  const auto half2 = [noise](std::uint32_t k) {
    return 0x34003400u | ((noise * (2 * k + 1)) & 0x03ff03ffu);
  };
  std::uint32_t a[4], b[kTiles][2];
  float d[kTiles][4] = {};
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) a[k] = half2(k);
#pragma unroll
  for (std::uint32_t t = 0; t < kTiles; ++t) {
    b[t][0] = half2(4 + 2 * t);
    b[t][1] = half2(5 + 2 * t);
  }
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
      device::multiply_add<device::MmaType::f16>(d[t], a[0], a[1], a[2], a[3], b[t][0], b[t][1]);
  }
  float total = 0;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) total += (d[t][0] + d[t][1]) + (d[t][2] + d[t][3]);
  if (total < 0) *never = total;
}

std::string mebibytes(Count bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

/// The probes of one device; working sets shrink on a device with little free memory.
class Probes {
 public:
  explicit Probes(double seconds)
      : budget_(seconds / 50),  // about as many probes as the methods below run
        sms_(static_cast<unsigned>(device::facts().sms)),
        l2_(device::facts().l2_bytes),
        largest_(std::min<Count>(Count{1} << 30, device::memory().free_bytes / 8)) {}

  std::vector<Ceiling> all() {
    streams(largest_ / 2);
    streams(largest_);
    for (Count set = l2_ / 16; set <= l2_ / 4; set *= 2)
      for (const unsigned blocks : {2, 4, 8}) resident(set, blocks);
    triads(largest_ / 4);
    triads(largest_ / 2);
    for (Count table = Count{128} << 10; table < l2_; table *= 8) rows(table, "");
    rows(l2_ / 4 * 3, "");
    rows(2 * l2_, "_dram");
    rows(largest_ / 2, "_dram");
    records();
    arithmetic();
    return std::move(found_);
  }

 private:
  /// Times `launch(stream)`, which moves or computes `amount`, and keeps the best of its kind.
  /// Returns the rate.
  template <class Launch>
  double probe(const std::string& what, const char* unit, const std::string& detail, double amount,
               Launch&& launch) {
    const double rate = best_rate(budget_, [&] {
      stream_.synchronise();
      begin_.record(stream_.get());
      launch(stream_.get());
      end_.record(stream_.get());
      end_.synchronise();
      return std::pair(amount, end_.seconds_since(begin_));
    });
    keep_best(found_, {what, rate, unit, detail});
    return rate;
  }

  /// `bytes` in each of two arrays beyond the L2.
  void streams(Count bytes) {
    const Count n = bytes / sizeof(float4);
    Buffer<float4> from(n), to(n);
    from.zero(stream_.get());
    const double moved = 2.0 * static_cast<double>(from.bytes());
    probe("copy_dram", "GB/s", "kernel, " + mebibytes(2 * bytes), moved, [&](cudaStream_t s) {
      RETENSOR_CUDA_LAUNCH(copy, blocks_for(n, 4 * kBlock), kBlock, 0, s, n, from.data(),
                           to.data());
    });
    probe("copy_dram", "GB/s", "cudaMemcpy, " + mebibytes(2 * bytes), moved, [&](cudaStream_t s) {
      RETENSOR_CUDA_CHECK(
          cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, s));
    });
  }

  /// `bytes` in each of two or three arrays that stay in the L2, `blocks` an SM.
  void resident(Count bytes, unsigned blocks) {
    constexpr int kPasses = 100;
    const Count n = bytes / sizeof(float4);
    Buffer<float4> from(n), also(n), to(n);
    from.zero(stream_.get());
    also.zero(stream_.get());
    const double moved = static_cast<double>(from.bytes()) * kPasses;
    const auto shape = ", " + std::to_string(blocks) + " blocks an SM";
    probe("copy_llc", "GB/s", "kernel, " + mebibytes(2 * bytes) + shape, 2 * moved,
          [&](cudaStream_t s) {
            RETENSOR_CUDA_LAUNCH(copy_resident, sms_ * blocks, kBlock, 0, s, n, kPasses,
                                 from.data(), to.data());
          });
    probe("triad_llc", "GB/s", "kernel, " + mebibytes(3 * bytes) + shape, 3 * moved,
          [&](cudaStream_t s) {
            RETENSOR_CUDA_LAUNCH(triad_resident, sms_ * blocks, kBlock, 0, s, n, kPasses,
                                 from.data(), also.data(), to.data());
          });
  }

  void triads(Count bytes) {
    const Count n = bytes / sizeof(float4);
    Buffer<float4> a(n), b(n), c(n);
    b.zero(stream_.get());
    c.zero(stream_.get());
    probe("triad_dram", "GB/s", "kernel, " + mebibytes(3 * bytes),
          3.0 * static_cast<double>(a.bytes()), [&](cudaStream_t s) {
            RETENSOR_CUDA_LAUNCH(triad, blocks_for(n, 2 * kBlock), kBlock, 0, s, n, b.data(),
                                 c.data(), a.data());
          });
  }

  void rows(Count table_bytes, const std::string& where) {
    constexpr Count kRows = Count{1} << 24;
    const Count floats = table_bytes / sizeof(float) / kRowFloats * kRowFloats;
    Buffer<float> table(floats), never(1);
    Buffer<Index> drawn(kRows);
    RETENSOR_CUDA_LAUNCH(fill, blocks_for(floats, kBlock), kBlock, 0, stream_.get(), floats,
                         table.data());
    RETENSOR_CUDA_LAUNCH(draw_rows, blocks_for(kRows, kBlock), kBlock, 0, stream_.get(), kRows,
                         floats / kRowFloats, drawn.data());
    const auto detail = "rows of 128 bytes, table " +
                        (table_bytes < (1 << 20) ? std::to_string(table_bytes >> 10) + " KiB"
                                                 : mebibytes(table_bytes));
    const double rate = probe("gather" + where, "GB/s", detail, kRows * kRowFloats * sizeof(float),
                              [&](cudaStream_t s) {
                                RETENSOR_CUDA_LAUNCH(gather, kRows / kBlock, kBlock, 0, s,
                                                     reinterpret_cast<const float4*>(table.data()),
                                                     drawn.data(), never.data());
                              });
    keep_best(found_, {"gather_" + std::to_string(table_bytes >> 10), rate, "GB/s", detail});
    probe("atomic" + where, "Grows/s", detail, kRows, [&](cudaStream_t s) {
      RETENSOR_CUDA_LAUNCH(atomic_rows, kRows / kBlock, kBlock, 0, s, table.data(), drawn.data());
    });
  }

  void records() {
    constexpr int kBits = 24;
    constexpr Count kRecords = Count{1} << kBits;
    Buffer<uint4> from(kRecords), to(kRecords);
    from.zero(stream_.get());
    probe("scatter", "Grows/s", "16 M records of 16 bytes", kRecords, [&](cudaStream_t s) {
      RETENSOR_CUDA_LAUNCH(scatter, kRecords / kBlock, kBlock, 0, s, kBits, from.data(), to.data());
    });
  }

  void arithmetic() {
    constexpr int kSteps = 4096;
    Buffer<float> never(1);
    for (const unsigned an_sm : {4, 8, 16}) {
      const unsigned blocks = sms_ * an_sm;
      const double threads = static_cast<double>(blocks) * kBlock;
      const auto shape = ", " + std::to_string(an_sm) + " blocks an SM";
      probe("peak_f32", "GFLOP/s", "16 chains a thread" + shape, 2.0 * kChains * kSteps * threads,
            [&](cudaStream_t s) {
              RETENSOR_CUDA_LAUNCH(multiply_add, blocks, kBlock, 0, s, kSteps, never.data());
            });
      probe("mma_f16", "GFLOP/s", "mma.sync m16n8k16, fp32 sums" + shape,
            kTileFlops * kTiles * kSteps * threads / 32, [&](cudaStream_t s) {
              RETENSOR_CUDA_LAUNCH(mma_f16, blocks, kBlock, 0, s, kSteps, never.data());
            });
    }
  }

  double budget_;
  unsigned sms_;
  Count l2_, largest_;
  device::Stream stream_;
  device::Event begin_, end_;
  std::vector<Ceiling> found_;
};

}  // namespace

std::vector<Ceiling> gpu_ceilings(double seconds) {
  if (!device::available().ok) return {};
  return Probes(seconds).all();
}

}  // namespace retensor
