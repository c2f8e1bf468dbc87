// The run of tca_spmm.cuda.tuned; the kernel stands in kernels_windows.cuh.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/cuda_run.cuh"
#include "papers/tca_spmm/kernels_windows.cuh"
#include "papers/tca_spmm/methods_cuda.hpp"

namespace retensor::tca_spmm {
namespace {

std::vector<Index> longest_first(const Windows& windows) {
  std::vector<Index> order(windows.windows());
  std::iota(order.begin(), order.end(), Index{0});
  const auto strips = [&](Index w) { return windows.strip_start[w + 1] - windows.strip_start[w]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return strips(a) > strips(b); });
  return order;
}

class TunedRun : public SpmmRun {
 public:
  TunedRun(const Problem& problem, const Params& params, const Windows& windows)
      : SpmmRun(problem, "windows of 16 rows, their columns side by side",
                params.word("output") == "f16" ? Element::half : Element::single),
        grid_(static_cast<unsigned>(windows.windows()), device::blocks_for(width_, kWindowColumns)),
        order_(longest_first(windows)),
        strip_start_(windows.strip_start),
        columns_(windows.columns),
        entry_start_(windows.entry_start),
        entries_(std::span<const std::uint32_t>(windows.entries.begin(), windows.entries.end())),
        d_(problem.dense().front(), DenseOrder::row_major, Element::half) {
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(multiply_windows,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(kWindowBytes)));
    p_.order = order_.data(), p_.strip_start = strip_start_.data();
    p_.columns = columns_.data(), p_.entry_start = entry_start_.data();
    p_.entries = reinterpret_cast<const uint4*>(entries_.data());
    p_.dense = reinterpret_cast<const std::uint16_t*>(d_.values.data());
    p_.dense_stride = d_.stride;
    p_.out = out_.data(), p_.out_stride = out_stride_;
    p_.half_output = output_ == Element::half;
    p_.rows = static_cast<unsigned>(rows_);
    count_bytes(order_, strip_start_, columns_, entry_start_, entries_, d_.values);
    executed_["windows"] = std::to_string(windows.windows());
    executed_["window_bytes"] = std::to_string(windows.bytes());
    executed_["gathered_rows"] = std::to_string(windows.listed());
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    RETENSOR_CUDA_LAUNCH(multiply_windows, grid_, kWindowThreads, kWindowBytes, stream_of(timer),
                         p_);
  }

 private:
  const dim3 grid_;
  const Buffer<Index> order_, strip_start_, columns_, entry_start_;
  const Buffer<std::uint32_t> entries_;
  const DeviceDense d_;
  DeviceWindows p_;
};

}  // namespace

std::string windows_obstacle() {
  const Count most = device::facts().shared_per_block;
  if (kWindowBytes <= most) return "";
  return "a thread block takes " + std::to_string(kWindowBytes) +
         " bytes of shared memory, the device gives " + std::to_string(most);
}

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<TunedRun>(problem, params, to_windows(to_csr(problem.x())));
}

}  // namespace retensor::tca_spmm
