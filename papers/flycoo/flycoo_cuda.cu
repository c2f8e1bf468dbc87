// The run of flycoo.cuda (Algorithm 5); the kernel stands in kernels_cuda.cuh.
#include <algorithm>
#include <optional>
#include <string>

#include "common/device/device.hpp"
#include "papers/flycoo/cuda_run.cuh"
#include "papers/flycoo/device_records.cuh"
#include "papers/flycoo/format.hpp"
#include "papers/flycoo/kernels_cuda.cuh"
#include "papers/flycoo/methods_cuda.hpp"

namespace retensor::flycoo {
namespace {

using device::Buffer;

constexpr unsigned kMostThreads = 1024;  // of a thread block

struct Launch {
  unsigned columns;  // P
  Scope scope;
  bool remap, tag_owners;
};

template <class T>
class PaperRun : public AllModesRun<T> {
 public:
  PaperRun(const Problem& problem, Flycoo tensor, Launch launch)
      : AllModesRun<T>(problem, "FLYCOO Algorithms 2 to 5"),
        tensor_(std::move(tensor)),
        launch_(launch) {
    for (const auto& mode : tensor_.modes) start_.emplace_back(mode.start);
    for (const auto& stream : tensor_.streams)
      streams_.emplace_back(std::span<const std::uint32_t>(stream));
    if (launch.remap)
      copies_.emplace(upload_records(tensor_.records));
    else
      copy_every_mode();
    if (launch.tag_owners) {
      owner_ = Buffer<unsigned>(*std::max_element(tensor_.dims.begin(), tensor_.dims.end()));
      violation_ = Buffer<unsigned>(std::vector<unsigned>{0});
    }
    for (const auto& start : start_) this->count_bytes(start);
    for (const auto& stream : streams_) this->count_bytes(stream);
    for (const auto& copy : per_mode_) this->count_bytes(copy);
    if (copies_) this->count_bytes(*copies_);
    this->executed_.merge(format_facts(tensor_));
    this->executed_["block"] = std::to_string(rows()) + " x " + std::to_string(launch.columns);
    this->executed_["atomics"] = launch.scope == Scope::block ? "block scope" : "device scope";
    this->executed_["remap"] = launch.remap ? "in the pass" : "a copy per mode";
  }

 private:
  /// Threads of a column: the ranks, or as many as the block's limit leaves.
  unsigned rows() const { return std::min(this->rank(), kMostThreads / launch_.columns); }

  void pass(int mode, cudaStream_t stream) override {
    const auto at = static_cast<std::size_t>(mode);
    PassArguments<T> x;
    x.layout = tensor_.layout;
    x.in = launch_.remap ? copies_->in() : per_mode_[at].data();
    if (launch_.remap) x.next_copy = copies_->out();
    x.stream = streams_.empty() ? nullptr : streams_[at].data();
    x.start = start_[at].data();
    x.row = tensor_.layout.index[mode];
    for (const std::size_t m : this->gathered(mode)) {
      x.other[x.others] = tensor_.layout.index[m];
      x.factor[x.others++] = this->factors_[m].data();
    }
    x.out = this->rows_of(mode);
    x.next = tensor_.next_mode(mode);
    x.rank = this->rank(), x.stride = this->stride_;
    if (launch_.tag_owners) {
      RETENSOR_CUDA_CHECK(cudaMemsetAsync(owner_.data(), 0xff, owner_.bytes(), stream));
      x.owner = owner_.data(), x.violation = violation_.data();
    }
    launch(x, stream);
    if (launch_.remap) copies_->swap();
  }

  void launch(const PassArguments<T>& x, cudaStream_t stream) {
    const dim3 block(rows(), launch_.columns);
    const unsigned grid = tensor_.options.kappa;
    const auto with_scope = [&]<Scope kScope>() {
      with_others(x.others, [&]<int kOthers>() {
        if (launch_.remap)
          RETENSOR_CUDA_LAUNCH((flycoo::pass<T, kOthers, kScope, true>), grid, block, 0, stream, x);
        else
          RETENSOR_CUDA_LAUNCH((flycoo::pass<T, kOthers, kScope, false>), grid, block, 0, stream,
                               x);
      });
    };
    if (launch_.scope == Scope::block)
      with_scope.template operator()<Scope::block>();
    else
      with_scope.template operator()<Scope::device>();
  }

  /// The tensor in every mode's order, for the run without remapping (section 5.2).
  void copy_every_mode() {
    Array<std::uint32_t> in = tensor_.records, out(in.size());
    for (int m = 0; m < tensor_.order(); ++m) {
      per_mode_.emplace_back(std::span<const std::uint32_t>(in));
      flycoo::remap(tensor_, m, in, out);
      std::swap(in, out);
    }
  }

  void check_finished() const override {
    if (launch_.remap) copies_->check_back();
    if (!launch_.tag_owners) return;
    if (const unsigned row = violation_.to_host().front(); row > 0)
      throw LogicError("two thread blocks wrote row " + std::to_string(row - 1) + " of an output");
  }

  const Flycoo tensor_;
  const Launch launch_;
  std::optional<Copies> copies_;
  std::vector<Buffer<Count>> start_;
  std::vector<Buffer<std::uint32_t>> streams_, per_mode_;
  Buffer<unsigned> owner_, violation_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params) {
  const Options options = format_options(params, device::facts().sms, problem.spec().seed);
  return prepare_paper_cuda(problem, params, to_flycoo(problem.x(), options));
}

std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params,
                                             Flycoo tensor) {
  const Launch launch{static_cast<unsigned>(params.integer("p")),
                      params.word("atomics") == "block" ? Scope::block : Scope::device,
                      params.flag("remap"), params.flag("tag_owners")};
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<PaperRun<T>>(problem, std::move(tensor), launch);
  });
}

}  // namespace retensor::flycoo
