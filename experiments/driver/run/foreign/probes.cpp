// Small problems with one trait each that codes get wrong: what is right on the tensor of a case
// may be wrong on the next one.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "common/core/rng.hpp"
#include "common/tensor/operations.hpp"
#include "experiments/driver/run/foreign/measure.hpp"

namespace retensor::driver {

namespace {

struct Probe {
  const char* name;
  std::function<Coo(int order, DType type)> tensor;
};

/// Mode lengths from a first one upwards, all different.
Dims lengths(int order, std::uint64_t first) {
  Dims dims;
  for (int m = 0; m < order; ++m) dims.push_back(first + 2 * static_cast<std::uint64_t>(m));
  return dims;
}

/// Nonzeros in no order, without duplicates: the index of the first mode is that of the nonzero.
Coo scattered(const Dims& dims, DType type, Count nnz, std::uint64_t seed) {
  Coo tensor(dims, type, nnz);
  const CounterRng rng(seed);
  for (std::size_t m = 0; m < dims.size(); ++m)
    for (Count x = 0; x < nnz; ++x)
      tensor.indices[m][x] = static_cast<Index>(m == 0 ? (x * 7 + 3) % dims[0]
                                                       : rng.below(x * dims.size() + m, dims[m]));
  for (Count x = 0; x < nnz; ++x) tensor.values.set(x, 0.5 + rng.uniform(nnz + x));
  return tensor;
}

Coo other_shape(int order, DType type) {
  return scattered(lengths(order, 23), type, 20, 1);
}

/// Slices without a nonzero in every mode, the first and the last among them.
Coo empty_slices(int order, DType type) {
  auto tensor = scattered(lengths(order, 11), type, 3, 2);
  for (auto& index : tensor.indices) index = {4, 6, 8};
  return tensor;
}

Coo last_corner(int order, DType type) {
  auto tensor = scattered(lengths(order, 9), type, 1, 3);
  for (std::size_t m = 0; m < tensor.dims.size(); ++m)
    tensor.indices[m][0] = static_cast<Index>(tensor.dims[m] - 1);
  return tensor;
}

/// Values so small that a threshold drops them, and in other slices ordinary ones.
Coo small_values(int order, DType type) {
  auto tensor = scattered(lengths(order, 13), type, 12, 4);
  for (Count x = 0; x < tensor.nnz(); x += 2) tensor.values.set(x, 1e-9 * tensor.values.at(x));
  return tensor;
}

/// Linear indices of two modes pass 2^31 and 2^32.
Coo long_modes(int order, DType type) {
  Dims dims(static_cast<std::size_t>(order), 5);
  for (std::size_t m = 0; m < std::min<std::size_t>(2, dims.size()); ++m) dims[m] = 70001 + 2 * m;
  auto tensor = scattered(dims, type, 40, 5);
  for (Count x = 0; x < tensor.nnz(); ++x)
    tensor.indices[0][x] = static_cast<Index>(dims[0] - 1 - 1700 * x);
  return tensor;
}

const std::vector<Probe>& probes() {
  static const std::vector<Probe> all = {{"another shape, nonzeros in no order", other_shape},
                                         {"empty slices in every mode", empty_slices},
                                         {"one nonzero at the last index", last_corner},
                                         {"values of 1e-9 beside those of 1", small_values},
                                         {"two modes of 70,000, more than 2^32 cells", long_modes}};
  return all;
}

/// Of a contraction: modes that both tensors share are as long as those of the first.
std::shared_ptr<const Coo> second_tensor(const ProblemSpec& problem, const Coo& first) {
  if (problem.operation != Operation::contraction) return nullptr;
  const auto comma = problem.variant.find(','), arrow = problem.variant.find("->");
  Dims dims;
  for (std::size_t at = comma + 1; at < arrow; ++at) {
    const auto mode = problem.variant.find(problem.variant[at]);
    dims.push_back(mode < comma ? first.dims[mode] : 5 + 2 * at);
  }
  auto second = std::make_shared<Coo>(scattered(dims, first.dtype(), 20, 6));
  dedupe(*second, Duplicates::sum);
  return second;
}

/// A problem like that of the case on another tensor, the mode a different one each time.
Case probe_case(Case c, int order, std::size_t k) {
  if (c.has_mode) c.problem.mode = static_cast<int>((k + 1) % static_cast<std::size_t>(order));
  constexpr std::uint64_t kMostColumns = 8;
  c.problem.rank = std::min(c.problem.rank, kMostColumns);
  c.problem.rank2 = std::min(c.problem.rank2, kMostColumns);
  c.problem.values = ValueModel::stored;
  return c;
}

}  // namespace

Probed probe_foreign(const Case& given, int order, const Method& method, Deadline deadline) {
  Probed probed;
  const TimingOptions twice{.warmup = 0, .samples = 1};
  for (std::size_t k = 0; k < probes().size(); ++k) {
    const auto c = probe_case(given, order, k);
    const auto tensor = std::make_shared<const Coo>(probes()[k].tensor(order, given.problem.dtype));
    const auto problem =
        std::make_shared<const Problem>(c.problem, tensor, second_tensor(c.problem, *tensor));
    const auto m = measure_foreign(c, problem, method, twice, deadline).measurement;
    if (m.status == name(Status::ok)) continue;
    auto& list = m.status == name(Status::unsupported) ? probed.declined : probed.failed;
    list.push_back(
        fmt::format("on a probe ({}) it is {}: {}", probes()[k].name, m.status, m.reason));
  }
  if (probed.declined.size() == probes().size())
    probed.failed.push_back(fmt::format("it declines each of {} probes", probes().size()));
  return probed;
}

}  // namespace retensor::driver
