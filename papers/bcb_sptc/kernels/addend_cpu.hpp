// The second term of equation (1), Z = alpha X Y + beta Z, for contractions of BCB-SpTC: entries of
// both terms that share a coordinate are added up, all others stay, so that the pattern is the
// union of the two patterns.
#pragma once

#include <vector>

#include "common/tensor/coo.hpp"
#include "common/tensor/linear_index.hpp"

namespace retensor::bcb_sptc {

/// Z and its factor. Z's nonzeros may lie in any order and share coordinates, whose values are
/// added up. Where beta is 0, Z is not read: its pattern is no part of the result.
struct Addend {
  double beta = 0;
  Coo z;

  /// A Z without nonzeros: the sum is the product sorted by coordinate.
  static Addend nothing(const Dims& result_dims) { return {0, Coo(result_dims, DType::f32, 0)}; }
};

/// Fields of a coordinate of the result in natural order. Throws InputError where they take more
/// than 96 bits: below them stands the position of a nonzero, 32 bits.
LinearIndex sum_index(const Dims& result_dims);
/// Throws InputError unless Z has the result's dims, single precision and valid coordinates, and
/// for 2^32 and more entries of both terms.
void check_addend(const Addend& addend, const Dims& result_dims, Count product_entries);

/// The sum on the host, in natural order of the coordinates.
class HostSum {
 public:
  /// For products of so many entries. Throws InputError as check_addend does.
  HostSum(const Addend& addend, const Dims& result_dims, Count product_entries);
  /// Sorts the entries of both terms by coordinate, then position, and adds up those that agree.
  /// Allocates nothing.
  void run(const Coo& product);
  /// The first entries() are the sum's.
  Coo& sum() { return sum_; }
  Count entries() const { return entries_; }
  Count z_nonzeros() const { return addend_.z.nnz(); }

 private:
  const Addend& addend_;
  const LinearIndex index_;
  std::vector<Uint128> keys_;
  Coo sum_;
  Count entries_ = 0;
};

}  // namespace retensor::bcb_sptc
