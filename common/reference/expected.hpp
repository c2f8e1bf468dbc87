// The fp64 answer of an operation with what a bound per entry needs, and the check against it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/core/types.hpp"
#include "common/numeric/error_metrics.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/matrix.hpp"
#include "common/tensor/result.hpp"

namespace retensor::reference {

/// Arithmetic that a method declares; the bound of an entry with n terms of absolute sum L1 is
/// (operand_eps * roundings + (n + slack) * accumulate_eps) * L1, plus an underflow floor and the
/// rounding of the oracle itself. The slack is the operands of a term plus 2.
struct Precision {
  double operand_eps = 0;  ///< unit roundoff of operands rounded before use: fp16 2^-11, bf16 2^-8
  int roundings = 0;       ///< operands (and intermediates) rounded so in one product
  double accumulate_eps = 0;  ///< unit roundoff of products and sums: f32 2^-24, f64 2^-53
  double underflow = 0;       ///< largest absolute error of one operand from underflow: fp16 2^-25

  /// Products and sums in the value type itself.
  static Precision of(DType type);
};

/// Verdict of one check. Metrics are computed over the full index space and over the nonzeros of
/// the expected result alone.
struct CheckReport {
  bool ok = false;
  std::string reason;    ///< the first difference, in words, when not ok
  bool sampled = false;  ///< only sampled fibers and the checksum were compared
  Count entries = 0;     ///< entries compared
  double error_over_bound = 0;
  ErrorMetrics metrics;
};

/// Expected result. Small problems hold every entry; beyond the limits (5e8 products) at least 1000
/// output fibers are sampled and a checksum identity covers the rest.
class Expected {
 public:
  struct Data;
  Expected() = default;
  explicit Expected(Data data);

  /// Compares dims, pattern and every entry (or the sample and the checksum). Never throws for a
  /// wrong result; throws LogicError for a result of another kind than the operation's.
  CheckReport check(const Result& result, const Precision& precision) const;

  bool sampled() const;
  Count bytes() const;
  void save(const std::string& path) const;
  static Expected load(const std::string& path);

 private:
  std::shared_ptr<const Data> data_;
};

/// Limits above which an oracle samples; tests lower them.
struct Limits {
  double products = 5e8;   ///< of the whole result; beyond it a sample evaluates about as many
  double entries = 5e7;    ///< of the whole result, counted from above
  Count fibers = 1000;     ///< sampled output fibers
  std::uint64_t seed = 1;  ///< of the sample and of the checksum's random vectors
};

/// Tensors of equal order; a mode of the result is as long as the longer of the two.
Expected tew(const Coo& x, const Coo& y, const std::string& variant, const Limits& = {});
Expected ts(const Coo& x, double scalar, const std::string& variant, const Limits& = {});
Expected ttv(const Coo& x, const Matrix& v, int mode, const Limits& = {});
Expected ttm(const Coo& x, const Matrix& u, int mode, const Limits& = {});
Expected mttkrp(const Coo& x, const std::vector<Matrix>& factors, int mode, const Limits& = {});
/// The results of all modes one below the other.
Expected mttkrp_all(const Coo& x, const std::vector<Matrix>& factors, const Limits& = {});
Expected ttm_chain(const Coo& x, const std::vector<Matrix>& factors, int mode, const Limits& = {});
Expected contraction(const Coo& x, const Coo& y, const std::string& einsum, double alpha = 1,
                     const Limits& = {});
Expected spmm(const Coo& s, const Matrix& d, const Limits& = {});
/// Sequential CP-ALS in fp64 from the given factors (PASTA section II.E's use case; Kolda and Bader
/// 2009, section 3.4). The check compares the fit curve and the fit recomputed from the factors.
Expected cpd(const Coo& x, const std::vector<Matrix>& initial, int max_sweeps, double tolerance);

}  // namespace retensor::reference
