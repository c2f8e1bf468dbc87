// MTTKRP over all modes by any method: one that has no run of its own for it runs mode by mode.
#pragma once

#include <memory>

#include "common/method/method.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor {

/// Whether it has runs of the operation, mode by mode if need be.
bool has_operation(const Method& method, Operation operation);

/// As Method::supports; of MTTKRP over all modes a method for single modes must support every mode.
Support supports(const Method& method, const Problem& problem, const Params& params);
/// The same of Method::solves: on a machine that can run the method.
Support solves(const Method& method, const Problem& problem, const Params& params);

/// As Method::prepare; of MTTKRP over all modes a method for single modes is prepared once a mode,
/// which `executed` says, and has passes. Stages of equal name add up over the modes.
std::unique_ptr<Prepared> prepare(const Method& method, const Problem& problem,
                                  const Params& params);

class KeptResults {
 public:
  virtual ~KeptResults() = default;
  /// As Passes::mode_result, valid until the next pass over the mode; rows may be padded.
  virtual const Matrix& kept_result(int mode) const = 0;
};

}  // namespace retensor
