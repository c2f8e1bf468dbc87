// What the methods of TCA-SpMM's competitors have in common.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/methods/methods.hpp"

namespace retensor::tca_spmm {

inline ParamSpec types_param() {
  return param(
             "types", "f16",
             "types of operands and result; f16_f32: operands in half, result in single precision")
      .words({"f16", "f16_f32", "f32"});
}

inline reference::Precision types_precision(const Problem& problem, const Params& params) {
  const Types types = types_of(params);
  return types.operands == Element::single ? reference::Precision::of(problem.dtype())
                                           : half_precision(types.output);
}

/// Sparse times dense matrix whose operands come in single precision.
inline Support supports_spmm(const Problem& problem, const Params&) {
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  if (problem.rank() >> 31 != 0) return Support::no("supports fewer than 2^31 columns of D");
  return Support::yes();
}

inline MethodSpec competitor_method(MethodSpec own) {
  if (!own.precision) own.precision = types_precision;
  return with_shared({Operation::spmm}, supports_spmm, std::move(own));
}

/// The same for windows of rows in halves: fewer than 2^31 rows of S, the parameter `types`.
inline MethodSpec windows_method(std::string id, std::string summary,
                                 std::function<Prepare> prepare) {
  return competitor_method({
      .id = std::move(id),
      .summary = std::move(summary),
      .conditions = {[](const Problem& problem, const Params&) {
        if (problem.x().dims[0] >> 31 == 0) return Support::yes();
        return Support::no("supports fewer than 2^31 rows of S");
      }},
      .prepare = std::move(prepare),
      .params = {param("types", "f16",
                       "types of operands and result; f16_f32: result in single precision")
                     .words({"f16", "f16_f32"})},
  });
}

}  // namespace retensor::tca_spmm
