// TTM-chain on the device, all modes but one, its result dense and in place: Y(i, :) is the sum
// over the nonzeros of slice i of their values times the Kronecker product of the factor rows that
// they meet (T. G. Kolda, B. W. Bader: Tensor Decompositions and Applications, SIAM Review 51(3),
// 2009, section 4.2). Included by .cu files alone.
//
// Nonzeros lie sorted by the mode of the result, a copy for each mode. A thread block takes a
// segment, up to kSegment nonzeros of one slice, and kThreads * kColumns columns of Y, whose sums
// stay in registers. A slice of one segment is stored, those of several are added up atomically,
// hence Y is cleared first. Threads of a warp read neighbouring elements of the last factor's row
// and the same elements of the others'.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/tensor/operations.hpp"

namespace retensor::tucker {

inline constexpr unsigned kThreads = 128, kColumns = 4;
inline constexpr Count kSegment = 128;
inline constexpr int kMostOthers = 4;  // modes that are multiplied

struct Segment {
  Count first, end;  // nonzeros
  Index row;
  unsigned whole;  // the slice has no other segment
};

/// What a launch reads and writes; `Others` of the arrays count.
template <class T>
struct ChainArguments {
  const Segment* segments;
  const Index* index[kMostOthers];  // of the multiplied modes, ascending
  const T* values;
  const T* factor[kMostOthers];  // I_m x R_m without padding
  unsigned width[kMostOthers];   // R_m
  unsigned columns;              // their product
  T* out;
};

template <class T, int kOthers>
__global__ void __launch_bounds__(kThreads) chain_rows(ChainArguments<T> x) {
  const Segment segment = x.segments[blockIdx.x];
  unsigned column[kColumns], digit[kColumns][kOthers];
  T sum[kColumns];
#pragma unroll
  for (unsigned k = 0; k < kColumns; ++k) {
    column[k] = (blockIdx.y * kColumns + k) * kThreads + threadIdx.x;
    unsigned rest = column[k] < x.columns ? column[k] : 0;
#pragma unroll
    for (int m = kOthers - 1; m >= 0; --m) {
      digit[k][m] = rest % x.width[m];
      rest /= x.width[m];
    }
    sum[k] = 0;
  }
  for (Count p = segment.first; p < segment.end; ++p) {
    const T value = x.values[p];
    const T* row[kOthers];
#pragma unroll
    for (int m = 0; m < kOthers; ++m)
      row[m] = x.factor[m] + static_cast<Count>(x.index[m][p]) * x.width[m];
#pragma unroll
    for (unsigned k = 0; k < kColumns; ++k) {
      T product = value;
#pragma unroll
      for (int m = 0; m < kOthers; ++m) product *= row[m][digit[k][m]];
      sum[k] += product;
    }
  }
  T* const out = x.out + static_cast<Count>(segment.row) * x.columns;
#pragma unroll
  for (unsigned k = 0; k < kColumns; ++k) {
    if (column[k] >= x.columns) continue;
    if (segment.whole)
      out[column[k]] = sum[k];
    else
      atomicAdd(out + column[k], sum[k]);
  }
}

/// The nonzeros for the chain of one mode.
template <class T>
class Chain {
 public:
  Chain(const Coo& x, int mode, const Dims& ranks) : rows_(x.dims[static_cast<std::size_t>(mode)]) {
    for (int m = 0; m < x.order(); ++m)
      if (m != mode) others_.push_back(static_cast<std::size_t>(m));
    const auto order = sort_permutation(x, std::array{mode});
    const auto& slice = x.indices[static_cast<std::size_t>(mode)];
    const auto segments = segments_of(order, slice);
    segments_ = device::Buffer<Segment>(segments);
    values_ = device::Buffer<T>(taken(x.values.as<T>(), order));
    for (const auto m : others_) {
      index_.push_back(device::Buffer<Index>(taken(x.indices[m], order)));
      columns_ *= ranks[m];
    }
    if (columns_ > kMostColumns)
      throw InputError("tucker: the ranks of all modes but one multiply to more than 2^24");
  }

  std::uint64_t rows() const { return rows_; }
  std::uint64_t columns() const { return columns_; }
  Count bytes() const {
    Count bytes = segments_.bytes() + values_.bytes();
    for (const auto& index : index_) bytes += index.bytes();
    return bytes;
  }

  /// Y, rows() x columns(), from the factors of all modes.
  void run(const std::vector<device::Buffer<T>>& factors, const Dims& ranks, T* out,
           cudaStream_t stream) const {
    RETENSOR_CUDA_CHECK(cudaMemsetAsync(out, 0, rows_ * columns_ * sizeof(T), stream));
    if (segments_.size() == 0) return;
    ChainArguments<T> x{};
    x.segments = segments_.data();
    x.values = values_.data();
    x.columns = static_cast<unsigned>(columns_);
    x.out = out;
    for (std::size_t m = 0; m < others_.size(); ++m) {
      x.index[m] = index_[m].data();
      x.factor[m] = factors[others_[m]].data();
      x.width[m] = static_cast<unsigned>(ranks[others_[m]]);
    }
    switch (others_.size()) {
      case 1:
        return launch<1>(x, stream);
      case 2:
        return launch<2>(x, stream);
      case 3:
        return launch<3>(x, stream);
      default:
        return launch<kMostOthers>(x, stream);
    }
  }

 private:
  static constexpr Count kMostColumns = Count{1} << 24;  // of one grid's second dimension

  template <int kOthers>
  void launch(const ChainArguments<T>& x, cudaStream_t stream) const {
    const dim3 grid(static_cast<unsigned>(segments_.size()),
                    device::blocks_for(columns_, kThreads * kColumns));
    RETENSOR_CUDA_LAUNCH((chain_rows<T, kOthers>), grid, kThreads, 0, stream, x);
  }

  template <class All>
  static auto taken(const All& all, const std::vector<Count>& order) {
    std::vector<std::remove_cvref_t<decltype(all[0])>> sorted(order.size());
    for (Count p = 0; p < order.size(); ++p) sorted[p] = all[order[p]];
    return sorted;
  }

  static std::vector<Segment> segments_of(const std::vector<Count>& order,
                                          const std::vector<Index>& slice) {
    std::vector<Segment> segments;
    for (Count first = 0; first < order.size();) {
      const Index row = slice[order[first]];
      Count end = first;
      while (end < order.size() && slice[order[end]] == row) ++end;
      const unsigned whole = end - first <= kSegment;
      for (; first < end; first += kSegment)
        segments.push_back({first, std::min(end, first + kSegment), row, whole});
      first = end;
    }
    return segments;
  }

  const std::uint64_t rows_;
  std::uint64_t columns_ = 1;
  std::vector<std::size_t> others_;
  device::Buffer<Segment> segments_;
  device::Buffer<T> values_;
  std::vector<device::Buffer<Index>> index_;
};

}  // namespace retensor::tucker
