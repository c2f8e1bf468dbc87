// flycoo.cuda, flycoo.cuda.tuned and flycoo.cuda.copies: known to every build, so that a spec plans
// anywhere; without a device they decline with its reason.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/measure/cuda_method.hpp"
#include "papers/flycoo/kernels/flycoo_cuda.hpp"
#include "papers/flycoo/kernels/tuned_cuda.hpp"
#include "papers/flycoo/methods/methods.hpp"

namespace retensor::flycoo {
namespace {

ParamSpec prepare_param() {
  return {"prepare",
          std::string("device"),
          "where the format is made of the coordinates: on the device or on the host",
          0,
          0,
          {"device", "host"}};
}

class AllModesCuda : public CudaMethod {
 public:
  bool takes_all_modes() const final { return true; }
};

class PaperCuda : public AllModesCuda {
 public:
  std::string_view id() const override { return "flycoo.cuda"; }
  std::string_view summary() const override {
    return "all modes with remapping in the pass, thread blocks of R x P (Algorithms 2 to 5)";
  }
  ParamSchema params() const override {
    auto specs = format_params("multiprocessor");
    specs.push_back({"p",
                     std::int64_t{32},
                     "nonzeros that a thread block takes at a time, the P of section 4.3",
                     1,
                     1024,
                     {}});
    specs.push_back({"atomics",
                     std::string("block"),
                     "scope of the additions to the output: block as in the paper, or device",
                     0,
                     0,
                     {"block", "device"}});
    specs.push_back({"tag_owners",
                     false,
                     "note which thread block writes each output row and fail on a second one",
                     0,
                     0,
                     {}});
    specs.push_back(prepare_param());
    return ParamSchema(std::move(specs));
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_paper_cuda(problem, params);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (params.word("prepare") == "device" && problem.x().nnz() >> 32 != 0)
      return Support::no("the device sorts fewer than 2^32 nonzeros: prepare=host");
    return supports_format(problem, params);
  }
};

class TunedCuda : public AllModesCuda {
 public:
  explicit TunedCuda(bool remap) : remap_(remap) {}
  std::string_view id() const override {
    return remap_ ? "flycoo.cuda.tuned" : "flycoo.cuda.copies";
  }
  std::string_view summary() const override {
    return remap_ ? "all modes with remapping from tile to tile in shared memory, no atomics"
                  : "the tuned kernel on a copy per mode, without remapping";
  }
  ParamSchema params() const override {
    std::vector<ParamSpec> list = {
        {"tile",
         std::int64_t{0},
         "KiB of a tile's records, in shared memory with remapping; 0: by the size of the factors",
         0,
         200,
         {}},
        {"walkers",
         std::int64_t{0},
         "threads of a block that add up rows, a multiple of 32; 0: by the size of the factors",
         0,
         1024,
         {}}};
    if (remap_)
      list.push_back({"senders",
                      std::int64_t{0},
                      "threads of a block that send records to the next mode, a multiple of 32; 0: "
                      "by the size of the factors",
                      0,
                      512,
                      {}});
    list.push_back(prepare_param());
    return ParamSchema(std::move(list));
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_tuned_cuda(problem, params, remap_);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (problem.operation() != Operation::mttkrp_all)
      return Support::no("the passes of FLYCOO run over all modes in turn (mttkrp_all)");
    const Coo& x = problem.x();
    if (x.order() < 2) return Support::no("MTTKRP of a first-order tensor needs no factor");
    if (x.nnz() >> 32 != 0) return Support::no("positions of nonzeros have 32 bits");
    if (std::any_of(x.dims.begin(), x.dims.end(), [](auto d) { return d > ~Index{0}; }))
      return Support::no("a mode is longer than 2^32 - 1, which marks no row");
    return supports_block(tuned::block_of(problem, params, remap_));
  }

  Support supports_block(const tuned::Block& block) const {
    if (block.walkers % 32 != 0 || block.senders % 32 != 0 || block.threads() > tuned::kMostThreads)
      return Support::no(
          fmt::format("found {} walkers and {} senders, expected multiples of 32, "
                      "together at most {}",
                      block.walkers, block.senders, tuned::kMostThreads));
    const Count most = tuned::kSharedOfSm - tuned::kSharedOfBlock;
    if (block.shared(remap_) > most)
      return Support::no(
          fmt::format("tiles of {} KiB and {} walkers need more than the {} KiB of "
                      "shared memory of a block",
                      block.tile / tuned::kKibi, block.walkers, most / tuned::kKibi));
    return Support::yes();
  }

  const bool remap_;
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem&, const Params&) {
  no_cuda();
}
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem&, const Params&, const Flycoo&) {
  no_cuda();
}
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem&, const Params&, bool) {
  no_cuda();
}
#endif

std::unique_ptr<Method> make_paper_cuda() {
  return std::make_unique<PaperCuda>();
}
std::unique_ptr<Method> make_tuned_cuda(bool remap) {
  return std::make_unique<TunedCuda>(remap);
}

}  // namespace retensor::flycoo
