// HiCOO and its variants (PASTA section III.C, Fig. 2): coordinates split into block and element
// indices, blocks in Morton order.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/semi_sparse.hpp"

namespace retensor {

/// One structure for the family. Every mode is blocked, plain or dense:
/// HiCOO has blocked modes only; gHiCOO keeps some modes plain (one full index per entry, as in
/// COO); sHiCOO carries a dense block of values per entry over its dense modes.
struct Hicoo {
  Dims dims;
  int block_bits = 7;                              ///< block edge B = 2^block_bits, 0 to 8
  std::vector<int> blocked, plain, dense;          ///< modes, ascending in each list
  std::vector<Count> block_start;                  ///< bptr: blocks() + 1 entries
  std::vector<std::vector<Index>> block_index;     ///< [k][block] of mode blocked[k], in blocks
  std::vector<std::vector<std::uint8_t>> element;  ///< [k][entry] of mode blocked[k], below B
  std::vector<std::vector<Index>> plain_index;     ///< [k][entry] of mode plain[k]
  Values values;  ///< entries() * dense_volume(), highest mode fastest

  int order() const { return static_cast<int>(dims.size()); }
  Count blocks() const { return block_start.size() - 1; }
  Count entries() const { return block_start.back(); }
  std::uint64_t dense_volume() const;
  Count nnz() const { return values.size(); }
  /// bptr in 64 bits, block and plain indices in 32, element indices in 8, values: 7 M + 20 n_b
  /// bytes for third-order HiCOO in single precision, as Table I counts.
  Count bytes() const;
  /// All stored elements (zeros inside dense blocks included) in storage order.
  Coo to_coo() const;
  /// Throws InputError naming the first block or entry that breaks an invariant: array lengths,
  /// blocks not empty and in strictly ascending Morton order, indices inside their bounds, values
  /// finite.
  void check() const;
};

struct HicooOptions {
  int block_bits = 7;      ///< the paper's B = 128
  std::vector<int> plain;  ///< modes left unblocked (gHiCOO)
  int first = -1;          ///< blocked mode by which the entries of a block are sorted first
};

/// The order in which `to_hicoo` stores the nonzeros: position p takes nonzero result[p]. It does
/// not depend on the mode lengths: tensors of different shape agree about common coordinates.
std::vector<Count> hicoo_order(const Coo& tensor, const HicooOptions& options = {});
/// HiCOO or, with plain modes, gHiCOO. Entries of a block are sorted by blocked modes (`first`
/// before the others), then plain modes, so that fibers of a single plain mode are contiguous.
/// Throws InputError for options out of range.
Hicoo to_hicoo(const Coo& tensor, const HicooOptions& options = {});
/// sHiCOO: the sparse modes blocked, the dense modes dense.
Hicoo to_hicoo(const SemiSparseCoo& tensor, int block_bits = 7);

}  // namespace retensor
