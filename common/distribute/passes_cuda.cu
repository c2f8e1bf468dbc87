// Passes whose results stay on the device: rows are exchanged where the methods leave them, with
// what pads them, and factors are written there in place of the host.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/device/order.cuh"
#include "common/distribute/exchange.hpp"
#include "common/run/lent_rows.cuh"

namespace retensor::distribute {
namespace {

using communicate::Communicator;

template <class T>
class DeviceExchange final : public RowExchange<T> {
 public:
  using RowExchange<T>::RowExchange;
  void use_stream(cudaStream_t stream) { stream_ = stream; }

 private:
  T* room(Count values) override {
    if (room_.size() < values) room_ = device::Buffer<T>(values);
    return room_.data();
  }
  void copy(T* to, const T* from, Count values) override {
    if (values > 0)
      RETENSOR_CUDA_CHECK(
          cudaMemcpyAsync(to, from, values * sizeof(T), cudaMemcpyDeviceToDevice, stream_));
  }

  device::Buffer<T> room_;
  cudaStream_t stream_ = nullptr;
};

/// Lends a group the stream of a pass, which may end before the group is used again.
class Streamed {
 public:
  Streamed(Communicator& group, void* stream) : group_(group) { group.use_stream(stream); }
  ~Streamed() { group_.use_stream(nullptr); }
  Streamed(const Streamed&) = delete;
  Streamed& operator=(const Streamed&) = delete;

 private:
  Communicator& group_;
};

template <class T>
using Lenders = std::vector<std::shared_ptr<LentRows<T>>>;

template <class T>
class DevicePasses final : public DistributedPasses, public LentRows<T> {
 public:
  DevicePasses(Communicator& processes, const Share& share, const ProblemSpec& spec,
               LocalRuns local, Lenders<T> lenders)
      : DistributedPasses(processes.size(), share, spec, std::move(local)),
        group_(processes),
        lenders_(std::move(lenders)),
        exchange_(processes, share, lenders_.front()->stride()) {}

  unsigned stride() const override { return lenders_.front()->stride(); }
  T* factor(int mode) override { return lenders_[keeper(mode)]->factor(mode); }
  T* left_by(int mode) override { return lender(mode).left_by(mode); }

  /// The rows of a mode are exchanged beside the kernels of the next; the stage `exchange` is what
  /// that does not hide.
  void run(StageTimer& timer) override {
    const auto stream = stream_of(timer);
    for (int mode = 0; mode < order(); ++mode) {
      compute(mode, timer);
      computed_.reached(stream);
      computed_.awaited(beside_.get());
      exchange(mode, beside_.get());
    }
    timer.stage("exchange");
    exchanged_.reached(beside_.get());
    exchanged_.awaited(stream);
  }
  void run_mode(int mode, StageTimer& timer) override {
    compute(mode, timer);
    timer.stage("exchange");
    exchange(mode, stream_of(timer));
  }
  Matrix mode_result(int mode) override { return local_.result(mode); }

 private:
  std::string exchanged() const override { return "on the device"; }
  void compute(int mode, StageTimer& timer) {
    if (lenders_.size() > 1) fetch_factors(mode, stream_of(timer));
    local_.run(mode, timer);
  }
  void exchange(int mode, cudaStream_t stream) {
    exchange_.use_stream(stream);
    const Streamed streamed(group_, stream);
    exchange_.run(static_cast<std::size_t>(mode), {left_by(mode), length(mode) * stride()});
  }
  LentRows<T>& lender(int mode) {
    return *lenders_[lenders_.size() == 1 ? 0 : static_cast<std::size_t>(mode)];
  }
  /// The run whose copy of a factor is the one that is written: not that of its own mode, which
  /// has none.
  std::size_t keeper(int mode) const {
    return static_cast<std::size_t>(mode + 1) % lenders_.size();
  }
  /// Of one run a mode, each has factors of its own.
  void fetch_factors(int mode, cudaStream_t stream) {
    for (int m = 0; m < order(); ++m) {
      T* const to = lender(mode).factor(m);
      if (m == mode || to == factor(m)) continue;
      RETENSOR_CUDA_CHECK(cudaMemcpyAsync(to, factor(m), length(m) * stride() * sizeof(T),
                                          cudaMemcpyDeviceToDevice, stream));
    }
  }

  Communicator& group_;
  const Lenders<T> lenders_;  // of the runs
  DeviceExchange<T> exchange_;
  const device::SideStream beside_;
  device::Milestone computed_, exchanged_;
};

}  // namespace

std::unique_ptr<Prepared> passes_on_device(Communicator& processes, const Share& share,
                                           const ProblemSpec& spec, LocalRuns& local) {
  return dispatch(spec.dtype, [&]<class T>() -> std::unique_ptr<Prepared> {
    Lenders<T> lenders;
    for (const auto& run : local.all()) lenders.push_back(lent_rows<T>(*run));
    if (std::find(lenders.begin(), lenders.end(), nullptr) != lenders.end()) return nullptr;
    return std::make_unique<DevicePasses<T>>(processes, share, spec, std::move(local),
                                             std::move(lenders));
  });
}

}  // namespace retensor::distribute
