// Oracles whose rows are dense blocks: ttv, ttm, mttkrp, ttm_chain and spmm.
//
// All five multiply a nonzero by a combination of factor rows and add it to the row of the result
// that the remaining modes name: the row of one factor (PASTA eqs. of TTV and TTM, spmm), the
// Hadamard product of several (MTTKRP), their Kronecker product (TTM chain).

#include <algorithm>
#include <cmath>
#include <memory>

#include "common/core/message.hpp"
#include "common/reference/chunks.hpp"
#include "common/reference/row_source.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::reference {
namespace {

enum class Combine { hadamard, kronecker };

// A factor as it stands, since in fp64 the rows that are gathered would take twice the bytes, with
// the weighted sum of each row and that of the absolute values.
struct Factor {
  int mode;
  const Matrix* matrix;
  std::vector<double> weighted, weighted_absolute;

  std::uint64_t cols() const { return matrix->cols(); }
  /// Calls f with the elements of a row.
  template <class F>
  void with_row(std::uint64_t i, const F& f) const {
    matrix->values().visit([&](const auto& v) { f(v.data() + i * matrix->ld()); });
  }
  void prefetch(std::uint64_t i) const {
    constexpr std::size_t kLine = 64;
    with_row(i, [this](const auto* row) {
      const auto* const bytes = reinterpret_cast<const char*>(row);
      for (std::size_t b = 0; b < cols() * sizeof *row; b += kLine) __builtin_prefetch(bytes + b);
    });
  }
  double largest() const {
    double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (std::uint64_t i = 0; i < matrix->rows(); ++i)
      with_row(i, [&](const auto* row) {
        for (std::uint64_t j = 0; j < cols(); ++j)
          largest = std::max(largest, std::abs(static_cast<double>(row[j])));
      });
    return largest;
  }
};

Factor make_factor(const Coo& x, const Matrix& matrix, int mode) {
  if (matrix.rows() != x.dims[mode])
    throw input_error("the operand of mode {} has {} rows, the mode has length {}", mode + 1,
                      matrix.rows(), x.dims[mode]);
  if (matrix.cols() == 0) throw input_error("the operand of mode {} has no columns", mode + 1);
  return {mode, &matrix, {}, {}};
}

void weigh(Factor& factor, const Weights& weights, std::size_t block_mode) {
  std::vector<double> digits;
  for (std::uint64_t j = 0; j < factor.cols(); ++j) digits.push_back(weights.digit(block_mode, j));
  factor.weighted.assign(factor.matrix->rows(), 0.0);
  factor.weighted_absolute.assign(factor.matrix->rows(), 0.0);
#pragma omp parallel for schedule(static)
  for (std::uint64_t i = 0; i < factor.weighted.size(); ++i)
    factor.with_row(i, [&](const auto* row) {
      for (std::size_t j = 0; j < digits.size(); ++j) {
        const double term = digits[j] * static_cast<double>(row[j]);
        factor.weighted[i] += term;
        factor.weighted_absolute[i] += std::abs(term);
      }
    });
}

// The values of a tensor in fp64, which the rows of all modes share.
using SharedValues = std::shared_ptr<const Doubles>;

SharedValues shared_values(const Coo& x) {
  return std::make_shared<const Doubles>(as_doubles(x.values));
}

class DenseRows : public RowSource {
 public:
  DenseRows(const Coo& x, std::vector<int> row_modes, std::vector<Factor> factors, Combine combine,
            Layout layout, std::uint64_t seed, SharedValues values)
      : x_(x),
        packer_(x.dims, std::move(row_modes)),
        factors_(std::move(factors)),
        // One factor is both; the Kronecker form has the cheaper checksum.
        combine_(factors_.size() == 1 ? Combine::kronecker : combine),
        layout_(std::move(layout)),
        width_(layout_.width()),
        values_(std::move(values)),
        order_(sort_permutation(x, packer_.modes())) {
    find_rows();
    set_bound_constants();
    const Weights weights(seed);
    element_weights_ = weights.elements(layout_.block_dims);
    if (combine_ == Combine::kronecker)
      for (std::size_t f = 0; f < factors_.size(); ++f) weigh(factors_[f], weights, f);
  }

  const Layout& layout() const override { return layout_; }
  Count rows() const override { return starts_.size() - 1; }
  Key key(Count row) const override { return packer_.pack(x_.indices, order_[starts_[row]]); }
  double products(Count row) const override { return nonzeros(row) * entries(row); }
  double entries(Count) const override { return static_cast<double>(width_); }

  void evaluate(Count row, const Weights&, Count, Fibers& out) const override {
    out.keys.push_back(key(row));
    out.terms.push_back(starts_[row + 1] - starts_[row]);
    const std::size_t base = out.values.size();
    out.values.resize(base + width_, 0.0);
    out.l1.resize(base + width_, 0.0);
    std::vector<double> combined(width_);
    for (Count i = starts_[row]; i < starts_[row + 1]; ++i) {
      prefetch(i);
      combine(order_[i], combined);
      const double x = value(order_[i]);
      for (std::uint64_t j = 0; j < width_; ++j) {
        out.values[base + j] += x * combined[j];
        out.l1[base + j] += std::abs(x * combined[j]);
      }
    }
  }

  WeightedSum checksum(Count row) const override {
    WeightedSum sum;
    static thread_local std::vector<double> combined;  // for as many rows as there are nonzeros
    combined.resize(width_);
    for (Count i = starts_[row]; i < starts_[row + 1]; ++i) {
      if (combine_ == Combine::hadamard) prefetch(i);
      const WeightedSum term = combine_ == Combine::hadamard
                                   ? hadamard_checksum(order_[i], combined)
                                   : kronecker_checksum(order_[i]);
      sum.value += value(order_[i]) * term.value;
      sum.l1 += std::abs(value(order_[i])) * term.l1;
    }
    sum.l1_terms = sum.l1 * nonzeros(row);
    sum.terms = nonzeros(row) * entries(row);
    return sum;
  }

  double nonzeros(Count row) const { return static_cast<double>(starts_[row + 1] - starts_[row]); }

 private:
  double value(Count p) const { return (*values_)[p]; }

  /// Rows of sorted nonzeros that come soon, and of later ones the indices that name them.
  void prefetch(Count i) const {
    constexpr Count kRows = 8, kIndices = 32;
    if (i + kIndices >= order_.size()) return;
    const Count soon = order_[i + kRows], later = order_[i + kIndices];
    __builtin_prefetch(&(*values_)[later]);
    for (const Factor& f : factors_) {
      f.prefetch(x_.indices[f.mode][soon]);
      __builtin_prefetch(&x_.indices[f.mode][later]);
    }
  }

  void find_rows() {
    const auto key = [&](Count i) { return packer_.pack(x_.indices, order_[i]); };
    const auto find = [&](std::vector<Count>& starts, Count begin, Count end) {
      for (Count i = begin; i < end; ++i)
        if (i == 0 || key(i) != key(i - 1)) starts.push_back(i);
    };
    const auto n = order_.size();
    const auto threads = threads_for(static_cast<double>(n));
    for (const auto& part : in_chunks<std::vector<Count>>(n, chunk_count(n, 65536), threads, find))
      starts_.insert(starts_.end(), part.begin(), part.end());
    starts_.push_back(n);
  }

  void set_bound_constants() {
    std::vector<double> largest{largest_magnitude(*values_)};
    for (const Factor& f : factors_) largest.push_back(f.largest());
    layout_.slack = static_cast<double>(largest.size()) + 2;
    for (std::size_t skipped = 0; skipped < largest.size(); ++skipped) {
      double product = 1;
      for (std::size_t k = 0; k < largest.size(); ++k)
        if (k != skipped) product *= largest[k];
      layout_.cofactor = std::max(layout_.cofactor, product);
    }
  }

  void combine(Count p, std::vector<double>& out) const {
    if (combine_ == Combine::hadamard) {
      std::fill(out.begin(), out.end(), 1.0);
      for (const Factor& f : factors_)
        f.with_row(x_.indices[f.mode][p], [&](const auto* row) {
          for (std::uint64_t j = 0; j < width_; ++j) out[j] *= static_cast<double>(row[j]);
        });
      return;
    }
    out[0] = 1;
    std::uint64_t length = 1;
    for (const Factor& f : factors_) {
      // From the back, so that no element is overwritten before it has been expanded.
      f.with_row(x_.indices[f.mode][p], [&](const auto* row) {
        for (std::uint64_t a = length; a-- > 0;) {
          const double scale = out[a];
          for (std::uint64_t b = f.cols(); b-- > 0;)
            out[a * f.cols() + b] = scale * static_cast<double>(row[b]);
        }
      });
      length *= f.cols();
    }
  }

  WeightedSum hadamard_checksum(Count p, std::vector<double>& scratch) const {
    combine(p, scratch);
    WeightedSum sum;
    for (std::uint64_t j = 0; j < width_; ++j) {
      sum.value += element_weights_[j] * scratch[j];
      sum.l1 += std::abs(element_weights_[j] * scratch[j]);
    }
    return sum;
  }

  WeightedSum kronecker_checksum(Count p) const {
    WeightedSum sum{1, 1, 0, 0};
    for (const Factor& f : factors_) {
      const Index i = x_.indices[f.mode][p];
      sum.value *= f.weighted[i];
      sum.l1 *= f.weighted_absolute[i];
    }
    return sum;
  }

  const Coo& x_;
  Packer packer_;
  std::vector<Factor> factors_;
  Combine combine_;
  Layout layout_;
  std::uint64_t width_;
  SharedValues values_;
  std::vector<double> element_weights_;
  std::vector<Count> order_;
  std::vector<Count> starts_;
};

// MTTKRP of all modes, the results one below the other: the rows of all modes, keys shifted by the
// lengths of the modes before.
class AllModes : public RowSource {
 public:
  AllModes(const Coo& x, std::vector<DenseRows> modes, std::vector<Factor> factors,
           SharedValues values)
      : x_(x),
        modes_(std::move(modes)),
        factors_(std::move(factors)),
        values_(std::move(values)),
        layout_(modes_.front().layout()) {
    for (std::size_t m = 0; m < modes_.size(); ++m) {
      first_row_.push_back(rows_);
      first_key_.push_back(keys_);
      rows_ += modes_[m].rows();
      keys_ += x.dims[m];
      layout_.slack = std::max(layout_.slack, modes_[m].layout().slack);
      layout_.cofactor = std::max(layout_.cofactor, modes_[m].layout().cofactor);
    }
    layout_.sparse_dims = {keys_};
    layout_.dims.front() = keys_;
  }

  const Layout& layout() const override { return layout_; }
  Count rows() const override { return rows_; }
  Key key(Count row) const override {
    const Place at = place(row);
    return at.first_key + at.mode.key(at.row);
  }
  double products(Count row) const override {
    const Place at = place(row);
    return at.mode.products(at.row);
  }
  double entries(Count row) const override { return modes_.front().entries(row); }

  void evaluate(Count row, const Weights& weights, Count stride, Fibers& out) const override {
    const Place at = place(row);
    at.mode.evaluate(at.row, weights, stride, out);
    out.keys.back() += at.first_key;
  }

  WeightedSum checksum(Count row) const override {
    const Place at = place(row);
    return at.mode.checksum(at.row);
  }

  // All modes in one pass over the nonzeros as they lie: N rows of factors are read for a nonzero
  // where N modes one after the other read N (N - 1).
  Buckets checksum_buckets(const Weights& weights, const Doubles& products,
                           double total) const override {
    if (modes_.size() < 3) return RowSource::checksum_buckets(weights, products, total);
    const auto element_weights = weights.elements(layout_.block_dims);
    std::vector<Doubles> nonzeros;
    for (std::size_t m = 0; m < modes_.size(); ++m) nonzeros.push_back(nonzeros_by_index(m));
    const auto add_nonzeros = [&](Buckets& part, Count begin, Count end) {
      part.resize(Weights::kBuckets);
      Products scratch(modes_.size(), layout_.width());
      for (Count p = begin; p < end; ++p) {
        prefetch(p, nonzeros);
        multiply(p, element_weights, scratch);
        for (std::size_t m = 0; m < modes_.size(); ++m) {
          const Index i = x_.indices[m][p];
          WeightedSum term = scratch.sums[m];
          term.value *= (*values_)[p];
          term.l1 *= std::abs((*values_)[p]);
          term.l1_terms = term.l1 * nonzeros[m][i];
          term.terms = static_cast<double>(layout_.width());
          const Key row = first_key_[m] + Key{i};
          part[weights.bucket(row)].add(term, weights.row(row));
        }
      }
    };
    const Count n = x_.nnz();
    return sum_of(
        in_chunks<Buckets>(n, chunk_count(n, Weights::kBuckets), threads_for(total), add_nonzeros));
  }

 private:
  struct Place {
    const DenseRows& mode;
    Count row;  ///< in the mode
    std::uint64_t first_key;
  };
  // Of one nonzero: the products of the element weights with the rows of the modes before each
  // mode, with those after a mode, and the sums of the products of all modes but one.
  struct Products {
    Products(std::size_t order, std::uint64_t width)
        : before(order, std::vector<double>(width)), after(width), sums(order) {}
    std::vector<std::vector<double>> before;
    std::vector<double> after;
    std::vector<WeightedSum> sums;
  };

  Place place(Count row) const {
    const auto m =
        std::upper_bound(first_row_.begin(), first_row_.end(), row) - first_row_.begin() - 1;
    return {modes_[m], row - first_row_[m], first_key_[m]};
  }

  Doubles nonzeros_by_index(std::size_t m) const {
    Doubles nonzeros(x_.dims[m]);
#pragma omp parallel for schedule(static)
    for (Count row = 0; row < modes_[m].rows(); ++row)
      nonzeros[static_cast<Index>(modes_[m].key(row))] = modes_[m].nonzeros(row);
    return nonzeros;
  }

  void prefetch(Count p, const std::vector<Doubles>& nonzeros) const {
    constexpr Count kAhead = 8;
    if (p + kAhead >= x_.nnz()) return;
    for (std::size_t m = 0; m < factors_.size(); ++m) {
      const Index soon = x_.indices[m][p + kAhead];
      factors_[m].prefetch(soon);
      __builtin_prefetch(&nonzeros[m][soon]);
    }
  }

  void multiply(Count p, const std::vector<double>& element_weights, Products& out) const {
    const std::size_t width = out.after.size();
    out.before[0] = element_weights;
    for (std::size_t m = 0; m + 1 < factors_.size(); ++m)
      factors_[m].with_row(x_.indices[m][p], [&](const auto* row) {
        for (std::size_t j = 0; j < width; ++j)
          out.before[m + 1][j] = out.before[m][j] * static_cast<double>(row[j]);
      });
    std::fill(out.after.begin(), out.after.end(), 1.0);
    for (std::size_t m = factors_.size(); m-- > 0;) {
      double value = 0, l1 = 0;
#pragma omp simd reduction(+ : value, l1)
      for (std::size_t j = 0; j < width; ++j) {
        const double product = out.before[m][j] * out.after[j];
        value += product;
        l1 += std::abs(product);
      }
      out.sums[m] = {value, l1, 0, 0};
      factors_[m].with_row(x_.indices[m][p], [&](const auto* row) {
        for (std::size_t j = 0; j < width; ++j) out.after[j] *= static_cast<double>(row[j]);
      });
    }
  }

  const Coo& x_;
  std::vector<DenseRows> modes_;
  std::vector<Factor> factors_;
  SharedValues values_;
  Layout layout_;
  std::vector<Count> first_row_;
  std::vector<std::uint64_t> first_key_;
  Count rows_ = 0;
  std::uint64_t keys_ = 0;
};

void check_tensor(const Coo& x, int mode) {
  x.check();
  if (mode < 0 || mode >= x.order())
    throw input_error("mode {} is not a mode of order {}", mode + 1, x.order());
}

std::vector<int> others(int order, int mode) {
  std::vector<int> modes = natural_order(order);
  modes.erase(modes.begin() + mode);
  return modes;
}

// x times one matrix along `mode`: the common part of ttv and ttm.
Expected times_matrix(const Coo& x, const Matrix& u, int mode, Layout layout,
                      const Limits& limits) {
  const std::vector<int> kept = others(x.order(), mode);
  for (const int m : kept) layout.sparse_dims.push_back(x.dims[m]);
  layout.row_modes = natural_order(static_cast<int>(kept.size()));
  if (layout.kind == Kind::coo) layout.dims = layout.sparse_dims;
  return build(DenseRows(x, kept, {make_factor(x, u, mode)}, Combine::kronecker, std::move(layout),
                         limits.seed, shared_values(x)),
               limits);
}

// The rows of a matrix: each index of `mode` is one, its blocks combine the factors' rows.
DenseRows matrix_rows(const Coo& x, int mode, std::vector<Factor> factors, Combine combine,
                      Dims block_dims, const Limits& limits, SharedValues values) {
  Layout layout;
  layout.kind = Kind::matrix;
  layout.sparse_dims = {x.dims[mode]};
  layout.row_modes = {0};
  layout.block_dims = std::move(block_dims);
  layout.dims = {x.dims[mode], layout.width()};
  return DenseRows(x, {mode}, std::move(factors), combine, std::move(layout), limits.seed,
                   std::move(values));
}

// The factors of all modes but `skipped`, ascending.
std::vector<Factor> other_factors(const Coo& x, const std::vector<Matrix>& matrices, int skipped) {
  if (matrices.size() != x.dims.size())
    throw input_error("{} factor matrices for a tensor of order {}", matrices.size(), x.order());
  std::vector<Factor> factors;
  for (int m = 0; m < x.order(); ++m)
    if (m != skipped) factors.push_back(make_factor(x, matrices[m], m));
  return factors;
}

// Of the factors of other modes.
DenseRows mttkrp_rows(const Coo& x, int mode, std::uint64_t rank,
                      std::vector<Factor> others_of_mode, const Limits& limits,
                      SharedValues values) {
  for (const Factor& f : others_of_mode)
    if (f.cols() != rank)
      throw input_error("mttkrp: the factor of mode {} has {} columns, that of mode {} has {}",
                        f.mode + 1, f.cols(), mode + 1, rank);
  return matrix_rows(x, mode, std::move(others_of_mode), Combine::hadamard, {rank}, limits,
                     std::move(values));
}

}  // namespace

Expected ttv(const Coo& x, const Matrix& v, int mode, const Limits& limits) {
  check_tensor(x, mode);
  if (x.order() < 2) throw input_error("ttv needs a tensor of order 2 or more");
  if (v.cols() != 1) throw input_error("ttv: the vector has {} columns", v.cols());
  Layout layout;
  layout.kind = Kind::coo;
  layout.block_dims = {1};
  return times_matrix(x, v, mode, std::move(layout), limits);
}

Expected ttm(const Coo& x, const Matrix& u, int mode, const Limits& limits) {
  check_tensor(x, mode);
  Layout layout;
  layout.kind = Kind::semi_sparse;
  layout.dims = x.dims;
  layout.dims[mode] = u.cols();
  layout.dense_modes = {mode};
  layout.block_dims = {u.cols()};
  return times_matrix(x, u, mode, std::move(layout), limits);
}

Expected spmm(const Coo& s, const Matrix& d, const Limits& limits) {
  if (s.order() != 2) throw input_error("spmm of a tensor of order {}", s.order());
  s.check();
  return build(matrix_rows(s, 0, {make_factor(s, d, 1)}, Combine::kronecker, {d.cols()}, limits,
                           shared_values(s)),
               limits);
}

Expected mttkrp(const Coo& x, const std::vector<Matrix>& factors, int mode, const Limits& limits) {
  check_tensor(x, mode);
  auto others_of_mode = other_factors(x, factors, mode);
  return build(mttkrp_rows(x, mode, factors[mode].cols(), std::move(others_of_mode), limits,
                           shared_values(x)),
               limits);
}

Expected mttkrp_all(const Coo& x, const std::vector<Matrix>& factors, const Limits& limits) {
  x.check();
  auto all = other_factors(x, factors, -1);
  const SharedValues values = shared_values(x);
  std::vector<DenseRows> modes;
  for (int m = 0; m < x.order(); ++m) {
    auto others_of_mode = all;
    others_of_mode.erase(others_of_mode.begin() + m);
    modes.push_back(mttkrp_rows(x, m, all[m].cols(), std::move(others_of_mode), limits, values));
  }
  return build(AllModes(x, std::move(modes), std::move(all), values), limits);
}

Expected ttm_chain(const Coo& x, const std::vector<Matrix>& factors, int mode,
                   const Limits& limits) {
  check_tensor(x, mode);
  auto others_of_mode = other_factors(x, factors, mode);
  Dims ranks;
  for (const Factor& f : others_of_mode) ranks.push_back(f.cols());
  return build(matrix_rows(x, mode, std::move(others_of_mode), Combine::kronecker, std::move(ranks),
                           limits, shared_values(x)),
               limits);
}

}  // namespace retensor::reference
