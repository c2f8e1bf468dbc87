// A contraction whose result need not fit where it is formed: slab by slab of its first mode, each
// moved to the host before the next begins.
#pragma once

#include <memory>

#include "papers/bcb_sptc/methods/update.hpp"

namespace retensor::bcb_sptc {

/// Slabs are ranges of the indices of the result's first mode, which belongs to x or y. Preparing
/// halves their nonzeros until `prepare` finds room for the lists and the result of each, and
/// throws its error for one index that is too large, or OutOfMemory where the host has no room for
/// the whole. A run prepares each slab again, since formats and lists of all would not stay, hence
/// it allocates; its one stage, "slabs", holds conversion and transfer.
std::unique_ptr<Prepared> prepare_slabs(const Problem& problem, const PrepareSum& prepare);

}  // namespace retensor::bcb_sptc
