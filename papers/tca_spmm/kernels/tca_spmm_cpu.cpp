#include "papers/tca_spmm/kernels/tca_spmm_cpu.hpp"

#include <omp.h>

#include <algorithm>

#include "common/numeric/mma.hpp"
#include "papers/tca_spmm/format/matricize.hpp"

namespace retensor::tca_spmm {

/// The warps of a block one after another; each thread has its own.
class Worker {
 public:
  Worker(const HalfCsr& s, const HalfMatrix& d, const Plan& plan, MatrixView<float> out)
      : s_(s), d_(d), plan_(plan), out_(out) {}

  void restart() { mma_ = 0; }
  Count mma() const { return mma_; }

  void multiply(Count warp) {
    const Index row = plan_.row_id_for_each_warp[warp];
    if (row == kNoRow) return;
    first_ = s_.row_start[row], end_ = s_.row_start[row + std::size_t{1}];
    const Share share = plan_.share(warp, end_ - first_);
    const RowShape shape = row_shape(end_ - first_, plan_.width, plan_.options);
    const bool shared_outputs = share.end_chunk - share.first_chunk < shape.chunks;
    for (Count tile = share.first_tile; tile < share.end_tile; ++tile) {
      const std::uint64_t output = tile * static_cast<Count>(shape.outputs);
      const Accumulator sums = plan_.options.depth == 8 ? accumulate<8>(share, shape, output)
                                                        : accumulate<16>(share, shape, output);
      store(sums, shape, out_.row(row), output, shared_outputs);
    }
  }

 private:
  template <int kDepth>
  Accumulator accumulate(const Share& share, const RowShape& shape, std::uint64_t output) {
    Accumulator sums{};
    const Count capacity = plan_.options.capacity();
    for (Count chunk = share.first_chunk; chunk < share.end_chunk; ++chunk) {
      const Count first = first_ + chunk * capacity, end = std::min(end_, first + capacity);
      retensor::mma<OperandType::fp16, kFragmentRows, kFragmentColumns, kDepth>(
          left_fragment<kDepth>(s_, first, end, d_, output, shape.columns),
          right_fragment<kDepth>(s_, first, end), sums, sums);
      ++mma_;
    }
    return sums;
  }

  void store(const Accumulator& sums, const RowShape& shape, float* out, std::uint64_t output,
             bool shared_outputs) const {
    for (int q = 0; q < shape.outputs; ++q) {
      const std::uint64_t column = output + static_cast<std::uint64_t>(q);
      if (column >= plan_.width) return;
      const float sum = trace(sums, shape.columns, q);
      if (!shared_outputs) {
        out[column] = sum;
        continue;
      }
#pragma omp atomic
      out[column] += sum;
    }
  }

  const HalfCsr& s_;
  const HalfMatrix& d_;
  const Plan& plan_;
  const MatrixView<float> out_;
  Count first_ = 0, end_ = 0;  // nonzeros of the row
  Count mma_ = 0;
};

Product::Product(const HalfCsr& s, const HalfMatrix& d, const Plan& plan, MatrixView<float> out,
                 int threads)
    : plan_(plan) {
  for (int t = 0; t < threads; ++t) workers_.push_back(std::make_unique<Worker>(s, d, plan, out));
}

Product::~Product() = default;

void Product::run() {
  for (const auto& worker : workers_) worker->restart();
#pragma omp parallel num_threads(static_cast <int>(workers_.size()))
  {
    Worker& worker = *workers_[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic, 1)
    for (Count block = 0; block < plan_.blocks(); ++block)
      for (Count w = 0; w < kWarpsPerBlock; ++w) worker.multiply(block * kWarpsPerBlock + w);
  }
}

Count Product::mma() const {
  Count sum = 0;
  for (const auto& worker : workers_) sum += worker->mma();
  return sum;
}

}  // namespace retensor::tca_spmm
