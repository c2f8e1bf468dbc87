// A contraction as an update by equation (1), in slabs, and as one call on tensors.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/method/method.hpp"
#include "papers/bcb_sptc/kernels/addend_cpu.hpp"

namespace retensor::bcb_sptc {

/// A run of the contraction `problem` and the addend after it; both stay with the caller.
using PrepareSum =
    std::function<std::unique_ptr<Prepared>(const Problem& problem, const Addend& addend)>;

/// A contraction as an update of equation (1) with the beta of a method's parameter, for specs,
/// which have no tensor Z: the run multiplies the first half of X's nonzeros, and Z holds what
/// `prepare` gives for the others with alpha / beta in place of alpha. So Z = alpha X1 Y + beta Z
/// is alpha X Y, pattern included, which the problem's oracle checks.
std::unique_ptr<Prepared> prepare_update(const Problem& problem, double beta,
                                         const PrepareSum& prepare);

/// A contraction whose result need not fit where it is formed: slab by slab of its first mode, each
/// moved to the host before the next begins.
///
/// Slabs are ranges of the indices of the result's first mode, which belongs to x or y. Preparing
/// halves their nonzeros until `prepare` finds room for the lists and the result of each, and
/// throws its error for one index that is too large, or OutOfMemory where the host has no room for
/// the whole. A run prepares each slab again, since formats and lists of all would not stay, hence
/// it allocates; its one stage, "slabs", holds conversion and transfer.
std::unique_ptr<Prepared> prepare_slabs(const Problem& problem, const PrepareSum& prepare);

/// Equation (1) of tensors in single precision by one run of a method of this module, whose
/// `prepare` it is: einsum as in common/tensor/einsum.hpp. Throws InputError for operands that do
/// not fit the notation or the format.
Coo contract(const std::string& einsum, double alpha, const Coo& x, const Coo& y,
             const Addend& addend, const PrepareSum& prepare);

}  // namespace retensor::bcb_sptc
