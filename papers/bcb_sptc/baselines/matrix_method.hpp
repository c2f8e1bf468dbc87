// What BCB-SpTC's competitors on a GPU have in common: the contraction as a product of two sparse
// matrices.
#pragma once

#include <utility>

#include "common/method/method_spec.hpp"

namespace retensor::bcb_sptc {

/// Contractions in single precision of fewer than 2^31 nonzeros.
inline Support supports_matrix(const Problem& problem, const Params&) {
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  if (problem.spec().beta != 0)
    return Support::no("supports only beta=0: the problem has no tensor Z to add");
  constexpr Count most = (Count{1} << 31) - 1;
  if (problem.nonzeros() > most || problem.y().nnz() > most)
    return Support::no("supports fewer than 2^31 nonzeros");
  return Support::yes();
}

inline MethodSpec matrix_method(MethodSpec own) {
  return with_shared({Operation::contraction}, supports_matrix, std::move(own));
}

}  // namespace retensor::bcb_sptc
