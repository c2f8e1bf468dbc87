// The run of bcb_sptc.cuda.dense; the kernel stands in dense_cuda.cuh.
#include "papers/bcb_sptc/kernels/dense_cuda.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "common/run/cuda_run.cuh"
#include "papers/bcb_sptc/format/result_device.cuh"
#include "papers/bcb_sptc/kernels/dense_cuda.cuh"

namespace retensor::bcb_sptc {
namespace {

constexpr unsigned kBlocksOfMultiprocessor = 2;

unsigned multiprocessors() {
  int device = 0, count = 0;
  RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
  RETENSOR_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<unsigned>(count);
}

class DenseRun : public CudaRun {
 public:
  explicit DenseRun(const Problem& problem)
      : CudaRun(problem, "single products, a sum a cell of a range of rows"),
        operands_(problem),
        cells_of_range_(
            static_cast<unsigned>(operands_.cells.rows_of_range * operands_.cells.columns)),
        ranges_(static_cast<unsigned>(operands_.cells.ranges)) {
    p_.range_start = operands_.range_start.data();
    p_.x_first = operands_.x_first.data(), p_.x_cell = operands_.x_cell.data();
    p_.x_value = operands_.x_value.data(), p_.partner = operands_.partner.data();
    p_.rows = static_cast<std::uint32_t>(operands_.cells.rows);
    p_.columns = static_cast<std::uint32_t>(operands_.cells.columns);
    p_.rows_of_range = static_cast<std::uint32_t>(operands_.cells.rows_of_range);
    p_.copies = std::clamp(std::bit_floor(kSumWords / cells_of_range_), 1u, kWarpSize);
    p_.blocks_of_range = blocks_of_range();
    p_.alpha = static_cast<float>(problem.spec().alpha);
    shared_bytes_ = cells_of_range_ * p_.copies * sizeof(float);
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernels::multiply_range,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shared_bytes_)));
    make_scratch();
    multiply(nullptr);
    make_room();
    executed_["ranges"] = std::to_string(ranges_);
    executed_["blocks_of_range"] = std::to_string(p_.blocks_of_range);
    executed_["copies"] = std::to_string(p_.copies);
    executed_["result_nonzeros"] = std::to_string(result_.entries);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    multiply(stream_of(timer));
  }

  Result result() override { return result_.to_coo(); }

  Footprint footprint() const override {
    return {operands_.bytes(), operands_.bytes() + scratch_.bytes() + result_.bytes()};
  }

 private:
  /// As many as keep the device busy and have nonzeros.
  unsigned blocks_of_range() const {
    const unsigned busy = multiprocessors() * kBlocksOfMultiprocessor;
    const unsigned filled =
        device::blocks_for(operands_.x_first.size(), kTaken * kSumThreads, busy);
    return std::max(1u, filled / ranges_);
  }

  /// Two counters of entries and, where ranges are shared, sums, bits and blocks that have ended.
  void make_scratch() {
    const Count words = (cells_of_range_ + kWarpSize - 1) / kWarpSize;
    const Count of_range = p_.blocks_of_range > 1 ? cells_of_range_ + words + 1 : 0;
    scratch_ = device::PoolBuffer<std::uint32_t>(2 + ranges_ * of_range);
    RETENSOR_CUDA_CHECK(cudaMemsetAsync(scratch_.data(), 0, scratch_.bytes(), nullptr));
    p_.entries = scratch_.data(), p_.next_entries = p_.entries + 1;
    p_.sums = reinterpret_cast<float*>(scratch_.data() + 2);
    p_.is_entry = scratch_.data() + 2 + Count{ranges_} * cells_of_range_;
    p_.ended = p_.is_entry + ranges_ * words;
  }

  void multiply(cudaStream_t stream) {
    RETENSOR_CUDA_LAUNCH(kernels::multiply_range, ranges_ * p_.blocks_of_range, kSumThreads,
                         shared_bytes_, stream, p_);
    std::swap(p_.entries, p_.next_entries);
  }

  /// Room for the entries that the first run counted.
  void make_room() {
    std::uint32_t entries = 0;
    RETENSOR_CUDA_CHECK(
        cudaMemcpy(&entries, p_.next_entries, sizeof entries, cudaMemcpyDeviceToHost));
    result_.dims = operands_.modes.result_dims(problem_.x().dims, problem_.y().dims);
    result_.make_room(entries, device_room());
    p_.values = result_.values.data();
    p_.order = static_cast<int>(result_.dims.size());
    for (std::size_t k = 0; k < result_.dims.size(); ++k)
      p_.mode[k] = {operands_.modes.result[k].from_x, stride_of(operands_.modes.result[k]),
                    static_cast<std::uint32_t>(result_.dims[k]), result_.indices[k].data()};
  }

  /// Rows or columns between neighbours along a mode.
  std::uint32_t stride_of(Contraction::Source source) const {
    const auto& free = source.from_x ? operands_.modes.free_x : operands_.modes.free_y;
    const Dims& dims = source.from_x ? problem_.x().dims : problem_.y().dims;
    Count stride = 1;
    for (auto mode = free.rbegin(); *mode != source.mode; ++mode)
      stride *= dims[static_cast<std::size_t>(*mode)];
    return static_cast<std::uint32_t>(stride);
  }

  const GroupedOperands operands_;
  const unsigned cells_of_range_, ranges_;
  unsigned shared_bytes_ = 0;
  device::PoolBuffer<std::uint32_t> scratch_;
  DenseProduct p_{};
  DeviceResult result_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_dense_cuda(const Problem& problem) {
  return std::make_unique<DenseRun>(problem);
}

}  // namespace retensor::bcb_sptc
