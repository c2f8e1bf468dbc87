// MTTKRP of a mode in the paper's format and the remapping to the next mode, of 2^32 + 1 nonzeros
// with ids of 64 bits, which the device makes itself. Runs where 105 GB of device memory are free.
#include <doctest/doctest.h>

#include <vector>

#include "common/device/cuda.cuh"
#include "common/device/loops.cuh"
#include "papers/flycoo/kernels/flycoo_cuda.cuh"
#include "tests/gpu/many_nonzeros.cuh"

namespace {

using namespace retensor;
using device::Buffer;
using test::kManyNonzeros;

constexpr Index kRows = 1u << 20;  // and one more, which the last nonzero has for itself
constexpr int kRowBits = 21, kColumnBits = 11;
constexpr Count kOfPartition = 1 << 20, kPartitions = kManyNonzeros / kOfPartition + 1;
constexpr Index kRowsOfPartition = kRows / static_cast<Index>(kPartitions - 1);
constexpr unsigned kRank = 4, kEvery = 1u << 14;  // every so many rows are checked
constexpr Index kChecked = kRows / kEvery;
constexpr unsigned kBlocks = 8192, kThreads = 256, kWords = 2, kIdWords = 2;

/// The nonzero at position `x` of the mode's order: a pseudo-random place in its partition.
struct Nonzero {
  Index row, column;
  float value;
  __device__ explicit Nonzero(Count x) {
    const Count bits = test::bits_of(x);
    row = static_cast<Index>(x / kOfPartition) * kRowsOfPartition;
    if (x + 1 < kManyNonzeros) row += static_cast<Index>(bits) % kRowsOfPartition;
    column = static_cast<Index>(bits >> 40) % (1u << kColumnBits);
    value = 0.5f * static_cast<float>(1 + (bits >> 24) % 8);
  }
  __device__ std::uint32_t word(unsigned w) const {
    return w == 0 ? row | column << kRowBits : __float_as_uint(value);
  }
};

/// Where a nonzero goes: the next mode has them in the opposite order.
__device__ Count next_place(Count x) {
  return kManyNonzeros - 1 - x;
}

flycoo::RecordLayout layout() {
  flycoo::RecordLayout l;
  l.order = 2, l.words = kWords, l.id_words = kIdWords;
  l.index[0] = {0, 0, kRowBits}, l.index[1] = {0, kRowBits, kColumnBits};
  l.value_word = 1;
  return l;
}

__global__ void make(flycoo::RecordLayout l, std::uint32_t* records, std::uint32_t* stream) {
  device::for_each_of_grid(kManyNonzeros, [&](Count x) {
    const Nonzero z(x);
    for (unsigned w = 0; w < kWords; ++w) records[x * kWords + w] = z.word(w);
    flycoo::write_id(l, stream + x * kIdWords, next_place(x));
  });
}

/// How many records are not where they belong.
__global__ void count_strays(const std::uint32_t* records, unsigned long long* strays) {
  device::for_each_of_grid(kManyNonzeros, [&](Count x) {
    const Nonzero z(x);
    for (unsigned w = 0; w < kWords; ++w)
      if (records[next_place(x) * kWords + w] != z.word(w)) atomicAdd(strays, 1ull);
  });
}

TEST_CASE("FLYCOO's pass and remapping take more nonzeros than 32 bits count") {
  if (!test::has_room_for_many((2 * kWords + kIdWords) * sizeof(std::uint32_t))) return;
  Buffer<std::uint32_t> in(kManyNonzeros * kWords), out(kManyNonzeros * kWords),
      stream(kManyNonzeros * kIdWords);
  Buffer<float> result(Count{kRows + 1} * kRank);
  Buffer<double> checked(Count{kChecked + 1} * kRank);
  Buffer<unsigned long long> strays(1);
  result.zero(nullptr), checked.zero(nullptr), strays.zero(nullptr), out.zero(nullptr);
  std::vector<Count> starts;
  for (Count z = 0; z < kPartitions; ++z) starts.push_back(z * kOfPartition);
  starts.push_back(kManyNonzeros);
  const Buffer<float> rows(test::factor_of((Count{1} << kColumnBits) * kRank));
  const Buffer<Count> start(starts);
  RETENSOR_CUDA_LAUNCH(make, kBlocks, kThreads, 0, nullptr, layout(), in.data(), stream.data());
  RETENSOR_CUDA_LAUNCH(test::expect_rows<Nonzero>, kBlocks, kThreads, 0, nullptr, rows.data(),
                       kRank, kEvery, checked.data());

  flycoo::PassArguments<float> x;
  x.layout = layout(), x.in = in.data(), x.next_copy = out.data(), x.stream = stream.data();
  x.start = start.data(), x.row = x.layout.index[0], x.other[0] = x.layout.index[1];
  x.factor[0] = rows.data(), x.out = result.data();
  x.next = 1, x.others = 1, x.rank = kRank, x.stride = kRank;
  RETENSOR_CUDA_LAUNCH((flycoo::pass<float, 1, flycoo::Scope::block, true>),
                       static_cast<unsigned>(kPartitions), dim3(kRank, kThreads / kRank), 0,
                       nullptr, x);
  RETENSOR_CUDA_LAUNCH(count_strays, kBlocks, kThreads, 0, nullptr, out.data(), strays.data());

  CHECK(strays.to_host().front() == 0);
  test::check_rows(checked.to_host(), result.to_host(), kRank, kEvery);
}

}  // namespace
