// The peak of a case's memory from the registry's facts: what each stage of a worker holds at once.
//
// Nonzeros count as if they were drawn uniformly: of skewed tensors fewer coordinates differ. Bytes
// for each nonzero and each fiber are those of the arrays in common/reference, which
// tests/cli/memory_test.py compares with peaks that were measured.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/advise/facts.hpp"
#include "common/tensor/einsum.hpp"
#include "common/tensor/linear_index.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {
namespace {

constexpr double kProgram = 16e6;  // the worker's code, libraries and answers
constexpr double kIndex = 4, kDouble = 8, kPosition = 8;
constexpr double kFiber = 24;        // its key and number of terms
constexpr double kValue = 16;        // fp64 value and sum of magnitudes
constexpr double kKeyed = 32;        // key and place of a fiber that is checked
constexpr double kGrowth = 1.5;      // of a vector to which items are added one by one
constexpr double kNarrow = 2;        // values of a fiber whose parts malloc keeps
constexpr double kKeptBlock = 32e6;  // what malloc returns to the system only from this size on
const reference::Limits kLimits;

double sum(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), 0.0);
}

Dims without(Dims dims, int mode) {
  dims.erase(dims.begin() + mode);
  return dims;
}

/// Cells that at least one of `drawn` nonzeros hits, in expectation.
double distinct(double drawn, double cells) {
  return cells <= 0 ? 0 : -cells * std::expm1(-drawn / cells);
}

/// Freed, but too small to be returned.
double kept(double bytes) {
  return bytes < kKeptBlock ? bytes : 0;
}

/// What an operation holds beside the tensor that was loaded.
struct Sizes {
  double operands = 0;  ///< bytes of dense operands and of copies of tensors
  double fibers = 0;    ///< of the result, each a block of `width` values
  double width = 1;
  double coordinates = 0;  ///< indices of a fiber, 0 of a matrix
  double products = 0;
  double oracle = 0;     ///< bytes of the oracle's arrays beside its fibers
  double retained = 0;   ///< bytes of these that malloc keeps when they are freed
  double collected = 0;  ///< bytes of a method's result while its parts are collected
};

class Model {
 public:
  Model(const ProblemSpec& problem, const Dataset& dataset)
      : p_(problem),
        dims_(dataset.dims),
        n_(static_cast<double>(dataset.nnz)),
        order_(static_cast<double>(dims_.size())),
        value_(static_cast<double>(size_of(problem.dtype))) {}

  double peak(const Method& method) const {
    const auto s = sizes();
    const auto tensor = n_ * (order_ * kIndex + static_cast<double>(size_of(DType::f32)));
    const auto held = kProgram + tensor + s.operands;
    // While it is loaded the tensor lies in the mapped cache too.
    return std::max({kProgram + 2 * tensor, held + s.oracle + evaluated(s), held + run(s, method)});
  }

 private:
  Sizes sizes() const;
  Sizes sizes_of_operation() const;
  Sizes elementwise() const;
  Sizes dense_rows(double factors, double rows, double width) const;
  Sizes fibers_along_mode(double width) const;
  Sizes rows_of_mode(double columns, double width) const;
  Sizes rows_of_all_modes() const;
  Sizes contraction() const;

  double length(int mode) const {
    return static_cast<double>(dims_[static_cast<std::size_t>(mode)]);
  }
  double copy() const { return n_ * (order_ * kIndex + value_); }

  /// Keys that sort the nonzeros by modes in another order than they lie in, if they do.
  double sorting(bool sorted, const Dims& modes) const {
    if (sorted) return 0;
    int bits = bits_for(static_cast<Count>(n_));
    for (const auto length : modes) bits += bits_for(length);
    return n_ * (bits < 64 ? 8 : 16);
  }

  /// Fibers that the oracle computes: all, or a sample.
  static double evaluated_fibers(const Sizes& s) {
    constexpr double kSampled = 1.25;  // the heaviest come on top
    const bool sampled = s.products > kLimits.products || s.fibers * s.width > kLimits.entries;
    return sampled ? std::min(s.fibers, kSampled * static_cast<double>(kLimits.fibers)) : s.fibers;
  }

  /// Fibers in the parts that threads fill, whose vectors grow, and joined.
  static double evaluated(const Sizes& s) {
    constexpr double kParts = 1024, kMapped = 131072, kMappedGrowth = 1.15;
    const auto fibers = evaluated_fibers(s);
    const auto each = std::max(1.0, fibers / kParts);
    const auto grown = std::exp2(std::ceil(std::log2(each))) / each;
    const auto growth = kDouble * s.width * each * grown < kMapped ? grown : kMappedGrowth;
    return (1 + growth) * fibers * (kFiber + kValue * s.width) + kPosition * s.fibers;
  }

  /// What malloc keeps of the parts once they are joined: blocks of a few kB lie between others.
  /// Where it was told to map all that is larger than 128 KiB (MALLOC_MMAP_THRESHOLD_), the peak of
  /// TTV fell by this much, and that of TTM with 16 columns did not.
  static double kept_parts(const Sizes& s) {
    return s.width > kNarrow ? 0 : evaluated_fibers(s) * (kFiber + kValue * s.width);
  }

  /// The method's arrays, its result, a copy of that to be checked, and the oracle beside them.
  double run(const Sizes& s, const Method& method) const {
    const auto oracle = evaluated_fibers(s) * (kFiber + kValue * s.width);
    const auto result = s.fibers * (s.coordinates * kIndex + s.width * value_);
    return oracle + s.retained + n_ * method.bytes_per_nonzero() + s.collected + 2 * result +
           kGrowth * kKeyed * s.fibers;
  }

  const ProblemSpec& p_;
  const Dims& dims_;
  const double n_, order_, value_;
};

/// Pairs of positions, values in fp64, and what is left of the sorted keys of both tensors.
Sizes Model::elementwise() const {
  const double tensors = p_.operation == Operation::tew ? 2 : 1;
  Sizes s;
  s.operands = (tensors - 1) * copy();
  s.fibers = s.products = n_;
  s.coordinates = order_;
  s.oracle = n_ * (tensors * kDouble + 2 * kPosition) + kept(2 * kPosition * n_) +
             tensors * (kept(kPosition * n_) + kept(2 * kPosition * n_));
  return s;
}

/// `factors` elements of matrices that are read, `rows` of the result.
Sizes Model::dense_rows(double factors, double rows, double width) const {
  Sizes s;
  s.operands = value_ * factors;
  s.fibers = rows;
  s.width = width;
  s.products = n_ * width;
  s.oracle = n_ * (kDouble + kPosition) + kGrowth * kPosition * rows + kDouble * factors;
  return s;
}

/// Groups and columns of y, and the groups that x's nonzeros meet. Every product of uniform
/// nonzeros that meet lands in a cell of the result.
Sizes Model::contraction() const {
  constexpr double kGrouped = 120;   // bytes for each nonzero of both operands
  constexpr double kCollected = 90;  // bytes for each entry in hash tables or tiles, and as parts
  const Contraction c(p_.variant, dims_, dims_);
  double met = 1;
  for (const int mode : c.contracted_x) met *= length(mode);
  Sizes s;
  s.products = n_ * n_ / met;
  s.fibers = distinct(s.products, cells_in(c.result_dims(dims_, dims_)));
  s.coordinates = static_cast<double>(c.result.size());
  s.oracle = kGrouped * n_;
  s.collected = kCollected * s.fibers;
  return s;
}

/// Fibers along the mode, of one value or of a block.
Sizes Model::fibers_along_mode(double width) const {
  const auto others = without(dims_, p_.mode);
  const auto keys = sorting(std::cmp_equal(p_.mode + 1, dims_.size()), others);
  auto s = dense_rows(length(p_.mode) * width, distinct(n_, cells_in(others)), width);
  s.coordinates = order_ - 1;
  s.oracle += keys;
  s.retained = kept(n_ * kDouble) + kept(n_ * kPosition) + kept(keys) + kept_parts(s);
  return s;
}

/// A row for each index of the mode, from factors of so many columns.
Sizes Model::rows_of_mode(double columns, double width) const {
  auto s = dense_rows(sum(dims_) * columns, distinct(n_, length(p_.mode)), width);
  s.oracle += sorting(p_.mode == 0, {dims_[static_cast<std::size_t>(p_.mode)]});
  return s;
}

/// The oracles of all modes stand beside each other.
Sizes Model::rows_of_all_modes() const {
  const auto rank = static_cast<double>(p_.rank);
  auto s = dense_rows(sum(dims_) * rank, sum(dims_), rank);
  s.products *= order_;
  s.oracle = order_ * (n_ * (kDouble + kPosition) + kDouble * sum(dims_) * rank) +
             sorting(order_ == 1, {dims_.back()});
  return s;
}

Sizes Model::sizes_of_operation() const {
  const auto rank = static_cast<double>(p_.rank), rank2 = static_cast<double>(p_.rank2);
  switch (p_.operation) {
    case Operation::tew:
    case Operation::ts:
      return elementwise();
    case Operation::ttv:
      return fibers_along_mode(1);
    case Operation::ttm:
      return fibers_along_mode(rank);
    case Operation::mttkrp:
      return rows_of_mode(rank, rank);
    case Operation::mttkrp_all:
      return rows_of_all_modes();
    case Operation::ttm_chain:
      // R for the lowest of the multiplied modes, R2 for the rest.
      return rows_of_mode(std::max(rank, rank2), rank * std::pow(rank2, std::max(order_ - 2, 0.0)));
    case Operation::contraction:
      return contraction();
    case Operation::spmm:
      return dense_rows(length(1) * rank, distinct(n_, length(0)), rank);
    case Operation::cpd:
      break;
  }
  // The reference keeps the tensor; its factors and products are in fp64.
  Sizes s;
  s.operands = value_ * sum(dims_) * rank + copy();
  s.oracle = n_ * kDouble + 3 * kDouble * sum(dims_) * rank;
  return s;
}

Sizes Model::sizes() const {
  auto s = sizes_of_operation();
  // Values of another type or law are a tensor of their own.
  if (p_.values != ValueModel::stored || p_.dtype != DType::f32) s.operands += copy();
  return s;
}

}  // namespace

Count memory_estimate(const Case& c, const DatasetRegistry& datasets, const Method& method) {
  constexpr double kMost = 9e18;
  return static_cast<Count>(
      std::min(Model(c.problem, datasets.find(c.dataset)).peak(method), kMost));
}

}  // namespace retensor::driver
