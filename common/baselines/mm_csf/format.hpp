// MM-CSF: mixed-mode compressed sparse fibers (Nisa, Li, Sukumaran-Rajam, Rawat, Krishnamoorthy,
// Sadayappan: "An efficient mixed-mode representation of sparse tensors", SC 2019), one copy of the
// tensor for all modes.
#pragma once

#include <vector>

#include "common/core/types.hpp"
#include "common/formats/csf.hpp"
#include "common/method/method_spec.hpp"

namespace retensor::mm_csf {

/// Modes by ascending length make a cycle; a tree's levels follow it from its root on, so that each
/// mode is the root of one tree and the leaf level of another. Every nonzero is stored once, in the
/// tree in which its fiber has the most nonzeros; among equals in the one with the shortest root.
struct MmCsf {
  Dims dims;
  DType dtype = DType::f32;
  std::vector<Csf> trees;  ///< by ascending length of the root; none is empty

  int order() const { return static_cast<int>(dims.size()); }
  Count nnz() const;
  Count bytes() const;  ///< of the trees
  /// Tree by tree, in the order of the leaves.
  Coo to_coo() const;
  /// Throws InputError naming the first tree that breaks an invariant of CSF, lacks nonzeros, has
  /// other dims, values or levels than said above, or repeats a root; or the first nonzero that
  /// stands in another tree than the one of its longest fiber.
  void check() const;
};

/// Levels of the trees, the shortest root's first: tree_modes(dims)[tree][level].
std::vector<std::vector<int>> tree_modes(const Dims& dims);

/// Bits of a nonzero's position and its coordinate over all modes but the shortest, which are
/// sorted as one number of at most 128.
int key_bits(const Coo& tensor);
Support supports_keys(const Problem& problem, const Params& params);

/// Equal coordinates count as nonzeros of their own in a fiber's length, which is taken before
/// fibers are cut at `fiber_limit`. Throws InputError below order 2, which has no fibers, and where
/// key_bits passes 128.
MmCsf to_mm_csf(const Coo& tensor, Count fiber_limit = kFiberLimit);

/// Of a run on the device; parameter `fiber_limit`.
Prepare prepare_cuda;

}  // namespace retensor::mm_csf
