#include "common/advise/contraction_facts.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "common/core/rng.hpp"
#include "common/tensor/keys.hpp"
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

/// Coordinates over the modes, in units of 2^shift, of x and then of y: the number of each among
/// those that occur, in order.
std::vector<Count> numbers_of(const Coo& x, const std::vector<int>& in_x, const Coo& y,
                              const std::vector<int>& in_y, int shift) {
  Dims dims;
  for (const int m : in_x.empty() ? in_y : in_x)
    dims.push_back((in_x.empty() ? y : x).dims[static_cast<std::size_t>(m)]);
  const Count of_x = in_x.empty() ? 0 : x.nnz(), of_y = in_y.empty() ? 0 : y.nnz();
  Coo both(dims, DType::f32, of_x + of_y);
  std::vector<int> modes;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    modes.push_back(static_cast<int>(k));
    const auto take = [&](const Coo& from, const std::vector<int>& in, Count n, Count to) {
      for (Count p = 0; p < n; ++p)
        both.indices[k][to + p] = from.indices[static_cast<std::size_t>(in[k])][p] >> shift;
    };
    take(x, in_x, of_x, 0);
    take(y, in_y, of_y, of_x);
  }
  const auto order = sort_permutation(both, modes);
  std::vector<Count> numbers(order.size());
  for (Count place = 1; place < order.size(); ++place) {
    const bool differs = std::any_of(both.indices.begin(), both.indices.end(), [&](const auto& of) {
      return of[order[place]] != of[order[place - 1]];
    });
    numbers[order[place]] = numbers[order[place - 1]] + (differs ? 1 : 0);
  }
  return numbers;
}

/// Different (contracted, free) numbers divided by 2^shift, ascending.
std::vector<Uint128> tiles_of(std::span<const Count> contracted, const std::vector<Count>& free,
                              int shift) {
  std::vector<Uint128> tiles(contracted.size());
  for (Count p = 0; p < tiles.size(); ++p)
    tiles[p] = Uint128{contracted[p] >> shift} << 64 | (free.empty() ? 0 : free[p] >> shift);
  sort_keys(tiles);
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  return tiles;
}

double pairs_of(const std::vector<Uint128>& x, const std::vector<Uint128>& y) {
  double pairs = 0;
  const auto run = [](const std::vector<Uint128>& tiles, std::size_t at, Uint128 row) {
    std::size_t end = at;
    while (end < tiles.size() && tiles[end] >> 64 == row) ++end;
    return end;
  };
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    const auto row = std::max(x[i] >> 64, y[j] >> 64);
    if (x[i] >> 64 < row) {
      ++i;
    } else if (y[j] >> 64 < row) {
      ++j;
    } else {
      const auto x_end = run(x, i, row), y_end = run(y, j, row);
      pairs += static_cast<double>(x_end - i) * static_cast<double>(y_end - j);
      i = x_end, j = y_end;
    }
  }
  return pairs;
}

/// Of tiles of coordinates in units of 2^before, whose numbers are divided by 2^after.
double pairs_of_tiles(const Coo& x, const Coo& y, const Contraction& c, int before, int after) {
  const auto contracted = numbers_of(x, c.contracted_x, y, c.contracted_y, before);
  const std::span<const Count> all(contracted);
  return pairs_of(tiles_of(all.first(x.nnz()), numbers_of(x, c.free_x, y, {}, before), after),
                  tiles_of(all.subspan(x.nnz()), numbers_of(x, {}, y, c.free_y, before), after));
}

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

TilePairs tile_pairs(const Coo& x, const Coo& y, const Contraction& contraction) {
  constexpr int kEdge = 3;  // 8 = 2^3
  return {pairs_of_tiles(x, y, contraction, kEdge, 0), pairs_of_tiles(x, y, contraction, 0, kEdge)};
}

}  // namespace retensor::advise
