// Lower bounds of a case's memory from the registry's facts alone.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {
namespace {

/// Elements of dense operands and of the result, and products that the oracle forms.
struct Sizes {
  double operands = 0;
  double result = 0;
  double result_coordinates = 0;
  double products = 0;
};

double sum(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), 0.0,
                         [](double s, std::uint64_t d) { return s + static_cast<double>(d); });
}

Sizes sizes_of(const ProblemSpec& p, const Dims& dims, double nnz) {
  const auto order = static_cast<double>(dims.size());
  const auto rank = static_cast<double>(p.rank), rank2 = static_cast<double>(p.rank2);
  const auto length = static_cast<double>(dims.at(static_cast<std::size_t>(p.mode)));
  const double fibers = std::ceil(nnz / length);
  switch (p.operation) {
    case Operation::tew:
    case Operation::ts:
      return {0, nnz, nnz * order, nnz};
    case Operation::ttv:
      return {length, fibers, fibers * (order - 1), nnz};
    case Operation::ttm:
      return {length * rank, fibers * rank, fibers * (order - 1), nnz * rank};
    case Operation::mttkrp:
      return {sum(dims) * rank, length * rank, 0, nnz * rank};
    case Operation::mttkrp_all:
      return {sum(dims) * rank, sum(dims) * rank, 0, order * nnz * rank};
    case Operation::ttm_chain: {
      // R for the lowest of the multiplied modes, R2 for the rest.
      const double columns = rank * std::pow(rank2, std::max(order - 2, 0.0));
      return {(sum(dims) - length) * std::min(rank, rank2), length * columns, 0, nnz * columns};
    }
    case Operation::contraction:
      return {0, 0, 0, nnz};
    case Operation::spmm:
      return {static_cast<double>(dims.at(1)) * rank, static_cast<double>(dims.at(0)) * rank, 0,
              nnz * rank};
    case Operation::cpd:
      return {sum(dims) * rank, sum(dims) * rank, 0, 0};
  }
  return {};
}

}  // namespace

Count memory_estimate(const Case& c, const DatasetRegistry& datasets) {
  const auto& dataset = datasets.find(c.dataset);
  const auto nnz = static_cast<double>(dataset.nnz);
  const auto sizes = sizes_of(c.problem, dataset.dims, nnz);
  const auto value_bytes = static_cast<double>(size_of(c.problem.dtype));
  const double tensor = nnz * (4.0 * static_cast<double>(dataset.dims.size()) + value_bytes);
  const double tensors = c.problem.operation == Operation::tew ? 2 : 1;
  // The oracle holds an answer and its L1 norm in double precision per entry, or samples beyond
  // this.
  constexpr double kSampledFrom = 5e8;
  const double oracle = sizes.products <= kSampledFrom ? 16 * sizes.result : 0;
  const double bytes = tensors * tensor + value_bytes * (sizes.operands + sizes.result) +
                       4 * sizes.result_coordinates + oracle;
  constexpr double kMost = 9e18;
  return static_cast<Count>(std::min(bytes, kMost));
}

}  // namespace retensor::driver
