// cusparse_spgemm.cuda: contraction as NVIDIA's product of two sparse matrices.
#include <string>

#include "common/measure/registry.hpp"
#include "papers/bcb_sptc/baselines/cusparse_spgemm/cusparse_spgemm_cuda.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"

namespace retensor {
namespace cusparse_spgemm {

#ifndef RETENSOR_CUDA
std::string library_refusal() {
  return "this build has no CUDA";
}
std::unique_ptr<Prepared> prepare_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

namespace {

class CusparseSpgemm : public bcb_sptc::MatrixMethod {
 public:
  std::string_view id() const override { return "cusparse_spgemm.cuda"; }
  std::string_view summary() const override {
    return "contraction as a product of two matrices in CSR by cuSPARSE";
  }
  ParamSchema params() const override {
    return {{"algorithm",
             std::string("alg1"),
             "of cusparseSpGEMM: alg1 is the fastest and takes the most memory",
             0,
             0,
             {"alg1", "alg2", "alg3"}}};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_cuda(problem, params);
  }

 private:
  Support supports_problem(const Problem& problem, const Params&) const override {
    if (const auto own = supports_matrix(problem); !own.ok) return own;
    const auto why = library_refusal();
    return why.empty() ? Support::yes() : Support::no(why);
  }
};

}  // namespace
}  // namespace cusparse_spgemm

void register_cusparse_spgemm(Registry& registry);

void register_cusparse_spgemm(Registry& registry) {
  registry.add(std::make_unique<cusparse_spgemm::CusparseSpgemm>());
}

}  // namespace retensor
