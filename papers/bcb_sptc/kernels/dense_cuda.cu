// The run of bcb_sptc.cuda.dense; the kernels stand in dense_cuda.cuh.
#include "papers/bcb_sptc/kernels/dense_cuda.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include "common/run/cuda_run.cuh"
#include "papers/bcb_sptc/format/result_device.cuh"
#include "papers/bcb_sptc/kernels/dense_cuda.cuh"

namespace retensor::bcb_sptc {
namespace {

constexpr unsigned kBlocksOfMultiprocessor = 2;

Count multiprocessors() {
  int device = 0, count = 0;
  RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
  RETENSOR_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<Count>(count);
}

class DenseRun : public CudaRun {
 public:
  explicit DenseRun(const Problem& problem)
      : CudaRun(problem, "single products, a sum a cell of the result"),
        operands_(problem),
        alpha_(static_cast<float>(problem.spec().alpha)),
        cells_(static_cast<unsigned>(operands_.rows * operands_.columns)),
        words_((cells_ + kWarpSize - 1) / kWarpSize),
        blocks_(device::blocks_for(operands_.x_first.size(), kSumThreads,
                                   multiprocessors() * kBlocksOfMultiprocessor)),
        sums_(cells_ + words_) {
    p_ = {operands_.x_first.size(),
          operands_.x_first.data(),
          operands_.x_cell.data(),
          operands_.x_value.data(),
          operands_.partner.data(),
          cells_,
          cells_ <= kSumWords ? std::min(kWarpSize, std::bit_floor(kSumWords / cells_)) : 0,
          reinterpret_cast<float*>(sums_.data()),
          sums_.data() + cells_};
    if (p_.copies > 0)
      RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernels::add_in_shared,
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(kSumWords * sizeof(float))));
    add_products(nullptr);
    make_room();
    executed_["sums"] = p_.copies > 0 ? "shared memory" : "global memory";
    executed_["copies"] = std::to_string(p_.copies);
    executed_["cells"] = std::to_string(cells_);
    executed_["result_nonzeros"] = std::to_string(result_.entries);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    add_products(stream_of(timer));
    timer.stage("output");
    if (result_.entries > 0)
      RETENSOR_CUDA_LAUNCH(kernels::write_cells, device::blocks_for(cells_, kCellsOfBlock),
                           kSumThreads, 0, stream_of(timer), p_, alpha_, result_.values.data(),
                           modes_);
  }

  Result result() override { return result_.to_coo(); }

  Footprint footprint() const override {
    return {operands_.bytes(), operands_.bytes() + sums_.bytes() + result_.bytes()};
  }

 private:
  void add_products(cudaStream_t stream) {
    RETENSOR_CUDA_CHECK(cudaMemsetAsync(sums_.data(), 0, sums_.bytes(), stream));
    if (p_.nonzeros == 0) return;
    if (p_.copies == 0) {
      RETENSOR_CUDA_LAUNCH(kernels::add_in_global, grid_for(p_.nonzeros), kThreads, 0, stream, p_);
      return;
    }
    RETENSOR_CUDA_LAUNCH(kernels::add_in_shared, blocks_, kSumThreads,
                         cells_ * p_.copies * sizeof(float), stream, p_);
  }

  /// Room for the entries that the first run found.
  void make_room() {
    std::vector<std::uint32_t> is_entry(words_);
    RETENSOR_CUDA_CHECK(cudaMemcpy(is_entry.data(), p_.is_entry, words_ * sizeof(std::uint32_t),
                                   cudaMemcpyDeviceToHost));
    const auto entries = std::accumulate(is_entry.begin(), is_entry.end(), Count{0},
                                         [](Count sum, std::uint32_t word) {
                                           return sum + static_cast<Count>(std::popcount(word));
                                         });
    result_.dims = operands_.modes.result_dims(problem_.x().dims, problem_.y().dims);
    result_.make_room(entries, device_room());
    modes_.order = static_cast<int>(result_.dims.size());
    for (std::size_t k = 0; k < result_.dims.size(); ++k)
      modes_.mode[k] = {stride_of(operands_.modes.result[k]),
                        static_cast<std::uint32_t>(result_.dims[k]), result_.indices[k].data()};
  }

  /// Cells between neighbours along a mode.
  std::uint32_t stride_of(Contraction::Source source) const {
    const auto& free = source.from_x ? operands_.modes.free_x : operands_.modes.free_y;
    const Dims& dims = source.from_x ? problem_.x().dims : problem_.y().dims;
    Count stride = source.from_x ? operands_.columns : 1;
    for (auto mode = free.rbegin(); *mode != source.mode; ++mode)
      stride *= dims[static_cast<std::size_t>(*mode)];
    return static_cast<std::uint32_t>(stride);
  }

  const GroupedOperands operands_;
  const float alpha_;
  const unsigned cells_, words_, blocks_;
  device::PoolBuffer<std::uint32_t> sums_;  // and the bits of entries behind them
  DenseProduct p_{};
  DeviceResult result_;
  CellModes modes_{};
};

}  // namespace

std::unique_ptr<Prepared> prepare_dense_cuda(const Problem& problem) {
  return std::make_unique<DenseRun>(problem);
}

}  // namespace retensor::bcb_sptc
