// An operation as rows of its result, and the builder that turns rows into an expected result
// (private to reference/).
#pragma once

#include <omp.h>

#include "common/reference/data.hpp"

namespace retensor::reference {

/// Rows of a result in a fixed order. Calls for different rows may run at the same time; each row
/// is computed by one thread in a fixed order, so results don't depend on the number of threads.
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual const Layout& layout() const = 0;
  virtual Count rows() const = 0;
  virtual Key key(Count row) const = 0;
  virtual double products(Count row) const = 0;
  /// Upper bound on the entries of a row.
  virtual double entries(Count row) const = 0;
  /// Appends the fibers of a row; of these only the columns that the weights hold at this stride.
  virtual void evaluate(Count row, const Weights& weights, Count stride, Fibers& out) const = 0;
  /// The row's weighted sum, column and element weights included; l1_terms and terms may exceed the
  /// exact sums.
  virtual WeightedSum checksum(Count row) const = 0;
  /// The checksum over all rows, by bucket. `products` are those of each row, `total` their sum.
  virtual Buckets checksum_buckets(const Weights& weights, const Doubles& products,
                                   double total) const;
  /// Threads that may evaluate at the same time.
  virtual int threads() const { return omp_get_max_threads(); }
};

/// All rows within the limits; otherwise a stratified sample of rows (the first, the last, the
/// heaviest and one at random from each of `limits.fibers` equal parts) and the checksum over all.
/// `source` must use Weights(limits.seed).
Expected build(const RowSource& source, const Limits& limits);

}  // namespace retensor::reference
