// What an expected result consists of (private to reference/).
//
// Every result but a Kruskal model is a set of fibers: a coordinate over the sparse modes and a
// dense block of `width` elements (a row of a matrix, a block of a semi-sparse tensor, one entry of
// a Coo). Fibers are grouped into rows, the unit of sampling: a row of a matrix, a fiber, an entry,
// or, for a contraction, all entries that agree in the modes that come from the first operand.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/core/rng.hpp"
#include "common/generate/unset_array.hpp"
#include "common/reference/expected.hpp"
#include "common/tensor/linear_index.hpp"

namespace retensor::reference {

using Key = Uint128;

/// Arrays of hundreds of millions of elements are first touched by the loop that fills them: on one
/// core that takes longer than the sums.
using Keys = UnsetArray<Key>;
using Doubles = UnsetArray<double>;
using Positions = UnsetArray<Count>;

enum class Kind : std::uint32_t { none, matrix, coo, semi_sparse, kruskal };

/// Shape of a result and the constants of its bound.
struct Layout {
  Kind kind = Kind::none;
  Dims dims;                      ///< of the whole result
  std::vector<int> dense_modes;   ///< semi_sparse: as in SemiSparseCoo
  Dims sparse_dims;               ///< lengths of the modes that form a fiber's coordinate
  std::vector<int> row_modes;     ///< positions in sparse_dims that name a row
  std::vector<int> column_modes;  ///< the other positions
  Dims block_dims;      ///< of a fiber's block, the last varying fastest; none: one element
  double slack = 0;     ///< roundings of a term beside its place in the sum
  double cofactor = 0;  ///< largest product of all operands of a term but one
  std::uint64_t width() const { return checked_volume(block_dims); }
};

/// Fibers in ascending order of their keys; terms[f] products contribute to each element.
struct Fibers {
  Keys keys;
  Positions terms;
  Doubles values;  ///< width elements a fiber
  Doubles l1;      ///< sums of the absolute values of the terms

  Count count() const { return keys.size(); }
};

/// A weighted sum of entries with what its bound needs. One entry is a sum with weight 1.
struct WeightedSum {
  double value = 0;
  double l1 = 0;        ///< sum of |weight| * L1
  double l1_terms = 0;  ///< sum of |weight| * L1 * terms
  double terms = 0;
  void add(const WeightedSum& other, double weight);
};

using Buckets = std::vector<WeightedSum>;

/// The part of a result that stands for the whole beyond the limits.
struct Sample {
  std::vector<Key> rows;    ///< ascending
  Count column_stride = 1;  ///< of a sampled row, the columns whose hash it divides are held
  std::uint64_t seed = 1;
  Buckets buckets;  ///< over all rows, by the hash of the row
};

/// The reference run of CP-ALS.
struct CpdReference {
  Coo x;
  std::uint64_t rank = 0;
  double tolerance = 0;
  Count max_sweeps = 0;
  std::vector<double> fit;
};

struct Expected::Data {
  Layout layout;
  Fibers fibers;
  double index_space = 0;  ///< entries of the full result; of the sampled share when sampled
  bool sampled = false;
  Sample sample;
  CpdReference cpd;
};

/// Packs coordinates over `dims`, restricted to the listed modes, into keys whose numeric order is
/// the lexicographic order of the listed modes.
class Packer : public LinearIndex {
 public:
  using LinearIndex::LinearIndex;

  /// Key of position p of the index arrays, one for each mode of `dims`.
  Key pack(const std::vector<std::vector<Index>>& indices, Count p) const {
    Key key = 0;
    for (std::size_t k = 0; k < modes().size(); ++k)
      key |= Key{indices[modes()[k]][p]} << shift(static_cast<int>(k));
    return key;
  }
  /// Key of a coordinate, one index for each mode of `dims`.
  Key pack(std::span<const Index> coordinate) const { return encode<Key>(coordinate); }
  /// Writes the indices of the listed modes into `coordinate`.
  void unpack(Key key, std::span<Index> coordinate) const {
    for (std::size_t k = 0; k < modes().size(); ++k)
      coordinate[modes()[k]] = decode(key, static_cast<int>(k));
  }
};

/// Splits the key of a fiber into the keys of its row and its column.
class RowColumn {
 public:
  explicit RowColumn(const Layout& layout);
  Key row(Key fiber) const { return column_.modes().empty() ? fiber : part(fiber, row_); }
  Key column(Key fiber) const { return column_.modes().empty() ? 0 : part(fiber, column_); }

 private:
  Key part(Key fiber, const Packer& packer) const {
    std::array<Index, kMaxOrder> coordinate{};
    full_.unpack(fiber, coordinate);
    return packer.pack(coordinate);
  }
  Packer full_, row_, column_;
};

/// The random vectors of the checksum: one weight a row, one a column, one an element of a block,
/// with random sign and magnitude in [1/2, 1), and the bucket of each row.
class Weights {
 public:
  explicit Weights(std::uint64_t seed) : rows_(seed, 101), columns_(seed, 102), block_(seed, 103) {}
  double row(Key key) const { return weight(rows_.bits(fold(key))); }
  double column(Key key) const { return weight(columns_.bits(fold(key))); }
  /// Index i of dense mode m; the weight of an element is the product over the dense modes.
  double digit(std::size_t m, std::uint64_t i) const { return weight(block_.bits((m << 40) + i)); }
  /// Weights of all elements of a block.
  std::vector<double> elements(const Dims& block_dims) const;
  std::size_t bucket(Key row) const {
    return static_cast<std::size_t>(rows_.bits(~fold(row)) % kBuckets);
  }
  /// Whether a column of a sampled row belongs to the sample.
  bool held(Key column, Count stride) const {
    return stride == 1 || columns_.bits(~fold(column)) % stride == 0;
  }

  static constexpr std::size_t kBuckets = 1 << 14;

 private:
  static double weight(std::uint64_t bits) {
    const double magnitude = 0.5 + static_cast<double>(bits >> 12) * 0x1p-53;
    return (bits & 1) != 0 ? magnitude : -magnitude;
  }
  std::uint64_t fold(Key key) const {
    const auto low = static_cast<std::uint64_t>(key), high = static_cast<std::uint64_t>(key >> 64);
    return high == 0 ? low : low ^ rows_.bits(high);
  }
  CounterRng rows_, columns_, block_;
};

/// The sums of all parts by bucket; the parts have Weights::kBuckets each.
Buckets sum_of(const std::vector<Buckets>& parts);

/// Values and matrices in fp64, without padding.
Doubles as_doubles(const Values& values);
Doubles as_doubles(const Matrix& matrix);
double largest_magnitude(std::span<const double> values);

/// The bound of expected.hpp, with the oracle's own rounding added; linear in the sums.
class Bound {
 public:
  Bound(const Precision& precision, const Layout& layout);
  double operator()(const WeightedSum& sum) const {
    return relative_ * sum.l1 + per_term_ * sum.l1_terms + floor_ * sum.terms;
  }

 private:
  double relative_, per_term_, floor_;
};

/// Verdict on a CP model (cpd.cpp).
CheckReport check_model(const CpdReference& reference, const KruskalModel& model,
                        const Precision& precision);

}  // namespace retensor::reference
