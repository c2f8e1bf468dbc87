// Mode lengths straddle 16 and 32 (warps, tiles, bit fields) without being multiples of them.
#include "tests/contract/scenarios.hpp"

#include <cmath>
#include <numeric>

#include "common/core/rng.hpp"
#include "common/generate/values.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::contract {
namespace {

using Coordinate = std::vector<Index>;

Dims lengths(int order) {
  static const std::vector<Dims> kLengths = {{301},
                                             {70, 37},
                                             {37, 20, 33},
                                             {19, 12, 17, 9},
                                             {9, 17, 10, 6, 5},
                                             {6, 17, 5, 9, 3, 7},
                                             {5, 3, 17, 4, 9, 6, 2},
                                             {3, 6, 2, 17, 4, 5, 9, 7}};
  return kLengths.at(static_cast<std::size_t>(order - 1));
}

void append(Coo& tensor, const Coordinate& at) {
  for (std::size_t m = 0; m < at.size(); ++m) tensor.indices[m].push_back(at[m]);
}

/// Draws the values once all coordinates stand.
Scenario finished(std::string name, Coo tensor) {
  const Count n = tensor.indices.front().size();
  tensor.values = draw_values(ValueModel::signed_uniform, DType::f64, n, 5, 1);
  return {std::move(name), std::make_shared<const Coo>(std::move(tensor))};
}

/// Merges equal coordinates and leaves the nonzeros sorted.
Scenario merged(std::string name, Coo tensor) {
  tensor.values = Values(DType::f64, tensor.indices.front().size());
  dedupe(tensor, Duplicates::last);
  return finished(std::move(name), std::move(tensor));
}

/// Coordinates I u^power with u uniform: power 1 is uniform, 6 puts most into the first slices.
Coo drawn(const Dims& dims, Count n, double power, std::uint64_t seed) {
  Coo tensor(dims, DType::f64);
  const CounterRng rng(seed);
  Coordinate at(dims.size());
  for (Count x = 0; x < n; ++x) {
    for (std::size_t m = 0; m < dims.size(); ++m) {
      const double u = std::pow(rng.uniform(x * dims.size() + m), power);
      at[m] = static_cast<Index>(u * static_cast<double>(dims[m]));
    }
    append(tensor, at);
  }
  return tensor;
}

Coordinate middle(const Dims& dims) {
  Coordinate at;
  for (const auto d : dims) at.push_back(static_cast<Index>(d / 2));
  return at;
}

Scenario one_nonzero(const Dims& dims) {
  Coo tensor(dims, DType::f64);
  append(tensor, middle(dims));
  return finished("one nonzero", std::move(tensor));
}

Scenario last_index(const Dims& dims) {
  Coo tensor(dims, DType::f64);
  Coordinate last;
  for (const auto d : dims) last.push_back(static_cast<Index>(d - 1));
  append(tensor, Coordinate(dims.size(), 0));
  append(tensor, last);
  last.front() = 0;
  append(tensor, last);
  return merged("last index", std::move(tensor));
}

/// One full fiber of every mode through the same point, and a few nonzeros elsewhere.
Scenario dense_fibers(const Dims& dims) {
  Coo tensor = drawn(dims, 20, 1, 2);
  for (std::size_t m = 0; m < dims.size(); ++m) {
    Coordinate at = middle(dims);
    for (at[m] = 0; at[m] < dims[m]; ++at[m]) append(tensor, at);
  }
  return merged("dense fibers", std::move(tensor));
}

/// Every other mode has one index, the first among them: fields without bits, rows of one slice.
Scenario single_indices(Dims dims) {
  for (std::size_t m = 0; m < dims.size(); m += 2) dims[m] = 1;
  return merged("modes of one index", drawn(dims, 40, 1, 9));
}

Scenario unsorted(const Dims& dims) {
  Coo tensor = *merged("", drawn(dims, 400, 1, 3)).x;
  std::vector<Count> order(tensor.nnz());
  std::iota(order.begin(), order.end(), Count{0});
  const CounterRng rng(4);
  for (Count left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[rng.below(left, left)]);
  apply_permutation(tensor, order);
  return finished("unsorted", std::move(tensor));
}

/// Every coordinate twice and the first one four times, copies far apart.
Scenario duplicates(const Dims& dims) {
  Coo tensor = *merged("", drawn(dims, 100, 1, 6)).x;
  for (auto& indices : tensor.indices) {
    const auto once = indices;
    indices.insert(indices.end(), once.begin(), once.end());
    indices.insert(indices.end(), 2, once.front());
  }
  Scenario s = finished("duplicates", std::move(tensor));
  s.duplicates = true;
  return s;
}

/// Operands that differ in pattern and mode lengths: y is longer in even modes, x in odd ones; y
/// covers x or shares about half of its nonzeros.
Scenario other_shape(const Dims& dims, bool covers) {
  Coo x = *merged("", drawn(dims, 100, 1, 7)).x;
  Dims longer = dims;
  for (std::size_t m = 0; m < dims.size(); ++m) (m % 2 == 0 ? longer : x.dims)[m] += 13;
  Coo y = drawn(longer, 60, 1, 8);
  for (Count p = 0; p < x.nnz(); p += covers ? 1 : 2)
    for (std::size_t m = 0; m < dims.size(); ++m) y.indices[m].push_back(x.indices[m][p]);
  Scenario s = finished(covers ? "y covers x" : "y overlaps x", std::move(x));
  s.y = merged("", std::move(y)).x;
  s.covers = covers;
  return s;
}

}  // namespace

std::vector<Scenario> scenarios(int order) {
  const Dims dims = lengths(order);
  return {finished("empty", Coo(dims, DType::f64)),
          one_nonzero(dims),
          last_index(dims),
          dense_fibers(dims),
          single_indices(dims),
          merged("skew", drawn(dims, 600, 6, 1)),
          unsorted(dims),
          duplicates(dims),
          other_shape(dims, true),
          other_shape(dims, false)};
}

std::shared_ptr<const Coo> unsorted_tensor(int order, DType dtype) {
  for (const auto& scenario : scenarios(order)) {
    if (scenario.name != "unsorted") continue;
    Coo x = *scenario.x;
    x.values = x.values.cast(dtype);
    return std::make_shared<const Coo>(std::move(x));
  }
  return nullptr;
}

}  // namespace retensor::contract
