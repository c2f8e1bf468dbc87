// Oracle of the sparse tensor contraction (BCB-SpTC section II): row by row as Gustavson's
// algorithm multiplies sparse matrices.
//
// A row of the result collects the nonzeros of x that agree in x's free modes. Each meets the group
// of y's nonzeros that agree with it in the contracted modes; an array over the distinct columns of
// y sums the products. The pattern is structural: an entry whose terms cancel stays.
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/reference/row_source.hpp"
#include "common/tensor/einsum.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::reference {
namespace {

constexpr Count kNoGroup = ~Count{0};
constexpr Count kParallel = 100'000;  // searches that pay for threads

// The place of a key among ascending ones, that of the next where it is missing.
Count rank(const std::vector<Key>& keys, Key key) {
  return static_cast<Count>(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin());
}

// The operands' modes in the order in which the result lists them.
struct Modes {
  std::vector<int> x_row, y_column, result_row, result_column;

  explicit Modes(const Contraction& c) {
    for (std::size_t k = 0; k < c.result.size(); ++k) {
      (c.result[k].from_x ? x_row : y_column).push_back(c.result[k].mode);
      (c.result[k].from_x ? result_row : result_column).push_back(static_cast<int>(k));
    }
  }
};

// y sorted by its contracted modes; column ids are ranks among the distinct column keys.
struct GroupedOperand {
  std::vector<Key> group_keys;
  std::vector<Count> group_starts;
  std::vector<Key> column_keys;
  std::vector<Count> columns;  ///< id of each nonzero's column
  std::vector<double> values;
  Count multiplicity = 1;  ///< nonzeros of one group that share a column, at most
  std::vector<double> weighted, weighted_absolute;  ///< sums over a group

  Count group_size(Count g) const { return group_starts[g + 1] - group_starts[g]; }
};

GroupedOperand group_operand(const Coo& y, const std::vector<int>& contracted,
                             const std::vector<int>& column_modes, const Weights& weights) {
  const Packer group(y.dims, contracted), column(y.dims, column_modes);
  std::vector<int> modes = contracted;
  modes.insert(modes.end(), column_modes.begin(), column_modes.end());
  const auto order = sort_permutation(y, modes);
  GroupedOperand g;
  for (const Count p : order) {
    const Key key = group.pack(y.indices, p);
    if (g.group_keys.empty() || g.group_keys.back() != key) {
      g.group_keys.push_back(key);
      g.group_starts.push_back(g.values.size());
    }
    g.column_keys.push_back(column.pack(y.indices, p));
    g.values.push_back(y.values.at(p));
  }
  g.group_starts.push_back(order.size());

  const std::vector<Key> key_of = g.column_keys;
  std::sort(g.column_keys.begin(), g.column_keys.end());
  g.column_keys.erase(std::unique(g.column_keys.begin(), g.column_keys.end()), g.column_keys.end());
  g.columns.resize(key_of.size());
#pragma omp parallel for schedule(static) if (key_of.size() >= kParallel)
  for (Count i = 0; i < key_of.size(); ++i) g.columns[i] = rank(g.column_keys, key_of[i]);

  for (Count k = 0; k < g.group_keys.size(); ++k) {
    double sum = 0, absolute = 0;
    Count run = 0;
    for (Count i = g.group_starts[k]; i < g.group_starts[k + 1]; ++i) {
      const double weight = column_modes.empty() ? 1.0 : weights.column(key_of[i]);
      const double term = weight * g.values[i];
      sum += term;
      absolute += std::abs(term);
      run = i > g.group_starts[k] && g.columns[i] == g.columns[i - 1] ? run + 1 : 1;
      g.multiplicity = std::max(g.multiplicity, run);
    }
    g.weighted.push_back(sum);
    g.weighted_absolute.push_back(absolute);
  }
  return g;
}

// Sums over the columns of one row; zero between rows.
struct Accumulator {
  std::vector<double> value, l1;
  std::vector<Count> terms, touched;

  void resize(std::size_t columns) {
    value.resize(columns, 0.0);
    l1.resize(columns, 0.0);
    terms.resize(columns, 0);
  }
  void add(Count column, double product) {
    if (terms[column]++ == 0) touched.push_back(column);
    value[column] += product;
    l1[column] += std::abs(product);
  }
  void clear() {
    for (const Count c : touched) {
      value[c] = l1[c] = 0;
      terms[c] = 0;
    }
    touched.clear();
  }
};

class ContractionRows : public RowSource {
 public:
  ContractionRows(const Coo& x, const Coo& y, const Contraction& c, double alpha,
                  std::uint64_t seed)
      : ContractionRows(x, y, c, Modes(c), alpha, seed) {}

  const Layout& layout() const override { return layout_; }
  Count rows() const override { return rows_.size(); }
  Key key(Count row) const override { return row_.pack(x_.indices, order_[rows_[row].begin]); }
  double products(Count row) const override { return rows_[row].products; }
  double entries(Count row) const override {
    return std::min(rows_[row].products, static_cast<double>(y_.column_keys.size()));
  }
  int threads() const override {
    constexpr Count budget = Count{4} << 30;
    const Count each = 32 * std::max<Count>(1, y_.column_keys.size());
    return static_cast<int>(std::clamp<Count>(budget / each, 1, omp_get_max_threads()));
  }

  void evaluate(Count row, const Weights& weights, Count stride, Fibers& out) const override {
    Accumulator& sums = accumulators_[omp_get_thread_num()];
    sums.resize(y_.column_keys.size());
    for (Count i = rows_[row].begin; i < rows_[row].end; ++i) {
      if (group_[i] == kNoGroup) continue;
      const double x = values_[order_[i]];
      for (Count j = y_.group_starts[group_[i]]; j < y_.group_starts[group_[i] + 1]; ++j)
        if (weights.held(y_.column_keys[y_.columns[j]], stride))
          sums.add(y_.columns[j], x * y_.values[j]);
    }
    std::sort(sums.touched.begin(), sums.touched.end());
    std::array<Index, kMaxOrder> coordinate{};
    result_row_.unpack(key(row), coordinate);
    for (const Count column : sums.touched) {
      result_column_.unpack(y_.column_keys[column], coordinate);
      out.keys.push_back(result_.pack(coordinate));
      out.terms.push_back(sums.terms[column]);
      out.values.push_back(sums.value[column]);
      out.l1.push_back(sums.l1[column]);
    }
    sums.clear();
  }

  WeightedSum checksum(Count row) const override {
    WeightedSum sum;
    double matched = 0;
    for (Count i = rows_[row].begin; i < rows_[row].end; ++i) {
      if (group_[i] == kNoGroup) continue;
      const double x = values_[order_[i]];
      sum.value += x * y_.weighted[group_[i]];
      sum.l1 += std::abs(x) * y_.weighted_absolute[group_[i]];
      ++matched;
    }
    sum.l1_terms = sum.l1 * matched * static_cast<double>(y_.multiplicity);
    sum.terms = rows_[row].products;
    return sum;
  }

 private:
  struct Row {
    Count begin, end;
    double products;
  };

  ContractionRows(const Coo& x, const Coo& y, const Contraction& c, const Modes& modes,
                  double alpha, std::uint64_t seed)
      : x_(x),
        layout_(make_layout(c.result_dims(x.dims, y.dims), modes)),
        row_(x.dims, modes.x_row),
        result_(layout_.dims, natural_order(static_cast<int>(layout_.dims.size()))),
        result_row_(layout_.dims, modes.result_row),
        result_column_(layout_.dims, modes.result_column),
        y_(group_operand(y, c.contracted_y, modes.y_column, Weights(seed))),
        values_(as_doubles(x.values)),
        order_(sort_permutation(x, modes.x_row)),
        accumulators_(omp_get_max_threads()) {
    for (double& v : values_) v *= alpha;
    layout_.cofactor =
        std::max(largest_magnitude(values_), std::abs(alpha) * largest_magnitude(y_.values));
    match_groups(Packer(x.dims, c.contracted_x));
    find_rows();
  }

  static Layout make_layout(Dims dims, const Modes& modes) {
    Layout layout;
    layout.kind = Kind::coo;
    layout.dims = layout.sparse_dims = std::move(dims);
    layout.row_modes = modes.result_row;
    layout.column_modes = modes.result_column;
    layout.slack = 5;  // alpha and two operands, and 2
    return layout;
  }

  void match_groups(const Packer& contracted) {
    group_.resize(order_.size());
#pragma omp parallel for schedule(static) if (group_.size() >= kParallel)
    for (Count i = 0; i < group_.size(); ++i) {
      const Key key = contracted.pack(x_.indices, order_[i]);
      const Count at = rank(y_.group_keys, key);
      group_[i] = at < y_.group_keys.size() && y_.group_keys[at] == key ? at : kNoGroup;
    }
  }

  // Rows without a product have no structural entry and are left out.
  void find_rows() {
    for (Count begin = 0, end = 0; begin < order_.size(); begin = end) {
      const Key key = row_.pack(x_.indices, order_[begin]);
      double products = 0;
      for (; end < order_.size() && row_.pack(x_.indices, order_[end]) == key; ++end)
        if (group_[end] != kNoGroup) products += static_cast<double>(y_.group_size(group_[end]));
      if (products > 0) rows_.push_back({begin, end, products});
    }
  }

  const Coo& x_;
  Layout layout_;
  Packer row_, result_, result_row_, result_column_;
  GroupedOperand y_;
  Doubles values_;
  std::vector<Count> order_;  ///< nonzeros of x by row
  Positions group_;           ///< of y that each meets
  std::vector<Row> rows_;
  mutable std::vector<Accumulator> accumulators_;  ///< one a thread
};

}  // namespace

Expected contraction(const Coo& x, const Coo& y, const std::string& einsum, double alpha,
                     const Limits& limits) {
  x.check();
  y.check();
  const Contraction modes(einsum, x.dims, y.dims);
  return build(ContractionRows(x, y, modes, alpha, limits.seed), limits);
}

}  // namespace retensor::reference
