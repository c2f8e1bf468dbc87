// The run of flycoo.cuda (Algorithm 5); the kernel stands in flycoo_cuda.cuh.
#include "papers/flycoo/kernels/prepare_cuda.hpp"

#include <algorithm>
#include <string>

#include "common/device/device.hpp"
#include "common/run/modes_run.cuh"
#include "papers/flycoo/format/flycoo_device.cuh"
#include "papers/flycoo/format/records_device.cuh"
#include "papers/flycoo/kernels/flycoo_cuda.cuh"

namespace retensor::flycoo {
namespace {

using device::Buffer;

constexpr unsigned kMostThreads = 1024;  // of a thread block

// Takes the records of the tensor; without remapping also their copies in the order of the other
// modes (section 5.2).
std::vector<RecordBuffer> copies_of(DeviceFlycoo& tensor, bool remapped) {
  std::vector<RecordBuffer> copies;
  copies.push_back(std::move(tensor.records));
  for (int m = 0; !remapped && m + 1 < tensor.order(); ++m) {
    auto next = zero_records(tensor.nnz * tensor.record_words());
    remap(tensor, m, copies.back().data(), next.data());
    copies.push_back(std::move(next));
  }
  return copies;
}

template <class T>
using Kernel = void (*)(PassArguments<T>);

template <class T>
Kernel<T> kernel_of(int others, Scope scope, bool remapped) {
  Kernel<T> kernel = nullptr;
  with_others(others, [&]<int kOthers>() {
    if (scope == Scope::block)
      kernel =
          remapped ? pass<T, kOthers, Scope::block, true> : pass<T, kOthers, Scope::block, false>;
    else
      kernel =
          remapped ? pass<T, kOthers, Scope::device, true> : pass<T, kOthers, Scope::device, false>;
  });
  return kernel;
}

template <class T>
class PaperRun : public CudaModesRun<T> {
 public:
  PaperRun(const Problem& problem, const Params& params, DeviceFlycoo tensor, Executed prepared)
      : CudaModesRun<T>(problem, "FLYCOO Algorithms 2 to 5"),
        records_(copies_of(tensor, params.flag("remap")), tensor.order()),
        tensor_(std::move(tensor)) {
    const auto columns = static_cast<unsigned>(params.integer("p"));
    const Scope scope = params.word("atomics") == "block" ? Scope::block : Scope::device;
    block_ = {std::min(this->rank(), kMostThreads / columns), columns};
    kernel_ = kernel_of<T>(tensor_.order() - 1, scope, records_.remapped());
    if (params.flag("tag_owners")) {
      owner_ = Buffer<unsigned>(*std::max_element(tensor_.dims.begin(), tensor_.dims.end()));
      violation_ = Buffer<unsigned>(std::vector<unsigned>{0});
    }
    this->count_bytes(tensor_, records_);
    this->executed_.merge(std::move(prepared));
    this->executed_.merge(tensor_.facts());
    this->executed_["block"] = std::to_string(block_.x) + " x " + std::to_string(columns);
    this->executed_["atomics"] = params.word("atomics") + " scope";
    this->executed_["remap"] = records_.remapped() ? "in the pass" : "a copy per mode";
  }

  Result result() override {
    records_.check_back();
    const unsigned row = owner_.size() > 0 ? violation_.to_host().front() : 0;
    if (row > 0)
      throw LogicError("two thread blocks wrote row " + std::to_string(row - 1) + " of an output");
    return CudaModesRun<T>::result();
  }

 private:
  void pass(int mode, cudaStream_t stream) override {
    PassArguments<T> x;
    x.layout = tensor_.layout;
    x.in = records_.in(mode), x.next_copy = records_.out(), x.stream = tensor_.stream(mode);
    x.start = tensor_.start[static_cast<std::size_t>(mode)].data();
    x.row = tensor_.layout.index[mode];
    for (const std::size_t m : this->gathered(mode)) {
      x.other[x.others] = tensor_.layout.index[m];
      x.factor[x.others++] = this->factors_[m].data();
    }
    x.out = this->rows_of(mode);
    x.owner = owner_.data(), x.violation = violation_.data();
    x.next = tensor_.next_mode(mode);
    x.rank = this->rank(), x.stride = this->stride_;
    if (owner_.size() > 0)
      RETENSOR_CUDA_CHECK(cudaMemsetAsync(owner_.data(), 0xff, owner_.bytes(), stream));
    RETENSOR_CUDA_LAUNCH(kernel_, tensor_.options.kappa, block_, 0, stream, x);
    records_.end_pass();
  }

  RunRecords records_;
  DeviceFlycoo tensor_;  // without the records
  dim3 block_;           // threads of a column, the ranks or as many as the limit leaves, x P
  Kernel<T> kernel_;
  Buffer<unsigned> owner_, violation_;  // where owners are tagged
};

std::unique_ptr<Prepared> run_of(const Problem& problem, const Params& params, DeviceFlycoo tensor,
                                 Executed prepared) {
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<PaperRun<T>>(problem, params, std::move(tensor), std::move(prepared));
  });
}

}  // namespace

std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params) {
  const Options options = format_options(params, device::facts().sms, problem.spec().seed);
  const Coo& x = problem.x();
  if (params.word("prepare") == "host")
    return prepare_with_tensor(problem, params, to_flycoo(x, options));
  Executed facts;
  auto tensor = made_on_device(x, facts, [&](const DeviceCoo& c) { return to_flycoo(c, options); });
  return run_of(problem, params, std::move(tensor), std::move(facts));
}

std::unique_ptr<Prepared> prepare_with_tensor(const Problem& problem, const Params& params,
                                              const Flycoo& tensor) {
  return run_of(problem, params, upload(tensor), {{"prepared", "on the host"}});
}

}  // namespace retensor::flycoo
