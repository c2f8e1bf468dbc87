// MTTKRP of 2^32 + 1 nonzeros, one more than 32 bits count, which the device makes itself. Runs
// where 54 GB of device memory are free.
#include <doctest/doctest.h>

#include "common/device/cuda.cuh"
#include "common/device/loops.cuh"
#include "papers/pasta/kernels/tuned_cuda.cuh"
#include "tests/gpu/many_nonzeros.cuh"

namespace {

using namespace retensor;
using device::Buffer;

constexpr Count kNonzeros = test::kManyNonzeros;
constexpr Index kRows = 1u << 20;  // and one more, which the last nonzero has for itself
constexpr Index kColumns = 1u << 16;
constexpr unsigned kRank = 4, kEvery = 1u << 14;  // every so many rows are checked
constexpr Index kChecked = kRows / kEvery;
constexpr unsigned kBlocks = 8192, kThreads = 256, kChunk = 128;

/// Nonzero `x`: a pseudo-random place, the last one alone in its row. Values are halves of small
/// whole numbers.
struct Nonzero {
  Index row, column;
  float value;
  __device__ explicit Nonzero(Count x) {
    const Count bits = test::bits_of(x);
    row = x + 1 == kNonzeros ? kRows : static_cast<Index>(bits % kRows);
    column = static_cast<Index>(bits >> 40) % kColumns;
    value = 0.5f * static_cast<float>(1 + (bits >> 24) % 8);
  }
};

__global__ void make(Index* row, Index* column, float* value) {
  device::for_each_of_grid(kNonzeros, [&](Count x) {
    const Nonzero z(x);
    row[x] = z.row, column[x] = z.column, value[x] = z.value;
  });
}

TEST_CASE("MTTKRP takes more nonzeros than 32 bits count") {
  if (!test::has_room_for_many(12)) return;
  Buffer<Index> row(kNonzeros), column(kNonzeros);
  Buffer<float> value(kNonzeros), out(Count{kRows + 1} * kRank);
  const Buffer<float> rows(test::factor_of(Count{kColumns} * kRank));
  Buffer<double> checked(Count{kChecked + 1} * kRank);
  out.zero(nullptr), checked.zero(nullptr);
  RETENSOR_CUDA_LAUNCH(make, kBlocks, kThreads, 0, nullptr, row.data(), column.data(),
                       value.data());
  RETENSOR_CUDA_LAUNCH(test::expect_rows<Nonzero>, kBlocks, kThreads, 0, nullptr, rows.data(),
                       kRank, kEvery, checked.data());

  pasta::tuned::Gather<float> x;
  x.index[0] = column.data(), x.factor[0] = rows.data(), x.value = value.data();
  x.out = out.data(), x.nnz = kNonzeros, x.stride = kRank, x.others = 1;
  device::with_lanes<float>(x.stride, [&]<int kLanes>() {
    const Count groups = (kNonzeros + kChunk - 1) / kChunk;
    RETENSOR_CUDA_LAUNCH((pasta::tuned::runs<float, kLanes, 1>),
                         device::blocks_for(groups * kLanes, pasta::tuned::kThreads),
                         pasta::tuned::kThreads, 0, nullptr, x, row.data(), kChunk);
  });

  test::check_rows(checked.to_host(), out.to_host(), kRank, kEvery);
}

}  // namespace
