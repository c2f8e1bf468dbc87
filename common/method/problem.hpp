// One instance of an operation: operands, parameters and the oracle that all methods share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/types.hpp"
#include "common/generate/values.hpp"
#include "common/reference/expected.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor {

enum class Operation { tew, ts, ttv, ttm, mttkrp, mttkrp_all, ttm_chain, contraction, spmm, cpd };
std::string_view name(Operation op);
const std::vector<std::string>& operation_names();
/// Throws InputError for a name that no operation has.
Operation operation_from_name(std::string_view text);

bool has_mode(Operation op);  ///< ttv, ttm, mttkrp, ttm_chain
bool has_rank(Operation op);  ///< ttm, mttkrp, mttkrp_all, ttm_chain, spmm, cpd
/// The variants of tew and ts: add, sub, mul, div.
const std::vector<std::string>& elementwise_variants();

/// What a spec says about a problem apart from the tensor itself.
struct ProblemSpec {
  Operation operation = Operation::mttkrp;
  /// tew, ts: add, sub, mul, div (empty: add, mul). contraction: an einsum such as "abk,kcd->abcd".
  std::string variant;
  int mode = 0;  ///< ttv, ttm: the mode multiplied; mttkrp, ttm_chain: the output mode; 0-based
  std::uint64_t rank = 16;  ///< R; columns of D for spmm
  std::uint64_t rank2 = 0;  ///< ttm_chain: R2 of all modes after the lowest; 0 means rank
  DType dtype = DType::f32;
  ValueModel values = ValueModel::stored;     ///< of the tensor's nonzeros
  ValueModel operands = ValueModel::uniform;  ///< of dense operands and of the second tensor
  double scalar = 1.5;                        ///< ts
  double alpha = 1, beta = 0;                 ///< contraction
  int max_sweeps = 20;                        ///< cpd
  double tolerance = 1e-5;                    ///< cpd: smallest gain of the fit that continues
  std::uint64_t seed = 1;
};

/// Throws InputError when mode, rank or variant do not fit the operation or the mode lengths; `y`
/// is the second operand of a contraction.
void check_problem(const ProblemSpec& spec, const Dims& x, const Dims& y);

/// Operands are shared between methods, which change none of them; the oracle is built on first
/// use. x is the tensor, of order 2 for spmm; y is a tensor for tew (of the same order) and
/// contraction alone.
///
/// | operation   | dense operands                           | result                              |
/// | ----------- | ---------------------------------------- | ----------------------------------- |
/// | tew, ts     | -                                        | Coo                                 |
/// | ttv         | dense[0]: I_mode x 1                     | Coo of order N-1                    |
/// | ttm         | dense[0]: I_mode x R (transposed, PASTA) | SemiSparseCoo, mode dense, length R |
/// | mttkrp      | dense[m]: I_m x R for every mode m       | Matrix I_mode x R                   |
/// | mttkrp_all  | dense[m]: I_m x R for every mode m       | Matrix sum I_m x R (2)              |
/// | ttm_chain   | dense[m]: I_m x R_m for every mode m     | Matrix I_mode x prod R_m (1)        |
/// | contraction | -                                        | Coo, modes as in the einsum         |
/// | spmm        | dense[0]: K x N                          | Matrix M x N                        |
/// | cpd         | dense[m]: initial factors                | KruskalModel                        |
///
/// The operands of tew may differ in pattern and in mode lengths. The result of every variant has
/// the longer of the two lengths in each mode, the smallest shape that holds both operands, so that
/// it does not depend on the nonzeros; its pattern is the union for add and sub, the intersection
/// for mul, x's for div, where an absent or zero denominator is an InputError with its coordinate.
///
/// (1) R_m over the other modes in ascending order, the last fastest: R for the lowest of them, R2
/// for the rest.
///
/// (2) MTTKRP of every mode from the same factors (FLYCOO eq. 1): the results one below the other,
/// mode 0 first.
class Problem {
 public:
  /// Draws the dense operands (and y where `y` is null and the operation needs one) from the seed:
  /// tew gets x's pattern with new values, contraction is of x with itself. Throws InputError when
  /// mode, variant or dims do not fit the operation.
  Problem(ProblemSpec spec, std::shared_ptr<const Coo> x, std::shared_ptr<const Coo> y = nullptr);
  /// MTTKRP of x, of one mode or of all, with the caller's factors, dense[m]: I_m x R of the
  /// tensor's type, whose values the caller may change in place between runs, see
  /// Prepared::refresh. Throws InputError for other shapes; factors without rows, which an outline
  /// has, make an outline.
  static Problem with_factors(ProblemSpec spec, std::shared_ptr<const Coo> x,
                              std::shared_ptr<const std::vector<Matrix>> factors);

  /// What Method::supports may be asked about before there are operands: dense operands have
  /// their columns and no rows, x is the second tensor too, and x may lack its nonzeros where only
  /// its mode lengths and their number are known.
  /// Throws InputError as the constructor does.
  static Problem outline(ProblemSpec spec, std::shared_ptr<const Coo> x, Count nonzeros = 0);

  const ProblemSpec& spec() const { return spec_; }
  Operation operation() const { return spec_.operation; }
  int mode() const { return spec_.mode; }
  std::uint64_t rank() const { return spec_.rank; }
  DType dtype() const { return spec_.dtype; }
  const Coo& x() const { return *x_; }
  /// Of x, those that an outline lacks included.
  Count nonzeros() const { return std::max(x_->nnz(), stated_); }
  const Coo& y() const;  ///< throws LogicError when the operation has none
  const std::vector<Matrix>& dense() const { return *dense_; }

  /// MTTKRP of one mode of a problem over all modes: the same operands, which it shares.
  Problem of_mode(int mode) const;

  /// The fp64 answer with a bound per entry; thread-safe, built once.
  const reference::Expected& oracle() const;
  /// Installs an oracle that was saved by an earlier process for the same problem; throws
  /// LogicError when there is one already, since others may hold a reference to it.
  void set_oracle(reference::Expected oracle) const;

 private:
  Problem() = default;

  ProblemSpec spec_;
  std::shared_ptr<const Coo> x_, y_;
  std::shared_ptr<const std::vector<Matrix>> dense_;
  struct OracleSlot;
  std::shared_ptr<OracleSlot> oracle_;
  Count stated_ = 0;  // nonzeros of an outline
};

}  // namespace retensor
