// Comparison of a result with its oracle.
//
// The result's fibers are sorted by key (unsorted output is legal, duplicates are not) and merged
// with the expected ones. An entry that the result lacks counts as zero; one outside the pattern
// must be zero. Beyond the limits, the sampled rows are compared so, and the rest by a weighted sum
// over the rows of each bucket, whose bound is the weighted sum of the entries' bounds.
#include <fmt/format.h>

#include <algorithm>
#include <boost/sort/sort.hpp>
#include <cmath>
#include <limits>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "common/reference/chunks.hpp"
#include "common/reference/data.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::reference {
namespace {

// Any sparse or dense result as fibers; a matrix has one for each row.
struct ResultView {
  Kind kind = Kind::none;
  Dims dims;
  std::vector<int> dense_modes;
  Count fibers = 0;
  Count stride = 1;  ///< distance of the blocks in `values`
  const std::vector<std::vector<Index>>* indices = nullptr;
  const Values* values = nullptr;
};

struct ViewOf {
  ResultView operator()(const Matrix& m) const {
    return {Kind::matrix, {m.rows(), m.cols()}, {}, m.rows(), m.ld(), nullptr, &m.values()};
  }
  ResultView operator()(const Coo& x) const {
    return {Kind::coo, x.dims, {}, x.nnz(), 1, &x.indices, &x.values};
  }
  ResultView operator()(const SemiSparseCoo& s) const {
    return {Kind::semi_sparse, s.dims,     s.dense_modes, s.fibers(),
            s.dense_volume(),  &s.indices, &s.values};
  }
  ResultView operator()(const KruskalModel&) const { return {Kind::kruskal, {}, {}, 0, 1, {}, {}}; }
};

struct Keyed {
  Key key;
  Count fiber;
  bool operator<(const Keyed& other) const {
    return key != other.key ? key < other.key : fiber < other.fiber;
  }
};
using Selected = std::vector<Keyed>;

// What a comparison has found so far. Chunks are merged in order, so the first difference is the
// same for any number of threads.
struct Findings {
  std::string reason;
  double error_over_bound = 0;
  Count entries = 0;
  ErrorAccumulator errors;

  void difference(double over_bound, const std::string& what) {
    error_over_bound = std::max(error_over_bound, over_bound);
    if (reason.empty()) reason = what;
  }
  void merge(const Findings& other) {
    difference(other.error_over_bound, other.reason);
    entries += other.entries;
    errors.merge(other.errors);
  }
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// NaN and an error without allowance become infinity, so that they pass no comparison.
double over_bound(double error, double bound) {
  if (error == 0) return 0;
  const double ratio = error / bound;
  return std::isnan(ratio) ? kInfinity : ratio;
}

class Comparison {
 public:
  Comparison(const Expected::Data& expected, const ResultView& result, const Precision& precision)
      : expected_(expected),
        layout_(expected.layout),
        result_(result),
        bound_(precision, layout_),
        width_(layout_.width()),
        packer_(layout_.sparse_dims, natural_order(static_cast<int>(layout_.sparse_dims.size()))),
        row_column_(layout_),
        weights_(expected.sample.seed) {}

  CheckReport run() {
    if (const auto reason = shape_difference(); !reason.empty())
      return {false, reason, expected_.sampled, 0, kInfinity, {}};
    Findings found = compare_fibers(select_fibers());
    if (expected_.sampled) compare_checksum(found);
    const auto pairs = static_cast<double>(found.errors.pairs());
    return {found.reason.empty(),   found.reason,
            expected_.sampled,      found.entries,
            found.error_over_bound, found.errors.metrics(std::max(pairs, expected_.index_space))};
  }

 private:
  static constexpr Count kGrain = 1024;
  int threads() const {
    return threads_for(static_cast<double>(result_.fibers + expected_.fibers.count()) *
                       static_cast<double>(width_));
  }

  std::string shape_difference() const {
    if (result_.dims != layout_.dims)
      return fmt::format("the result has mode lengths {}, expected {}",
                         retensor::joined(result_.dims, "x"), retensor::joined(layout_.dims, "x"));
    if (result_.dense_modes != layout_.dense_modes)
      return "the result has other dense modes than expected";
    return result_.indices == nullptr ? matrix_difference() : index_difference();
  }

  std::string matrix_difference() const {
    const Count needed = result_.fibers == 0 ? 0 : (result_.fibers - 1) * result_.stride + width_;
    return result_.values->size() < needed ? "the matrix lacks values" : "";
  }

  std::string index_difference() const {
    if (result_.indices->size() != layout_.sparse_dims.size())
      return fmt::format("the result has {} index arrays, expected {}", result_.indices->size(),
                         layout_.sparse_dims.size());
    if (result_.values->size() != result_.fibers * width_)
      return fmt::format("the result has {} values for {} coordinates", result_.values->size(),
                         result_.fibers);
    for (std::size_t m = 0; m < result_.indices->size(); ++m) {
      const auto& index = (*result_.indices)[m];
      if (index.size() != result_.fibers)
        return fmt::format("index array {} has {} entries, expected {}", m + 1, index.size(),
                           result_.fibers);
      const auto beyond = std::find_if(index.begin(), index.end(),
                                       [&](Index i) { return i >= layout_.sparse_dims[m]; });
      if (beyond != index.end())
        return fmt::format("index {} in array {} passes the length {}", std::uint64_t{*beyond} + 1,
                           m + 1, layout_.sparse_dims[m]);
    }
    return "";
  }

  Key key(Count fiber) const {
    return result_.indices == nullptr ? Key{fiber} : packer_.pack(*result_.indices, fiber);
  }
  double value(Count fiber, Count j) const {
    const Count at = fiber * result_.stride + j;
    return result_.values->visit([at](const auto& v) { return static_cast<double>(v[at]); });
  }

  bool is_selected(Key fiber) const {
    if (!expected_.sampled) return true;
    const auto& rows = expected_.sample.rows;
    return std::binary_search(rows.begin(), rows.end(), row_column_.row(fiber)) &&
           weights_.held(row_column_.column(fiber), expected_.sample.column_stride);
  }

  Selected select_fibers() const {
    const auto select = [&](Selected& part, Count begin, Count end) {
      for (Count f = begin; f < end; ++f)
        if (const Key k = key(f); is_selected(k)) part.push_back({k, f});
    };
    auto parts =
        in_chunks<Selected>(result_.fibers, chunk_count(result_.fibers, kGrain), threads(), select);
    Selected selected;
    for (auto& part : parts) {
      selected.insert(selected.end(), part.begin(), part.end());
      part = {};
    }
    if (!std::is_sorted(selected.begin(), selected.end()))
      boost::sort::block_indirect_sort(selected.begin(), selected.end());
    return selected;
  }

  // Merges the chunks of the expected fibers with the selected ones of the same key range.
  Findings compare_fibers(const Selected& selected) const {
    const Fibers& fibers = expected_.fibers;
    const auto compare = [&](Findings& part, Count begin, Count end) {
      auto at = begin == 0 ? selected.begin() : first_from(selected, begin);
      const auto last = first_from(selected, end);
      for (Count f = begin; f < end; ++f) {
        while (at != last && at->key < fibers.keys[f]) compare_extra(selected, at++, part);
        const bool found = at != last && at->key == fibers.keys[f];
        const Keyed* measured = found ? &*at++ : nullptr;
        // Repeats first: they explain a wrong value better than the value does.
        while (found && at != last && at->key == fibers.keys[f])
          compare_extra(selected, at++, part);
        compare_fiber(f, measured, part);
      }
      while (at != last) compare_extra(selected, at++, part);
    };
    Findings all;
    for (const auto& part : in_chunks<Findings>(fibers.count(), chunk_count(fibers.count(), kGrain),
                                                threads(), compare))
      all.merge(part);
    return all;
  }

  Selected::const_iterator first_from(const Selected& selected, Count fiber) const {
    if (fiber == expected_.fibers.count()) return selected.end();
    return std::lower_bound(selected.begin(), selected.end(),
                            Keyed{expected_.fibers.keys[fiber], 0});
  }

  void compare_fiber(Count f, const Keyed* measured, Findings& findings) const {
    const Fibers& fibers = expected_.fibers;
    const auto terms = static_cast<double>(fibers.terms[f]);
    for (Count j = 0; j < width_; ++j) {
      const Count at = f * width_ + j;
      const double expected = fibers.values[at], l1 = fibers.l1[at];
      const double found = measured == nullptr ? 0.0 : value(measured->fiber, j);
      const double bound = bound_({expected, l1, l1 * terms, terms});
      const double ratio = over_bound(std::abs(found - expected), bound);
      findings.errors.add(expected, found);
      std::string what;
      if (ratio > 1)
        what =
            measured == nullptr
                ? fmt::format("{} is missing, expected {:.9g}", place(fibers.keys[f], j), expected)
                : fmt::format("{} is {:.9g}, expected {:.9g}: {:.3g} times the bound {:.3g}",
                              place(fibers.keys[f], j), found, expected, ratio, bound);
      findings.difference(ratio, what);
    }
    findings.entries += width_;
  }

  // A fiber without counterpart: outside the pattern, or the second of its coordinate.
  void compare_extra(const Selected& selected, Selected::const_iterator at,
                     Findings& findings) const {
    if (at != selected.begin() && std::prev(at)->key == at->key)
      return findings.difference(kInfinity,
                                 fmt::format("{} stands twice in the result", place(at->key, 0)));
    for (Count j = 0; j < width_; ++j) {
      const double found = value(at->fiber, j);
      ++findings.entries;
      if (found == 0) continue;
      findings.errors.add(0.0, found);
      findings.difference(kInfinity, fmt::format("{} is {:.9g}, but not in the expected pattern",
                                                 place(at->key, j), found));
    }
  }

  void compare_checksum(Findings& findings) const {
    const std::vector<double> measured = measured_buckets();
    for (std::size_t b = 0; b < measured.size(); ++b) {
      const WeightedSum& sum = expected_.sample.buckets[b];
      const double error = std::abs(measured[b] - sum.value);
      if (error == 0) continue;
      // The sums of both sides are themselves rounded.
      const double bound = bound_(sum) + 0x1p-51 * sum.terms * sum.l1;
      const double ratio = over_bound(error, bound);
      findings.difference(
          ratio, ratio > 1 ? fmt::format("the checksum over row group {} is {:.9g}, expected "
                                         "{:.9g}: {:.3g} times the bound {:.3g}",
                                         b, measured[b], sum.value, ratio, bound)
                           : "");
    }
  }

  std::vector<double> measured_buckets() const {
    const std::vector<double> elements = weights_.elements(layout_.block_dims);
    const Count chunks = chunk_count(result_.fibers, Weights::kBuckets);
    const auto add_fibers = [&](std::vector<double>& part, Count begin, Count end) {
      part.resize(Weights::kBuckets, 0.0);
      for (Count f = begin; f < end; ++f) {
        const Key k = key(f), row = row_column_.row(k);
        double sum = 0;
        for (Count j = 0; j < width_; ++j) sum += elements[j] * value(f, j);
        if (!layout_.column_modes.empty()) sum *= weights_.column(row_column_.column(k));
        part[weights_.bucket(row)] += weights_.row(row) * sum;
      }
    };
    std::vector<double> buckets(Weights::kBuckets, 0.0);
    for (const auto& part :
         in_chunks<std::vector<double>>(result_.fibers, chunks, threads(), add_fibers))
      for (std::size_t b = 0; b < buckets.size(); ++b) buckets[b] += part[b];
    return buckets;
  }

  // An entry for messages, counted from 1.
  std::string place(Key fiber, Count j) const {
    Dims shown;
    for (const int k : packer_.modes()) shown.push_back(Count{packer_.decode(fiber, k)} + 1);
    if (layout_.kind == Kind::matrix) shown.push_back(j + 1);
    const auto coordinate = fmt::format("({})", retensor::joined(shown, ", "));
    if (layout_.kind == Kind::semi_sparse)
      return fmt::format("element {} of fiber {}", j + 1, coordinate);
    return "entry " + coordinate;
  }

  const Expected::Data& expected_;
  const Layout& layout_;
  const ResultView& result_;
  Bound bound_;
  std::uint64_t width_;
  Packer packer_;
  RowColumn row_column_;
  Weights weights_;
};

}  // namespace

CheckReport Expected::check(const Result& result, const Precision& precision) const {
  const ResultView view = std::visit(ViewOf{}, result);
  if (view.kind != data_->layout.kind)
    throw LogicError("the result is of another kind than the operation's");
  if (view.kind == Kind::kruskal)
    return check_model(data_->cpd, std::get<KruskalModel>(result), precision);
  return Comparison(*data_, view, precision).run();
}

}  // namespace retensor::reference
