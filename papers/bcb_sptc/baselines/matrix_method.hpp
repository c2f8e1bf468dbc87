// What BCB-SpTC's competitors on a GPU have in common: the contraction as a product of two sparse
// matrices.
#pragma once

#include "common/measure/cuda_method.hpp"

namespace retensor::bcb_sptc {

class MatrixMethod : public CudaMethod {
 protected:
  /// Contractions in single precision of fewer than 2^31 nonzeros.
  static Support supports_matrix(const Problem& problem) {
    if (problem.operation() != Operation::contraction) return Support::no("contraction alone");
    if (problem.dtype() != DType::f32) return Support::no("single precision alone");
    if (problem.spec().beta != 0)
      return Support::no("expected beta 0: the operation has no tensor Z to add");
    constexpr Count most = (Count{1} << 31) - 1;
    if (problem.x().nnz() > most || problem.y().nnz() > most)
      return Support::no("positions of nonzeros have 31 bits");
    return Support::yes();
  }

 private:
  Support supports_problem(const Problem& problem, const Params&) const override {
    return supports_matrix(problem);
  }
};

}  // namespace retensor::bcb_sptc
