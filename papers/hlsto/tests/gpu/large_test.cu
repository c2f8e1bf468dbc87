// HLSTO's kernel on 2^32 + 1 nonzeros outside dense tiles, with values of 16 bits, which the device
// makes itself. Runs where 28 GB of device memory are free.
#include <doctest/doctest.h>

#include "common/device/cuda.cuh"
#include "common/device/loops.cuh"
#include "papers/hlsto/kernels/hlsto_cuda.cuh"
#include "tests/gpu/many_nonzeros.cuh"

namespace {

using namespace retensor;
using device::Buffer;
using test::kManyNonzeros;

constexpr Index kRows = 1u << 20;  // and one more, which the last nonzero has for itself
constexpr int kRowBits = 21, kSecondBits = 6, kThirdBits = 5;
constexpr unsigned kRank = 4, kEvery = 1u << 14;  // every so many rows are checked
constexpr Index kChecked = kRows / kEvery;
constexpr unsigned kBlocks = 8192, kThreads = 256;

/// Nonzero `x`: a pseudo-random place, the last one alone in its row.
struct Nonzero {
  Index row, second, third;
  unsigned halves;  ///< the value in halves: 1 to 4
  __device__ explicit Nonzero(Count x) {
    const Count bits = test::bits_of(x);
    row = x + 1 == kManyNonzeros ? kRows : static_cast<Index>(bits % kRows);
    second = static_cast<Index>(bits >> 40) % (1u << kSecondBits);
    third = static_cast<Index>(bits >> 50) % (1u << kThirdBits);
    halves = static_cast<unsigned>(1 + (bits >> 24) % 4);
  }
};

__global__ void make(std::uint32_t* index, std::uint16_t* value) {
  device::for_each_of_grid(kManyNonzeros, [&](Count x) {
    const Nonzero z(x);
    constexpr std::uint16_t kBits[] = {0x3800, 0x3c00, 0x3e00, 0x4000};
    index[x] = z.row | z.second << kRowBits | z.third << (kRowBits + kSecondBits);
    value[x] = kBits[z.halves - 1];
  });
}

/// The checked rows in fp64, from the law and not from what was stored.
__global__ void expect(const float* second, const float* third, double* rows) {
  device::for_each_of_grid(kManyNonzeros, [&](Count x) {
    const Nonzero z(x);
    if (z.row % kEvery != 0) return;
    for (unsigned r = 0; r < kRank; ++r)
      atomicAdd(rows + z.row / kEvery * kRank + r,
                0.5 * z.halves * static_cast<double>(second[z.second * kRank + r]) *
                    static_cast<double>(third[z.third * kRank + r]));
  });
}

TEST_CASE("HLSTO's kernel takes more nonzeros than 32 bits count") {
  if (!test::has_room_for_many(sizeof(std::uint32_t) + sizeof(std::uint16_t))) return;
  Buffer<std::uint32_t> index(kManyNonzeros);
  Buffer<std::uint16_t> value(kManyNonzeros);
  Buffer<float> result(Count{kRows + 1} * kRank);
  Buffer<double> checked(Count{kChecked + 1} * kRank);
  result.zero(nullptr), checked.zero(nullptr);
  const Buffer<float> second(test::factor_of((Count{1} << kSecondBits) * kRank)),
      third(test::factor_of((Count{1} << kThirdBits) * kRank));
  RETENSOR_CUDA_LAUNCH(make, kBlocks, kThreads, 0, nullptr, index.data(), value.data());
  RETENSOR_CUDA_LAUNCH(expect, kBlocks, kThreads, 0, nullptr, second.data(), third.data(),
                       checked.data());

  hlsto::DeviceChain x;
  x.nonzero_index = index.data(), x.sparse_values = value.data(), x.nonzeros = kManyNonzeros;
  x.index[0] = {0, kRowBits}, x.index[1] = {kRowBits, kSecondBits};
  x.index[2] = {kRowBits + kSecondBits, kThirdBits};
  x.factor[1].rows = second.data(), x.factor[2].rows = third.data();
  x.factor[1].columns = x.factor[2].columns = kRank;
  x.order = 3, x.width = kRank, x.out = result.data();
  RETENSOR_CUDA_LAUNCH((hlsto::multiply<Arithmetic::fp16, 1, false>),
                       device::blocks_for(kManyNonzeros, kThreads), kThreads, 0, nullptr, x, 0u);

  test::check_rows(checked.to_host(), result.to_host(), kRank, kEvery);
}

}  // namespace
