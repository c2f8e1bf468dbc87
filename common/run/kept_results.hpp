// Results of passes on the host where they lie, for those who read each once and need no copy.
#pragma once

#include "common/tensor/matrix.hpp"

namespace retensor {

class KeptResults {
 public:
  virtual ~KeptResults() = default;
  /// As Passes::mode_result, valid until the next pass over the mode; rows may be padded.
  virtual const Matrix& kept_result(int mode) const = 0;
};

}  // namespace retensor
