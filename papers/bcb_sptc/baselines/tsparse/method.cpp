// tsparse.cuda: contraction as tSparse multiplies sparse matrices.
#include "common/measure/registry.hpp"
#include "papers/bcb_sptc/baselines/matrix_method.hpp"
#include "papers/bcb_sptc/baselines/tsparse/tsparse_cuda.hpp"
#include "papers/bcb_sptc/format/products.hpp"

namespace retensor {
namespace tsparse {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&) {
  no_cuda();
}
#endif

namespace {

class TSparse : public bcb_sptc::MatrixMethod {
 public:
  std::string_view id() const override { return "tsparse.cuda"; }
  std::string_view summary() const override {
    return "contraction as a product of matrices in tiles of 8 x 8 on tensor cores (tSparse)";
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params&) const override {
    return prepare_cuda(problem);
  }
  reference::Precision precision(const Problem&, const Params&) const override {
    return bcb_sptc::precision_of(Arithmetic::fp16, ValueType::f16);
  }
};

}  // namespace
}  // namespace tsparse

void register_tsparse(Registry& registry);

void register_tsparse(Registry& registry) {
  registry.add(std::make_unique<tsparse::TSparse>());
}

}  // namespace retensor
