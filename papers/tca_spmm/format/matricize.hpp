// Compressed dot products as a matrix product (TCA-SpMM section 4.1, Fig. 2 and 4).
//
// The dot product of the nonzeros s_0, s_1, ... of a row of S with the elements d_0, d_1, ... of a
// column of D that stand at their indices is the trace of a product of matrices. With k the depth
// of the MMA, nonzero t stands in the fragment on the right (k x 8) at row t mod k of column t / k,
// column-wise; its partner in the fragment on the left (16 x k) at column t mod k of row t / k,
// row-wise. A row that fills c columns takes c rows on the left, so 16 / c columns of D are below
// each other: output q has the rows from q c on, and its value is the trace of the c x c block of
// the result from row q c and column 0 on. What else the result holds is of no use. Places without
// a nonzero are zero.
#pragma once

#include <algorithm>
#include <array>

#include "common/core/types.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/format/operands.hpp"
#include "papers/tca_spmm/format/plan.hpp"

namespace retensor::tca_spmm {

template <int kDepth>
using LeftFragment = std::array<float, kFragmentRows * kDepth>;
template <int kDepth>
using RightFragment = std::array<float, kDepth * kFragmentColumns>;
using Accumulator = std::array<float, kFragmentRows * kFragmentColumns>;

/// The nonzeros of a row from `first` to before `end`, at most 8 kDepth, matricized column-wise.
template <int kDepth>
RightFragment<kDepth> right_fragment(const HalfCsr& s, Count first, Count end) {
  RightFragment<kDepth> right{};
  for (Count t = 0; t < end - first; ++t)
    right[t % kDepth * kFragmentColumns + t / kDepth] = from_fp16_bits(s.values[first + t]);
  return right;
}

/// The columns of D from `output` on that one MMA takes, compressed by the same nonzeros and
/// matricized row-wise; `columns`: c. Columns beyond the last of D are zero.
template <int kDepth>
LeftFragment<kDepth> left_fragment(const HalfCsr& s, Count first, Count end, const HalfMatrix& d,
                                   std::uint64_t output, int columns) {
  LeftFragment<kDepth> left{};
  const auto outputs = static_cast<std::uint64_t>(kFragmentRows / columns);
  const auto found = std::min<std::uint64_t>(outputs, d.cols() - output);
  const auto rows = static_cast<std::uint64_t>(columns);
  for (Count t = 0; t < end - first; ++t)
    for (std::uint64_t q = 0; q < found; ++q)
      left[(q * rows + t / kDepth) * kDepth + t % kDepth] =
          from_fp16_bits(d(s.columns[first + t], output + q));
  return left;
}

/// The trace of output q: neighbours at distance c / 2, c / 4, ..., 1 are added up, the order of
/// a reduction by warp shuffles.
inline float trace(const Accumulator& sums, int columns, int q) {
  std::array<float, kFragmentColumns> diagonal{};
  const auto n = static_cast<std::size_t>(columns);
  for (std::size_t r = 0; r < n; ++r)
    diagonal[r] = sums[(static_cast<std::size_t>(q) * n + r) * kFragmentColumns + r];
  for (std::size_t distance = n / 2; distance > 0; distance /= 2)
    for (std::size_t r = 0; r < distance; ++r) diagonal[r] += diagonal[r + distance];
  return diagonal[0];
}

}  // namespace retensor::tca_spmm
