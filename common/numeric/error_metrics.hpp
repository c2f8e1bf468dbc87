// Error metrics of the papers and the ones that are always reported beside them.
#pragma once

#include "common/core/types.hpp"

namespace retensor {

/// One pass over pairs (expected, measured). "full" divides by the whole index space, in which
/// structural zeros count as exact; "nonzero" by the pairs seen.
struct ErrorMetrics {
  double rmse_full = 0;  ///< BCB-SpTC eq. 14: sqrt(sum (a-b)^2 / prod of result dims)
  double rmse_nonzero = 0;
  double smape_full = 0;  ///< HLSTO eq. 17, in percent; 0 against 0 counts as 0
  double smape_nonzero = 0;
  double relative_frobenius = 0;  ///< |a-b|_F / |a|_F; 0 when both are 0, infinity when a alone is
  double max_absolute = 0;
};

/// Accumulates pairs; order-independent up to rounding of the fp64 sums.
class ErrorAccumulator {
 public:
  void add(double expected, double measured);
  void merge(const ErrorAccumulator& other);
  /// index_space: entries of the full result (>= pairs added), as double since it may pass 2^64.
  ErrorMetrics metrics(double index_space) const;
  Count pairs() const { return pairs_; }

 private:
  Count pairs_ = 0;
  double square_error_ = 0, square_expected_ = 0, smape_ = 0, max_ = 0;
};

}  // namespace retensor
