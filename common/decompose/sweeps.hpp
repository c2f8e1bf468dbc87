// Where the factors of CP-ALS live while it runs: on the host, or on the device together with
// Gram matrices, weights and results of MTTKRP. The loop around the sweeps stands in als.hpp.
// Without Eigen's types, which the CUDA compiler is kept from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "common/core/stage_timer.hpp"
#include "common/method/method.hpp"
#include "common/tensor/result.hpp"

namespace retensor::cpd {

/// What factors must obey. Non-negative ones are updated by hierarchical alternating least squares
/// (HALS: A. Cichocki, A.-H. Phan: Fast Local Algorithms for Large Scale Nonnegative Matrix and
/// Tensor Factorizations, IEICE Transactions on Fundamentals E92-A(3), 2009, Algorithm 3).
enum class Constraint { none, nonnegative };
/// none, nonnegative; throws InputError for another name.
Constraint constraint_from_name(std::string_view name);
std::string_view name(Constraint constraint);

enum class Start;  // starts.hpp

class Sweeps {
 public:
  virtual ~Sweeps() = default;
  /// Begins with factors whose columns may have any norms; no weights: no sweep has been.
  virtual void begin(const std::vector<Matrix>& factors, const std::vector<double>* weights) = 0;
  /// Begins with the factors of first_factors() where they can be drawn beside the sweeps, with the
  /// same bits; false where they can't, and nothing has changed. fetch() gives them with unit
  /// columns.
  virtual bool draw(Start law, std::uint64_t seed);
  /// A sweep in which each factor becomes the orthonormal matrix next to its MTTKRP, M (M^T
  /// M)^(-1/2): a start in which no two components are alike and all follow the data.
  virtual void spread(StageTimer& timer) = 0;
  /// As many sweeps as `fit` has elements, one after the other; writes the fit after each. The
  /// timer lends its stream to the passes.
  virtual void run(StageTimer& timer, std::span<double> fit) = 0;
  /// Writes weights and factors of unit columns, a column of norm 0 staying zero.
  virtual void fetch(KruskalModel& model) = 0;
};

/// With the passes of any method, which reads the problem's dense operands where they lie or copies
/// them as they are refreshed: factors of the problem are updated in place. `norm` is the tensor's.
std::unique_ptr<Sweeps> host_sweeps(const Problem& passes, Prepared& mttkrp, double norm,
                                    Constraint constraint = Constraint::none);

/// With the passes of a method that keeps factors and results on the device; nothing but the fit
/// leaves it in a sweep. Null for other methods, for non-negative models of more than 256
/// components, and in a build without CUDA.
std::unique_ptr<Sweeps> device_sweeps(const Problem& passes, Prepared& mttkrp, double norm,
                                      Constraint constraint = Constraint::none);

/// 1 - |X - model| / |X| from |X|, |model|^2 and <X, model>; of an empty tensor 1 where the model
/// is zero, else 0.
double fit_of(double norm, double square, double inner);

}  // namespace retensor::cpd
