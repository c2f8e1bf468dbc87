// cublas.cuda: the product with S as a dense matrix.
#include "common/measure/registry.hpp"
#include "papers/tca_spmm/baselines/competitor_method.hpp"
#include "papers/tca_spmm/baselines/cublas/cublas_cuda.hpp"

namespace retensor {
namespace cublas {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&, const Params&) {
  no_cuda();
}
std::string missing_library() {
  no_cuda();
}
#endif

namespace {

/// Of S as a dense matrix: 2 GiB in half precision, an own choice.
constexpr Count kMostElements = Count{1} << 30;

class Dense : public tca_spmm::Competitor {
 public:
  std::string_view id() const override { return "cublas.cuda"; }
  std::string_view summary() const override {
    return "dense matrix product by cuBLAS, zeros of S stored";
  }
  ParamSchema params() const override { return {tca_spmm::types_param(), tca_spmm::dense_param()}; }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_cuda(problem, params);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (const auto own = Competitor::supports_problem(problem, params); !own.ok) return own;
    const auto& dims = problem.x().dims;
    if (dims[0] > kMostElements / dims[1])
      return Support::no("S as a dense matrix has more than 2^30 elements");
    return supports_library(missing_library);
  }
};

}  // namespace
}  // namespace cublas

void register_cublas(Registry& registry);

void register_cublas(Registry& registry) {
  registry.add(std::make_unique<cublas::Dense>());
}

}  // namespace retensor
