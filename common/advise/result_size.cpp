#include "common/advise/result_size.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "common/core/rng.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::advise {
namespace {

/// Nonzeros in the order of some of their modes.
class Ordered {
 public:
  Ordered(const Coo& tensor, const std::vector<int>& modes)
      : tensor_(tensor), modes_(modes), order_(sort_permutation(tensor, modes)) {}

  Index index(std::size_t k, Count nonzero) const {
    return tensor_.indices[static_cast<std::size_t>(modes_[k])][nonzero];
  }
  Count at(Count place) const { return order_[place]; }

  /// Those whose indices equal index_of(k), k a number of the modes.
  template <class IndexOf>
  std::span<const Count> equal_to(const IndexOf& index_of) const {
    const auto before = [&](Count nonzero, bool or_equal) {
      for (std::size_t k = 0; k < modes_.size(); ++k)
        if (const auto have = index(k, nonzero), want = index_of(k); have != want)
          return have < want;
      return or_equal;
    };
    const auto bound = [&](bool or_equal) {
      return std::partition_point(order_.begin(), order_.end(),
                                  [&](Count nonzero) { return before(nonzero, or_equal); });
    };
    return {bound(false), bound(true)};
  }

 private:
  const Coo& tensor_;
  const std::vector<int>& modes_;
  const std::vector<Count> order_;
};

/// What different free indices of y become: equal ones the same number, others another one but for
/// one in 2^64.
std::uint64_t number_of(const Coo& y, const std::vector<int>& free, Count nonzero) {
  std::uint64_t number = 0;
  for (const int m : free)
    number = CounterRng(number).bits(y.indices[static_cast<std::size_t>(m)][nonzero]);
  return number;
}

/// Rows of the result.
class Rows {
 public:
  Rows(const Coo& x, const Coo& y, const Contraction& contraction)
      : x_(x),
        y_(y),
        contraction_(contraction),
        by_row_(x, contraction.free_x),
        by_contracted_(y, contraction.contracted_y) {}

  /// Nonzeros of x in the row of the one at `place`.
  std::span<const Count> row_of(Count place) const {
    const Count nonzero = by_row_.at(place);
    return by_row_.equal_to([&](std::size_t k) { return by_row_.index(k, nonzero); });
  }

  /// Nonzeros of the result's row; adds its pairs to `pairs`. Of a row with more than kMostPairs
  /// the first ones, whose result is taken to grow no further.
  double entries(std::span<const Count> row, Count& pairs) {
    found_.clear();
    for (const Count nonzero : row) {
      const auto partners = by_contracted_.equal_to([&](std::size_t k) {
        return x_.indices[static_cast<std::size_t>(contraction_.contracted_x[k])][nonzero];
      });
      for (const Count partner : partners)
        found_.push_back(number_of(y_, contraction_.free_y, partner));
      if (found_.size() > kMostPairs) break;
    }
    pairs += found_.size() + row.size();
    std::sort(found_.begin(), found_.end());
    return static_cast<double>(std::unique(found_.begin(), found_.end()) - found_.begin());
  }

 private:
  const Coo& x_;
  const Coo& y_;
  const Contraction& contraction_;
  const Ordered by_row_, by_contracted_;
  std::vector<std::uint64_t> found_;
};

}  // namespace

double result_entries(const Coo& x, const Coo& y, const Contraction& contraction) {
  const Count nnz = x.nnz();
  if (nnz == 0 || y.nnz() == 0) return 0;
  Rows rows(x, y, contraction);
  Count pairs = 0;
  double all = 0;
  Count place = 0;
  for (; place < nnz && pairs <= kMostPairs;) {
    const auto row = rows.row_of(place);
    all += rows.entries(row, pairs);
    place += row.size();
  }
  if (place == nnz) return all;
  const CounterRng rng(1);
  double shares = 0;
  std::uint64_t drawn = 0;
  for (pairs = 0; pairs <= kMostPairs; ++drawn) {
    const auto row = rows.row_of(rng.below(drawn, nnz));
    shares += rows.entries(row, pairs) / static_cast<double>(row.size());
  }
  return static_cast<double>(nnz) * shares / static_cast<double>(drawn);
}

}  // namespace retensor::advise
