// What the methods of TCA-SpMM's competitors have in common.
#pragma once

#include <string>

#include "common/measure/cuda_method.hpp"
#include "papers/tca_spmm/baselines/types.hpp"
#include "papers/tca_spmm/methods/methods.hpp"

namespace retensor::tca_spmm {

inline ParamSpec types_param() {
  return {"types",
          std::string("f16"),
          "of operands and result; f16_f32: operands in half precision, result in single",
          0,
          0,
          {"f16", "f16_f32", "f32"}};
}

inline ParamSpec dense_param() {
  return {"dense", std::string("row_major"),     "order of the elements of D", 0,
          0,       {"row_major", "column_major"}};
}

/// A method of sparse times dense matrix whose operands come in single precision.
class Competitor : public CudaMethod {
 public:
  reference::Precision precision(const Problem& problem, const Params& params) const override {
    const Types types = types_of(params);
    return types.operands == Element::single ? reference::Precision::of(problem.dtype())
                                             : half_precision(types.output);
  }

 protected:
  Support supports_problem(const Problem& problem, const Params&) const override {
    if (problem.operation() != Operation::spmm)
      return Support::no("sparse times dense matrix alone");
    if (problem.dtype() != DType::f32) return Support::no("operands of at most single precision");
    if (problem.rank() >> 31 != 0) return Support::no("numbers of columns of D have 31 bits");
    return Support::yes();
  }
  /// Support::no with the library's message where there is a device and `missing` is not empty.
  template <class F>
  static Support supports_library(const F& missing) {
    if (!device::available().ok) return Support::yes();
    const std::string reason = missing();
    return reason.empty() ? Support::yes() : Support::no(reason);
  }
};

}  // namespace retensor::tca_spmm
