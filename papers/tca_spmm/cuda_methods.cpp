// tca_spmm.cuda: known to every build, so that a spec plans anywhere; without a device it declines
// with its reason.
#include <string_view>
#include <utility>

#include "common/measure/cuda_method.hpp"
#include "papers/tca_spmm/methods.hpp"
#include "papers/tca_spmm/methods_cuda.hpp"

namespace retensor::tca_spmm {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

namespace {

class PaperCuda : public CudaMethod {
 public:
  std::string_view id() const override { return "tca_spmm.cuda"; }
  std::string_view summary() const override {
    return "sparse times dense matrix by traces of small products (Algorithms 2 to 4)";
  }
  ParamSchema params() const override {
    auto specs = kernel_params();
    specs.push_back({"rhs_buffer",
                     true,
                     "compressed columns of D through shared memory, or from global memory at once",
                     0,
                     0,
                     {}});
    specs.push_back({"output_buffer",
                     true,
                     "outputs through shared memory, 16 bytes at a time, or one by one",
                     0,
                     0,
                     {}});
    return ParamSchema(std::move(specs));
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_paper_cuda(problem, params);
  }
  reference::Precision precision(const Problem&, const Params& params) const override {
    return kernel_precision(params);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (const auto own = supports_kernel(problem, params); !own.ok) return own;
    if (problem.rank() >> 31 != 0) return Support::no("numbers of columns of D have 31 bits");
    if (params.word("long_rows") == "nonzeros" && params.word("output") == "f16")
      return Support::no("outputs that blocks share are added in single precision: output=f32");
    return Support::yes();
  }
};

}  // namespace

std::unique_ptr<Method> make_tca_spmm_cuda() {
  return std::make_unique<PaperCuda>();
}

}  // namespace retensor::tca_spmm
