// Contraction of two tensors in BCB with an emulated tensor core (BCB-SpTC section IV,
// Algorithms 1 to 4, equation 1).
//
// A pair of blocks is a product of two matrices: free cells of x by contracted cells, times
// contracted cells by free cells of y, for any number of modes of each kind. The order of the cells
// in a block is chosen at conversion so that both matrices lie in their bitmaps row after row. A
// fragment takes 16 rows, 16 contracted cells, 16 columns; what lies beyond the matrix is zero, and
// a product of which one fragment is empty is left out. The products of all pairs of a result block
// are added into its sums, which begin with zero.
//
// The pattern of the result is that of the operands: a cell (i, j) is an entry if a pair has some k
// with both bits (i, k) and (k, j). Row i of the result's bitmap is the union of y's rows k over
// the bits k of x's row i. It is found before the product (`find_pattern`), which tells where the
// entries of a block begin, and again beside the sums. A sum that is zero is an entry; `drop_zeros`
// removes these (Algorithm 1, line 11).
//
// An entry of a product depends on its own row and column alone. Hence the emulation gathers rows
// and columns that are not empty into one fragment, 16 at a time: the bits of the result are those
// of the fragments in place, whose number is what `mmas` counts.
#pragma once

#include <memory>
#include <vector>

#include "common/numeric/tensor_core.hpp"
#include "common/reference/expected.hpp"
#include "papers/bcb_sptc/task_list.hpp"

namespace retensor::bcb_sptc {

class Worker;

class Multiplication {
 public:
  /// alpha: the factor of equation 1. Works on operands and tasks that others keep.
  Multiplication(const Operands& operands, const TaskList& tasks, Arithmetic arithmetic,
                 float alpha, int threads);
  ~Multiplication();
  Multiplication(const Multiplication&) = delete;
  Multiplication& operator=(const Multiplication&) = delete;

  /// Counts entries and MMAs of the tasks. Allocates when called for the first time only.
  void find_pattern();
  Count entries() const { return start_.back(); }
  /// Products of 16 x 16 x 16 of two fragments that hold a nonzero each.
  Count mmas() const { return mmas_; }
  /// Writes the entries by result block, then cell, into `out` of as many nonzeros; allocates
  /// nothing.
  void run(Coo& out);

 private:
  const TaskList& tasks_;
  std::vector<Count> start_ = {0};  // first entry of each result block, and the end
  Count mmas_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;  // one a thread
};

/// Of the first `entries`, moves those whose value is not zero to the front, in order; their
/// number.
Count drop_zeros(Coo& tensor, Count entries);

/// Products that the tasks take when no fragment is left out, of the operands' grids.
Count dense_mmas(const Grid& x, const Grid& y, Count tasks);
/// Products that section IV.B counts: slices of 64 cells, two at a time with one contracted mode,
/// four with more. It does not cover all pairs of free cells, see the README.
Count published_mmas(const Grid& x, const Contraction& modes, Count tasks);

/// What checks assume with values stored as `values`.
reference::Precision precision_of(Arithmetic arithmetic, ValueType values);

}  // namespace retensor::bcb_sptc
