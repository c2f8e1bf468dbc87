// SpMM by TCA-SpMM's kernel of 2^32 + 1 nonzeros, which the device makes itself. Runs where 28 GB
// of device memory are free.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/device/loops.cuh"
#include "common/device/shared.cuh"
#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/kernels/run_cuda.cuh"
#include "papers/tca_spmm/kernels/tca_spmm_cuda.cuh"
#include "tests/gpu/many_nonzeros.cuh"

namespace {

using namespace retensor;
using namespace retensor::tca_spmm;
using device::Buffer;
using test::kManyNonzeros;

constexpr Count kOfRow = 4096, kRows = kManyNonzeros / kOfRow + 1;  // the last has one nonzero
constexpr Index kColumns = 1u << 16;
constexpr unsigned kWidth = 8;
constexpr Count kEvery = 1 << 14, kChecked = (kRows + kEvery - 1) / kEvery;
constexpr unsigned kBlocks = 8192, kThreads = 256;

/// Nonzero `x`: a pseudo-random column, and a value of 1, 2, 3 or 4.
struct Nonzero {
  Index column;
  unsigned value;
  __device__ explicit Nonzero(Count x) {
    const Count bits = test::bits_of(x);
    column = static_cast<Index>(bits >> 40) % kColumns;
    value = static_cast<unsigned>(1 + bits % 4);
  }
};

__global__ void make(Index* column, std::uint16_t* value) {
  device::for_each_of_grid(kManyNonzeros, [&](Count x) {
    const Nonzero z(x);
    constexpr std::uint16_t kHalves[] = {0x3c00, 0x4000, 0x4200, 0x4400};
    column[x] = z.column, value[x] = kHalves[z.value - 1];
  });
}

/// The checked rows in fp64, from the law and not from what was stored.
__global__ void expect(const float* dense, double* rows) {
  device::for_each_of_grid(kManyNonzeros, [&](Count x) {
    if (x / kOfRow % kEvery != 0) return;
    const Nonzero z(x);
    for (unsigned n = 0; n < kWidth; ++n)
      atomicAdd(rows + x / kOfRow / kEvery * kWidth + n,
                static_cast<double>(z.value) * static_cast<double>(dense[z.column * kWidth + n]));
  });
}

TEST_CASE("SpMM takes more nonzeros than 32 bits count") {
  if (!test::has_room_for_many(sizeof(Index) + sizeof(std::uint16_t))) return;
  std::vector<Count> row_start;
  for (Count row = 0; row < kRows; ++row) row_start.push_back(row * kOfRow);
  row_start.push_back(kManyNonzeros);
  const Plan plan = make_plan(row_start, kWidth, {});
  const auto dense = test::factor_of(Count{kColumns} * kWidth);
  std::vector<std::uint16_t> halves;
  for (const float x : dense) halves.push_back(to_fp16_bits(x));
  const Buffer<float> law(dense);
  const Buffer<std::uint16_t> d(halves);
  const Buffer<Count> start(row_start);
  const Buffer<Index> row(plan.row_id_for_each_warp), warp(plan.warpid_within_row),
      warps(plan.num_warps_per_row);
  Buffer<Index> column(kManyNonzeros);
  Buffer<std::uint16_t> value(kManyNonzeros);
  Buffer<float> out(kRows * kWidth);
  Buffer<double> checked(kChecked * kWidth);
  out.zero(nullptr), checked.zero(nullptr);
  RETENSOR_CUDA_LAUNCH(make, kBlocks, kThreads, 0, nullptr, column.data(), value.data());
  RETENSOR_CUDA_LAUNCH(expect, kBlocks, kThreads, 0, nullptr, law.data(), checked.data());

  DeviceProduct p;
  p.row_start = start.data(), p.columns = column.data(), p.values = value.data();
  p.dense = d.data(), p.dense_stride = kWidth;
  p.out = out.data(), p.out_stride = kWidth, p.width = kWidth;
  p.row_id_for_each_warp = row.data(), p.warpid_within_row = warp.data();
  p.num_warps_per_row = warps.data();
  const unsigned shared = BlockMemory<8>::bytes(false);
  device::allow_shared(multiply_rows<8>, shared);
  RETENSOR_CUDA_LAUNCH(multiply_rows<8>, static_cast<unsigned>(plan.blocks()), kBlockThreads,
                       shared, nullptr, p);

  // Single precision that tensor cores cut off.
  test::check_rows(checked.to_host(), out.to_host(), kWidth, kEvery, 1.2e-7);
}

}  // namespace
