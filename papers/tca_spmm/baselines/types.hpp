// The types of operands and result that TCA-SpMM's competitors can be asked for.
#pragma once

#include <string>

#include "common/method/params.hpp"
#include "papers/tca_spmm/format/operands.hpp"

namespace retensor::tca_spmm {

/// Sums are in single precision with either.
struct Types {
  Element operands = Element::half, output = Element::half;
};

inline Types types_of(const Params& params) {
  const std::string& word = params.word("types");
  return {word == "f32" ? Element::single : Element::half,
          word == "f16" ? Element::half : Element::single};
}

}  // namespace retensor::tca_spmm
