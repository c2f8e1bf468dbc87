// MTTKRP on compressed sparse fibers with OpenMP, the output's mode at the root (S. Smith, N.
// Ravindran, N. D. Sidiropoulos, G. Karypis: "SPLATT: efficient and parallel sparse tensor-matrix
// multiplication", IPDPS 2015; S. Smith, G. Karypis, IA3 2015, for orders above 3).
//
// A thread takes neighbouring slices of about as many nonzeros as the others. The rows of a fiber's
// nonzeros, each times its value, add up to a row that is then multiplied by the fiber's; so on up
// to the slice, whose row no other thread writes. The rank is a run-time value, as it is there.
#pragma once

#include <memory>

#include "common/method/method.hpp"

namespace retensor::splatt {

/// splatt.cpu; the parameter `threads`.
std::unique_ptr<Prepared> prepare_cpu(const Problem& problem, const Params& params);

}  // namespace retensor::splatt
