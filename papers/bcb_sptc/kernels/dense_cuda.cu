// The runs of bcb_sptc.cuda.dense; the kernels stand in dense_cuda.cuh.
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/run/cuda_run.cuh"
#include "papers/bcb_sptc/format/result_device.cuh"
#include "papers/bcb_sptc/kernels/dense_cuda.cuh"
#include "papers/bcb_sptc/kernels/operands_cuda.cuh"

namespace retensor::bcb_sptc {
namespace {

constexpr unsigned kBlocksOfMultiprocessor = 2;

Count multiprocessors() {
  int device = 0, count = 0;
  RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
  RETENSOR_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<Count>(count);
}

template <class Kernel>
void give_sums(Kernel* kernel) {
  RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(kSumWords * sizeof(float))));
}

/// Operands and result of both runs.
class CellsRun : public CudaRun {
 public:
  CellsRun(const Problem& problem, GroupedOperands operands, std::string kernel)
      : CudaRun(problem, std::move(kernel)), operands_(std::move(operands)) {
    p_.nonzeros = operands_.x_first.size();
    p_.x_first = operands_.x_first.data(), p_.x_cell = operands_.x_cell.data();
    p_.x_value = operands_.x_value.data(), p_.partner = operands_.partner.data();
    out_.alpha = static_cast<float>(problem.spec().alpha);
    out_.columns = static_cast<std::uint32_t>(operands_.cells.columns);
    executed_["ranges"] = std::to_string(operands_.cells.ranges);
  }

  Result result() override { return result_.to_coo(); }
  Footprint footprint() const override {
    return {operands_.bytes(), operands_.bytes() + scratch_.bytes() + result_.bytes()};
  }

 protected:
  void make_room(Count entries) {
    result_.dims = operands_.modes.result_dims(problem_.x().dims, problem_.y().dims);
    result_.make_room(entries, device_room());
    out_.values = result_.values.data();
    out_.order = static_cast<int>(result_.dims.size());
    for (std::size_t k = 0; k < result_.dims.size(); ++k)
      out_.mode[k] = {operands_.modes.result[k].from_x, stride_of(operands_.modes.result[k]),
                      static_cast<std::uint32_t>(result_.dims[k]), result_.indices[k].data()};
    executed_["result_nonzeros"] = std::to_string(entries);
  }

  const GroupedOperands operands_;
  device::PoolBuffer<std::uint32_t> scratch_;
  DenseProduct p_{};
  CellEntries out_{};
  DeviceResult result_;

 private:
  /// Rows or columns between neighbours along a mode.
  std::uint32_t stride_of(Contraction::Source source) const {
    const auto& free = source.from_x ? operands_.modes.free_x : operands_.modes.free_y;
    const Dims& dims = source.from_x ? problem_.x().dims : problem_.y().dims;
    Count stride = 1;
    for (auto mode = free.rbegin(); *mode != source.mode; ++mode)
      stride *= dims[static_cast<std::size_t>(*mode)];
    return static_cast<std::uint32_t>(stride);
  }
};

/// Of few cells, whose sums and bits stand in scratch, beside those of the next run.
class FewCellsRun : public CellsRun {
 public:
  FewCellsRun(const Problem& problem, GroupedOperands operands)
      : CellsRun(problem, std::move(operands), "single products, a sum a cell of the result"),
        words_(device::blocks_for(operands_.cells.rows * operands_.cells.columns, kWarpSize)),
        blocks_(device::blocks_for(p_.nonzeros, kSumThreads,
                                   multiprocessors() * kBlocksOfMultiprocessor)) {
    p_.cells = static_cast<unsigned>(operands_.cells.rows * operands_.cells.columns);
    p_.copies =
        p_.cells <= kSumWords ? std::min(kWarpSize, std::bit_floor(kSumWords / p_.cells)) : 0;
    p_.next_words = p_.cells + words_;
    scratch_ = device::PoolBuffer<std::uint32_t>(2 * p_.next_words);
    RETENSOR_CUDA_CHECK(cudaMemsetAsync(scratch_.data(), 0, scratch_.bytes(), nullptr));
    add_to(scratch_.data(), scratch_.data() + p_.next_words);
    give_sums(kernels::add_in_shared);
    add_products(nullptr);
    make_room(count_entries());
    take_next();
    executed_["sums"] = p_.copies > 0 ? "shared memory" : "global memory";
    executed_["copies"] = std::to_string(p_.copies);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    add_products(stream_of(timer));
    timer.stage("output");
    if (result_.entries > 0)
      RETENSOR_CUDA_LAUNCH(kernels::write_cells, device::blocks_for(p_.cells, kCellsOfBlock),
                           kSumThreads, 0, stream_of(timer), p_, out_);
    take_next();
  }

 private:
  void add_to(std::uint32_t* scratch, std::uint32_t* next) {
    p_.sums = reinterpret_cast<float*>(scratch);
    p_.is_entry = scratch + p_.cells;
    p_.next = next;
  }
  void take_next() { add_to(p_.next, reinterpret_cast<std::uint32_t*>(p_.sums)); }

  void add_products(cudaStream_t stream) {
    if (p_.nonzeros == 0) return;
    if (p_.copies == 0)
      RETENSOR_CUDA_LAUNCH(kernels::add_in_global, grid_for(p_.nonzeros), kThreads, 0, stream, p_);
    else
      RETENSOR_CUDA_LAUNCH(kernels::add_in_shared, blocks_, kSumThreads,
                           p_.cells * p_.copies * sizeof(float), stream, p_);
  }

  /// Of the run before.
  Count count_entries() const {
    std::vector<std::uint32_t> is_entry(words_);
    RETENSOR_CUDA_CHECK(cudaMemcpy(is_entry.data(), p_.is_entry, words_ * sizeof(std::uint32_t),
                                   cudaMemcpyDeviceToHost));
    return std::accumulate(is_entry.begin(), is_entry.end(), Count{0},
                           [](Count sum, std::uint32_t word) {
                             return sum + static_cast<Count>(std::popcount(word));
                           });
  }

  const unsigned words_, blocks_;
};

/// Of more cells, a range of rows a thread block; two counters of entries stand in scratch.
class RangesRun : public CellsRun {
 public:
  RangesRun(const Problem& problem, GroupedOperands operands)
      : CellsRun(problem, std::move(operands), "single products, a sum a cell of a range of rows") {
    constexpr Count kCounterWords = sizeof(*ranges_.entries) / sizeof(std::uint32_t);
    scratch_ = device::PoolBuffer<std::uint32_t>(2 * kCounterWords);
    RETENSOR_CUDA_CHECK(cudaMemsetAsync(scratch_.data(), 0, scratch_.bytes(), nullptr));
    ranges_.product = p_;
    ranges_.range_start = operands_.range_start.data();
    ranges_.rows = static_cast<std::uint32_t>(operands_.cells.rows);
    ranges_.rows_of_range = static_cast<std::uint32_t>(operands_.cells.rows_of_range);
    ranges_.entries = reinterpret_cast<unsigned long long*>(scratch_.data());
    ranges_.next_entries = ranges_.entries + 1;
    give_sums(kernels::multiply_range);
    multiply(nullptr);
    unsigned long long entries = 0;
    RETENSOR_CUDA_CHECK(
        cudaMemcpy(&entries, ranges_.next_entries, sizeof entries, cudaMemcpyDeviceToHost));
    make_room(entries);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    multiply(stream_of(timer));
  }

 private:
  void multiply(cudaStream_t stream) {
    RETENSOR_CUDA_LAUNCH(kernels::multiply_range, static_cast<unsigned>(operands_.cells.ranges),
                         kRangeThreads,
                         operands_.cells.rows_of_range * operands_.cells.columns * sizeof(float),
                         stream, ranges_, out_);
    std::swap(ranges_.entries, ranges_.next_entries);
  }

  RangeProduct ranges_{};
};

}  // namespace

std::unique_ptr<Prepared> prepare_dense_cuda(const Problem& problem) {
  return prepare_dense_cuda(problem, GroupedOperands(problem));
}

std::unique_ptr<Prepared> prepare_dense_cuda(const Problem& problem, GroupedOperands operands) {
  if (operands.cells.are_few()) return std::make_unique<FewCellsRun>(problem, std::move(operands));
  return std::make_unique<RangesRun>(problem, std::move(operands));
}

}  // namespace retensor::bcb_sptc
