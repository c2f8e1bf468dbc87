// dbcsr.cuda: contraction in dense blocks, as DBCSR multiplies matrices.
#include "common/measure/registry.hpp"
#include "papers/bcb_sptc/baselines/dbcsr/dbcsr_cuda.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"

namespace retensor {
namespace dbcsr {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&) {
  no_cuda();
}
#endif

namespace {

class Dbcsr : public bcb_sptc::MatrixMethod {
 public:
  std::string_view id() const override { return "dbcsr.cuda"; }
  std::string_view summary() const override {
    return "contraction as a product of matrices in dense blocks of 8 x 8 (DBCSR)";
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params&) const override {
    return prepare_cuda(problem);
  }
};

}  // namespace
}  // namespace dbcsr

void register_dbcsr(Registry& registry);

void register_dbcsr(Registry& registry) {
  registry.add(std::make_unique<dbcsr::Dbcsr>());
}

}  // namespace retensor
