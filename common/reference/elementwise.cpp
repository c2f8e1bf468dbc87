// Oracles of tew and ts (PASTA sections II.A and II.B).
//
// tew pairs two sorted patterns: add and sub over their union, mul over their intersection, div
// over the pattern of the numerator; the result has the longer of the two lengths in every mode. ts
// applies the scalar to the nonzeros alone.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "common/core/message.hpp"
#include "common/reference/row_source.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::reference {
namespace {

constexpr Count kAbsent = std::numeric_limits<Count>::max();

struct Variant {
  std::string_view name;
  double (*apply)(double, double);
  bool is_sum = false, is_quotient = false;
};

constexpr Variant kVariants[] = {
    {"add", [](double a, double b) { return a + b; }, true},
    {"sub", [](double a, double b) { return a - b; }, true},
    {"mul", [](double a, double b) { return a * b; }},
    {"div", [](double a, double b) { return a / b; }, false, true},
};

const Variant& variant_from_name(const std::string& operation, const std::string& text) {
  for (const Variant& variant : kVariants)
    if (variant.name == text) return variant;
  throw input_error("{}: variant '{}' is none of add, sub, mul, div", operation, text);
}

// Positions of the two operands of an entry; kAbsent where the pattern lacks it.
struct Pair {
  Count x, y;
};

struct SortedKeys {
  std::vector<Count> order;
  Keys keys;
};

SortedKeys sorted_keys(const Coo& tensor, const Packer& packer) {
  SortedKeys sorted{sort_permutation(tensor, packer.modes()), Keys(tensor.nnz())};
  const auto& order = sorted.order;
  Keys& keys = sorted.keys;
  const Count n = keys.size();
  Count repeated = n;
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (Count i = 0; i < n; ++i) keys[i] = packer.pack(tensor.indices, order[i]);
#pragma omp for schedule(static) reduction(min : repeated)
    for (Count i = 1; i < n; ++i)
      if (keys[i - 1] == keys[i]) repeated = std::min(repeated, i);
  }
  if (repeated < n)
    throw input_error("duplicate coordinate {}", coordinate_text(tensor, order[repeated]));
  return sorted;
}

using Pairs = UnsetArray<Pair>;

Pairs paired(const std::vector<Count>& x, const std::vector<Count>& y) {
  Pairs pairs(x.size());
#pragma omp parallel for schedule(static)
  for (Count i = 0; i < pairs.size(); ++i) pairs[i] = {x[i], y[i]};
  return pairs;
}

bool are_equal(const Keys& a, const Keys& b) {
  bool equal = a.size() == b.size();
  const Count n = equal ? a.size() : 0;
#pragma omp parallel for schedule(static) reduction(&& : equal)
  for (Count i = 0; i < n; ++i) equal = equal && a[i] == b[i];
  return equal;
}

Pairs pair_patterns(const Coo& x, const Coo& y, const Packer& packer, const Variant& variant) {
  const SortedKeys a = sorted_keys(x, packer), b = sorted_keys(y, packer);
  if (!variant.is_quotient && are_equal(a.keys, b.keys)) return paired(a.order, b.order);
  Pairs pairs;
  Count i = 0, j = 0;
  while (i < a.keys.size() || j < b.keys.size()) {
    const bool in_x = i < a.keys.size() && (j == b.keys.size() || a.keys[i] <= b.keys[j]);
    const bool in_y = j < b.keys.size() && (i == a.keys.size() || b.keys[j] <= a.keys[i]);
    const Pair pair{in_x ? a.order[i++] : kAbsent, in_y ? b.order[j++] : kAbsent};
    if (variant.is_quotient && in_x && (!in_y || y.values.at(pair.y) == 0))
      throw input_error("tew div: the denominator has no nonzero at {}",
                        coordinate_text(x, pair.x));
    if (variant.is_sum || (in_x && in_y)) pairs.push_back(pair);
  }
  return pairs;
}

class ElementRows : public RowSource {
 public:
  // `y` holds one value, the scalar of ts, where pairs refer to position 0 alone.
  ElementRows(const Coo& x, Doubles y, const Coo& pattern_y, const Packer& packer, const Dims& dims,
              Pairs pairs, const Variant& variant)
      : x_(x),
        pattern_y_(pattern_y),
        packer_(packer),
        a_(as_doubles(x.values)),
        b_(std::move(y)),
        pairs_(std::move(pairs)),
        variant_(variant) {
    layout_.kind = Kind::coo;
    layout_.dims = layout_.sparse_dims = dims;
    layout_.row_modes = natural_order(x.order());
    layout_.slack = 4;
    layout_.cofactor = cofactor();
  }

  const Layout& layout() const override { return layout_; }
  Count rows() const override { return pairs_.size(); }
  Key key(Count row) const override {
    const Pair& p = pairs_[row];
    return p.x != kAbsent ? packer_.pack(x_.indices, p.x) : packer_.pack(pattern_y_.indices, p.y);
  }
  double products(Count) const override { return 1; }
  double entries(Count) const override { return 1; }

  void evaluate(Count row, const Weights&, Count, Fibers& out) const override {
    const WeightedSum entry = checksum(row);
    out.keys.push_back(key(row));
    out.terms.push_back(static_cast<Count>(entry.terms));
    out.values.push_back(entry.value);
    out.l1.push_back(entry.l1);
  }

  WeightedSum checksum(Count row) const override {
    const Pair& p = pairs_[row];
    const double a = p.x == kAbsent ? 0.0 : a_[p.x], b = p.y == kAbsent ? 0.0 : b_[p.y];
    const double value = variant_.apply(a, b), terms = variant_.is_sum ? 2 : 1;
    const double l1 = variant_.is_sum ? std::abs(a) + std::abs(b) : std::abs(value);
    return {value, l1, l1 * terms, terms};
  }

 private:
  double cofactor() const {
    if (variant_.is_sum) return 1;
    const double a = largest_magnitude(a_);
    if (!variant_.is_quotient) return std::max(a, largest_magnitude(b_));
    double smallest = std::numeric_limits<double>::infinity();
    for (const double b : b_)
      if (b != 0) smallest = std::min(smallest, std::abs(b));
    return std::max(1 / smallest, a / smallest / smallest);
  }

  const Coo &x_, &pattern_y_;
  Packer packer_;
  Doubles a_, b_;
  Pairs pairs_;
  const Variant& variant_;
  Layout layout_;
};

}  // namespace

Expected tew(const Coo& x, const Coo& y, const std::string& variant, const Limits& limits) {
  const Variant& v = variant_from_name("tew", variant);
  x.check();
  y.check();
  if (x.order() != y.order()) throw input_error("tew: the operands differ in order");
  Dims dims = x.dims;
  for (std::size_t m = 0; m < dims.size(); ++m) dims[m] = std::max(dims[m], y.dims[m]);
  const Packer packer(dims, natural_order(x.order()));
  auto pairs = pair_patterns(x, y, packer, v);
  return build(ElementRows(x, as_doubles(y.values), y, packer, dims, std::move(pairs), v), limits);
}

Expected ts(const Coo& x, double scalar, const std::string& variant, const Limits& limits) {
  const Variant& v = variant_from_name("ts", variant);
  x.check();
  if (!std::isfinite(scalar)) throw input_error("ts: the scalar is {}", scalar);
  if (v.is_quotient && scalar == 0) throw input_error("ts: division by the scalar 0");
  const Packer packer(x.dims, natural_order(x.order()));
  const auto order = sorted_keys(x, packer).order;
  Pairs pairs(order.size());
#pragma omp parallel for schedule(static)
  for (Count i = 0; i < pairs.size(); ++i) pairs[i] = {order[i], 0};
  return build(ElementRows(x, {scalar}, x, packer, x.dims, std::move(pairs), v), limits);
}

}  // namespace retensor::reference
