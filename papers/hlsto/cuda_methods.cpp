// hlsto.cuda: known to every build, so that a spec plans anywhere; without a device it declines
// with its reason.
#include <string>
#include <string_view>

#include "common/measure/cuda_method.hpp"
#include "papers/hlsto/methods.hpp"
#include "papers/hlsto/methods_cuda.hpp"

namespace retensor::hlsto {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

namespace {

class PaperCuda : public CudaMethod {
 public:
  std::string_view id() const override { return "hlsto.cuda"; }
  std::string_view summary() const override {
    return "MTTKRP and TTM-chain on HLS, dense tiles by WMMA (Algorithms 1 and 2)";
  }
  ParamSchema params() const override {
    auto specs = format_params();
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
    return ParamSchema(std::move(specs));
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_paper_cuda(problem, params);
  }
  reference::Precision precision(const Problem& problem, const Params& params) const override {
    return precision_of(arithmetic_of(params), format_options(problem, params).values);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    return supports_format(problem, params);
  }
};

}  // namespace

std::unique_ptr<Method> make_hlsto_cuda() {
  return std::make_unique<PaperCuda>();
}

}  // namespace retensor::hlsto
