// The run of flycoo.cuda (Algorithm 5); the kernel stands in flycoo_cuda.cuh.
#include "papers/flycoo/kernels/flycoo_cuda.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "common/device/device.hpp"
#include "papers/flycoo/format/flycoo_device.cuh"
#include "papers/flycoo/format/options.hpp"
#include "papers/flycoo/format/records_device.cuh"
#include "papers/flycoo/kernels/flycoo_cuda.cuh"
#include "papers/flycoo/kernels/run_cuda.cuh"

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
  PaperRun(const Problem& problem, DeviceFlycoo tensor, Executed prepared, Launch launch)
      : AllModesRun<T>(problem, "FLYCOO Algorithms 2 to 5"),
        tensor_(std::move(tensor)),
        launch_(launch) {
    if (launch.remap)
      copies_.emplace(std::move(tensor_.records));
    else
      copy_every_mode();
    if (launch.tag_owners) {
      owner_ = Buffer<unsigned>(*std::max_element(tensor_.dims.begin(), tensor_.dims.end()));
      violation_ = Buffer<unsigned>(std::vector<unsigned>{0});
    }
    this->count_bytes(tensor_);
    for (const auto& copy : per_mode_) this->count_bytes(copy);
    if (copies_) this->count_bytes(*copies_);
    this->executed_.merge(std::move(prepared));
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
    x.stream = tensor_.stream(mode);
    x.start = tensor_.start[at].data();
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
    per_mode_.push_back(std::move(tensor_.records));
    for (int m = 0; m + 1 < tensor_.order(); ++m) {
      auto next = zero_records(tensor_.nnz * tensor_.record_words());
      flycoo::remap(tensor_, m, per_mode_.back().data(), next.data());
      per_mode_.push_back(std::move(next));
    }
  }

  void check_finished() const override {
    if (launch_.remap) copies_->check_back();
    if (!launch_.tag_owners) return;
    if (const unsigned row = violation_.to_host().front(); row > 0)
      throw LogicError("two thread blocks wrote row " + std::to_string(row - 1) + " of an output");
  }

  DeviceFlycoo tensor_;  // without the records, which the copies hold
  const Launch launch_;
  std::optional<Copies> copies_;
  std::vector<Buffer<std::uint32_t>> per_mode_;
  Buffer<unsigned> owner_, violation_;
};

std::unique_ptr<Prepared> prepared_run(const Problem& problem, const Params& params,
                                       DeviceFlycoo tensor, Executed prepared) {
  const Launch launch{static_cast<unsigned>(params.integer("p")),
                      params.word("atomics") == "block" ? Scope::block : Scope::device,
                      params.flag("remap"), params.flag("tag_owners")};
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<PaperRun<T>>(problem, std::move(tensor), std::move(prepared), launch);
  });
}

}  // namespace

std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params) {
  const Options options = format_options(params, device::facts().sms, problem.spec().seed);
  const Coo& x = problem.x();
  if (params.word("prepare") == "host")
    return prepare_paper_cuda(problem, params, to_flycoo(x, options));
  Executed facts;
  auto tensor = made_on_device(x, facts, [&](const DeviceCoo& c) { return to_flycoo(c, options); });
  return prepared_run(problem, params, std::move(tensor), std::move(facts));
}

std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params,
                                             const Flycoo& tensor) {
  return prepared_run(problem, params, upload(tensor), {{"prepared", "on the host"}});
}

}  // namespace retensor::flycoo
