// hlsto.cuda: known to every build, so that a spec plans anywhere; without a device it declines
// with its reason.
#include <string>
#include <string_view>

#include "common/measure/cuda_method.hpp"
#include "papers/hlsto/format/options.hpp"
#include "papers/hlsto/kernels/hlsto_cuda.hpp"
#include "papers/hlsto/kernels/tuned_cuda.hpp"
#include "papers/hlsto/methods/cost_model.hpp"
#include "papers/hlsto/methods/methods.hpp"

namespace retensor::hlsto {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem&, const Params&) {
  no_cuda();
}
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

namespace {

ParamSpec prepare_param() {
  return {"prepare",
          std::string("device"),
          "where the format is made of the coordinates: on the host or on the device",
          0,
          0,
          {"device", "host"}};
}

class HlsCuda : public CudaMethod {
 public:
  reference::Precision precision(const Problem& problem, const Params& params) const final {
    return precision_of(arithmetic_of(params), format_options(problem, params).values);
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const final {
    const auto run_with = [&](const Params& p) { return make(problem, p); };
    if (params.integer("threshold") != kByModel || params.word("format") != "hls")
      return run_with(params);
    return run_with(
        with_model_threshold(this->params(), params, run_with, *device::make_event_timer()));
  }

 protected:
  static Support supports_preparation(const Problem& problem, const Params& params) {
    if (params.word("prepare") == "device" && problem.x().nnz() > kMostOnDevice)
      return Support::no("the device sorts fewer than 2^31 - 1 nonzeros: prepare=host");
    return supports_format(problem, params);
  }

 private:
  /// The run with a threshold that is no model's.
  virtual std::unique_ptr<Prepared> make(const Problem& problem, const Params& params) const = 0;
};

class PaperCuda : public HlsCuda {
 public:
  std::string_view id() const override { return "hlsto.cuda"; }
  std::string_view summary() const override {
    return "MTTKRP and TTM-chain on HLS, dense tiles by WMMA (Algorithms 1 and 2)";
  }
  ParamSchema params() const override {
    auto specs = format_params(true);
    specs.push_back(
        {"warps",
         std::int64_t{4},
         "warps of a thread block, the N_w of section VI.A, which the paper leaves open",
         1,
         32,
         {}});
    specs.push_back({"load",
                     std::string("fused"),
                     "dense and sparse part in one grid or one after the other (section VI.C)",
                     0,
                     0,
                     {"fused", "sequential"}});
    specs.push_back(prepare_param());
    return ParamSchema(std::move(specs));
  }

 private:
  std::unique_ptr<Prepared> make(const Problem& problem, const Params& params) const override {
    return prepare_paper_cuda(problem, params);
  }
  Support supports_problem(const Problem& problem, const Params& params) const override {
    return supports_preparation(problem, params);
  }
};

class TunedCuda : public HlsCuda {
 public:
  std::string_view id() const override { return "hlsto.cuda.tuned"; }
  std::string_view summary() const override {
    return "MTTKRP on HLS: the diagonal of the second product by multiply-adds, rows in registers";
  }
  ParamSchema params() const override {
    auto specs = format_params(true);
    specs.push_back(prepare_param());
    return ParamSchema(std::move(specs));
  }

 private:
  std::unique_ptr<Prepared> make(const Problem& problem, const Params& params) const override {
    return prepare_tuned_cuda(problem, params);
  }
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (const auto format = supports_preparation(problem, params); !format.ok) return format;
    if (problem.x().nnz() >> 32 != 0) return Support::no("positions of nonzeros have 32 bits");
    if (problem.operation() != Operation::mttkrp) return Support::no("MTTKRP alone");
    if (params.integer("edge") != 16) return Support::no("tiles of edge 16 alone");
    if (arithmetic_of(params) == Arithmetic::tf32)
      return Support::no("operands of 16 bits alone: fp16, bf16 and split_fp16");
    if (format_options(problem, params).values != storage_of(arithmetic_of(params)))
      return Support::no("values as the precision takes them alone: f16, bf16, and f32 if split");
    return Support::yes();
  }
};

}  // namespace

std::unique_ptr<Method> make_hlsto_cuda() {
  return std::make_unique<PaperCuda>();
}
std::unique_ptr<Method> make_hlsto_cuda_tuned() {
  return std::make_unique<TunedCuda>();
}

}  // namespace retensor::hlsto
