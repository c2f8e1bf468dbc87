// The run of tca_spmm.cpu; the algorithm stands in tca_spmm_cpu.hpp.
#include "papers/tca_spmm/kernels/tca_spmm_cpu.hpp"

#include <algorithm>

#include "common/numeric/mma.hpp"
#include "papers/tca_spmm/format/matricize.hpp"

namespace retensor::tca_spmm {
namespace {

/// The MMAs of a tile's chunks, nonzeros `first` to before `end` of a row, added up and counted.
template <int kDepth>
Accumulator accumulate(const HalfCsr& s, const HalfMatrix& d, Count first, Count end,
                       std::uint64_t output, int columns, Count& mma) {
  Accumulator sums{};
  for (Count capacity = kDepth * kFragmentColumns; first < end; first += capacity) {
    const Count chunk_end = std::min(end, first + capacity);
    retensor::mma<OperandType::fp16, kFragmentRows, kFragmentColumns, kDepth>(
        left_fragment<kDepth>(s, first, chunk_end, d, output, columns),
        right_fragment<kDepth>(s, first, chunk_end), sums, sums);
    ++mma;
  }
  return sums;
}

/// The outputs of a fragment to those of the row that there are; `shared`: other warps add to them.
void store(const Accumulator& sums, const RowShape& shape, float* out, std::uint64_t outputs,
           bool shared) {
  const auto found = std::min(outputs, static_cast<std::uint64_t>(shape.outputs));
  for (std::uint64_t q = 0; q < found; ++q) {
    const float sum = trace(sums, shape.columns, static_cast<int>(q));
    if (!shared) {
      out[q] = sum;
      continue;
    }
#pragma omp atomic
    out[q] += sum;
  }
}

/// The share of a warp that has a row; returns the MMAs that it issued.
Count multiply_share(const HalfCsr& s, const HalfMatrix& d, const Plan& plan, Count warp,
                     MatrixView<float> out) {
  const Index row = plan.row_id_for_each_warp[warp];
  const Count begin = s.row_start[row], nonzeros = s.row_start[row + std::size_t{1}] - begin;
  const Share share = plan.share(warp, nonzeros);
  const RowShape shape = row_shape(nonzeros, plan.width, plan.options);
  const Count capacity = plan.options.capacity(), first = begin + share.first_chunk * capacity;
  const Count end = std::min(begin + nonzeros, begin + share.end_chunk * capacity);
  const auto accumulate_tile = plan.options.depth == 8 ? accumulate<8> : accumulate<16>;
  Count mma = 0;
  for (Count tile = share.first_tile; tile < share.end_tile; ++tile) {
    const std::uint64_t output = tile * static_cast<Count>(shape.outputs);
    store(accumulate_tile(s, d, first, end, output, shape.columns, mma), shape,
          out.row(row) + output, plan.width - output,
          share.end_chunk - share.first_chunk < shape.chunks);
  }
  return mma;
}

}  // namespace

Count multiply(const HalfCsr& s, const HalfMatrix& d, const Plan& plan, MatrixView<float> out,
               int threads) {
  Count mma = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(+ : mma)
  for (Count block = 0; block < plan.blocks(); ++block)
    for (Count w = block * kWarpsPerBlock; w < (block + 1) * kWarpsPerBlock; ++w)
      if (plan.row_id_for_each_warp[w] != kNoRow) mma += multiply_share(s, d, plan, w, out);
  return mma;
}

}  // namespace retensor::tca_spmm
