// Fibers of one mode in groups, for kernels that keep the factor rows of the fibers' nonzeros in
// shared memory: this project's own form, of any order from 2 on.
//
// The output's mode and the leaves' mode are chosen; nonzeros that agree in all modes but the
// leaves' are a fiber. Fibers of one output row lie in groups of kSumFibers or kSideFibers, and a
// group's nonzeros in steps of kSumSlots or kSideSlots slots, of which the last may be empty in
// part. Where the leaves' factor does not fit in shared memory, its rows are cut into segments, and
// groups are those of a segment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/core/host_device.hpp"
#include "common/core/types.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::hlsto {

enum class GroupForm {
  /// Eight fibers whose nonzeros take any slot; a selector of four bits tells the fiber. A value is
  /// the sum of two halves. Where it can be, the leaves of eight neighbouring slots differ in their
  /// remainders by 8, so that their rows lie in different banks.
  summed,
  /// Four fibers of like length side by side, four slots of a step each; values as they are.
  side_by_side
};

inline constexpr unsigned kSumFibers = 8, kSideFibers = 4;
inline constexpr unsigned kSumSlots = 32, kSideSlots = 16;
inline constexpr Count kLongestFiber = 1024;  ///< nonzeros at which a fiber is cut

inline constexpr unsigned fibers_of(GroupForm form) {
  return form == GroupForm::summed ? kSumFibers : kSideFibers;
}
inline constexpr unsigned slots_of(GroupForm form) {
  return form == GroupForm::summed ? kSumSlots : kSideSlots;
}

struct GroupOptions {
  int mode = 0, leaf = 1;
  GroupForm form = GroupForm::summed;
  Count segment_rows = 1;    ///< most rows of the leaves' factor in a segment, at most 2^14
  unsigned row_vectors = 4;  ///< 16 bytes each, of a row in the table: 2 or 4
};

/// Number of the 16 bytes of shared memory with which a row of `vectors` of them begins, in the
/// order in which vector v of it lies at number (result ^ v): rows that differ in their remainders
/// by 8 have their vectors v in different banks.
RETENSOR_HOST_DEVICE constexpr std::uint32_t table_code(std::uint32_t row, unsigned vectors) {
  return row * vectors | (vectors == 4 ? row >> 1 & 3u : row >> 2 & 1u);
}

struct FiberGroups {
  Dims dims;
  GroupOptions options;
  Count nnz = 0;
  /// Side by side: of each slot the row of the leaves' factor in its segment, and the value. Empty
  /// slots have row 0 and value 0.
  ///
  /// Summed: a step is two halves of 16 slots, and `lane` t of a half (t < 4) has its slots 2 t,
  /// 2 t + 1, 2 t + 8 and 2 t + 9. Empty slots have some row and value 0.
  Array<std::uint16_t> code;      ///< by slot, then by half: table_code of the row
  Array<std::uint32_t> value;     ///< by lane, then by half: four halves in two words
  Array<std::uint32_t> rest;      ///< likewise, what these halves leave of the values
  Array<std::uint16_t> selector;  ///< by lane, then by half: the fibers of its slots, 4 bits each
  Array<std::uint32_t> first;     ///< by group: its first step; their number at the end
  Array<Index> row;               ///< by group: of the output
  /// By group, then by mode but the output's and the leaves', ascending: of each fiber, 0 where
  /// there is none.
  Array<Index> upper;
  std::vector<std::uint32_t> segment;  ///< first group of each; their number at the end

  int order() const { return static_cast<int>(dims.size()); }
  Count groups() const { return row.size(); }
  Count steps() const { return first.back(); }
  std::vector<int> uppers() const;
  /// The nonzeros in single precision, in the order of the groups; values 0 are left out.
  Coo to_coo() const;
};

/// The other mode whose fibers are fewest, of each output mode: the leaves' mode that saves most.
/// `fibers`: the number of them along each mode.
std::vector<int> leaves_of_fewest(std::span<const Count> fibers);
std::vector<int> longest_fibers(const Coo& tensor);

/// Throws InputError for a tensor of order 1, values in double precision, equal output and leaves'
/// modes or a segment without rows.
FiberGroups to_fiber_groups(const Coo& tensor, const GroupOptions& options);

}  // namespace retensor::hlsto
