// The runs of hlsto.cpu and hlsto.cpu.half; the algorithm stands in hlsto_cpu.hpp.
#include "papers/hlsto/kernels/hlsto_cpu.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include "common/numeric/rounding.hpp"
#include "common/run/cpu_run.hpp"
#include "papers/hlsto/format/chain.hpp"
#include "papers/hlsto/format/options.hpp"

namespace retensor::hlsto {
namespace {

constexpr Index kEdge = kFragmentEdge;
constexpr Count kDrawnNonzeros = 16;  // larger tensors are not drawn in rows

/// Products of factor rows: one weight for each place in a row of the result, elementwise products
/// in MTTKRP, the Kronecker product in TTM-chain, which has as many places as columns so far.
class RowProduct {
 public:
  explicit RowProduct(const Chain& chain) : chain_(chain) {
    offset_.reserve(chain.width), weight_.reserve(chain.width);
    restart();
  }

  void restart() {
    offset_.resize(chain_.kronecker ? 1 : chain_.width);
    std::iota(offset_.begin(), offset_.end(), std::uint64_t{0});
    weight_.assign(offset_.size(), 1.0f);
  }

  void times(int mode, Index row) {
    const float* const factor = chain_.factor[at(mode)].row(row);
    if (!chain_.kronecker) {
      for (std::size_t r = 0; r < weight_.size(); ++r) weight_[r] *= factor[r];
      return;
    }
    const std::uint64_t columns = chain_.columns(mode);
    const std::size_t before = size();
    offset_.resize(before * columns), weight_.resize(before * columns);
    for (std::size_t p = before; p-- > 0;) {  // downwards: place p moves to p * columns and on
      const std::uint64_t offset = offset_[p];
      const float weight = weight_[p];
      for (std::uint64_t r = 0; r < columns; ++r) {
        offset_[p * columns + r] = offset + r * chain_.stride[at(mode)];
        weight_[p * columns + r] = weight * factor[r];
      }
    }
  }

  std::size_t size() const { return weight_.size(); }
  std::uint64_t offset(std::size_t p) const { return offset_[p]; }
  float weight(std::size_t p) const { return weight_[p]; }

 private:
  const Chain& chain_;
  std::vector<std::uint64_t> offset_;
  std::vector<float> weight_;
};

/// A tensor core with sums in single precision, added to a result of the same type.
struct SingleSums {
  explicit SingleSums(const Params& params) : arithmetic(arithmetic_of(params)) {}
  static Executed facts(const Params&) { return {{"sums", "f32"}}; }
  void multiply_add(const Fragment& a, const Fragment& b, Fragment& c) const {
    retensor::multiply_add(arithmetic, a, b, c);
  }
  void add(float& to, float x) const {
#pragma omp atomic
    to += x;
  }
  Arithmetic arithmetic;
};

/// One with sums in half precision. Where the result is of halves too, a number is rounded to one
/// before it is added: the sum of two halves in single precision is not rounded twice, since its
/// significand has more than twice their bits.
struct HalfSums {
  explicit HalfSums(const Params& params) : halves_in_result(half_result(params)) {}
  static Executed facts(const Params& params) { return half_facts(params); }
  void multiply_add(const Fragment& a, const Fragment& b, Fragment& c) const {
    multiply_add_in_halves(a, b, c);
  }
  void add(float& to, float x) const {
    std::atomic_ref<float> sum(to);
    float before = sum.load();
    const float summand = halves_in_result ? round_fp16(x) : x;
    const auto after = [&] {
      return halves_in_result ? round_fp16(before + summand) : before + summand;
    };
    while (!sum.compare_exchange_weak(before, after())) {
    }
  }
  static constexpr Arithmetic arithmetic = Arithmetic::fp16;
  bool halves_in_result;
};

/// One dense tile or sparse nonzero after another; each thread has its own.
template <class Sums>
class Worker {
 public:
  Worker(const Hls& hls, const Chain& chain, Sums sums, MatrixView<float> out)
      : hls_(hls),
        grid_(hls.grid),
        chain_(chain),
        sums_(sums),
        out_(out),
        roles_(roles_of(hls.grid, chain.mode)),
        fragments_((grid_.edge() + kEdge - 1) / kEdge),
        cells_(grid_.cells()),
        kept_(chain),
        rows_(chain) {}

  /// Adds dense tile t.
  void add_tile(Count t) {
    tile_ = hls_.tile_index.at(t);
    unpack(t);
    multiply_kept(kept_);
    for (Index i = 0; i < grid_.edge(); ++i) {
      const Index index = origin(roles_.slice) + i;
      if (is_empty_[i]) continue;
      if (roles_.kept_output < 0) {
        slice(i, index, kept_);
        continue;
      }
      multiply_kept(rows_);
      rows_.times(grid_.tiled()[at(roles_.slice)], index);
      slice(i, origin(kTiledModes + roles_.kept_output), rows_);
    }
  }

  /// Adds sparse nonzero x by the element-wise form.
  void add_nonzero(Count x) {
    const auto key = hls_.nonzero_index.at(x);
    const LinearIndex& index = grid_.nonzero_index();
    rows_.restart();
    for (int m = 0; m < static_cast<int>(hls_.dims.size()); ++m)
      if (m != chain_.mode) rows_.times(m, index.decode(key, m));
    float* const to = out_.row(index.decode(key, chain_.mode));
    for (std::size_t p = 0; p < rows_.size(); ++p)
      sums_.add(to[rows_.offset(p)], hls_.sparse_values.at(x) * rows_.weight(p));
  }

 private:
  Index origin(int k) const { return grid_.origin(tile_, k); }

  /// The rows of the kept modes but the output's.
  void multiply_kept(RowProduct& rows) const {
    rows.restart();
    for (int k = 0; k < static_cast<int>(grid_.kept().size()); ++k)
      if (k != roles_.kept_output) rows.times(grid_.kept()[at(k)], origin(kTiledModes + k));
  }

  void unpack(Count t) {
    Count value = hls_.value_start[t];
    std::ranges::fill(is_empty_, true);
    for (Index c = 0; c < grid_.cells(); ++c) {
      const bool stored = hls_.holds(t, c);
      cells_[c] = stored ? hls_.dense_values.at(value++) : 0.0f;
      if (stored) is_empty_[grid_.within(c, roles_.slice)] = false;
    }
  }

  /// Fragment (p, q) of slice i.
  Fragment slice_fragment(Index i, Index p, Index q) const {
    Fragment x{};
    const Index edge = std::min(kEdge, grid_.edge());
    std::array<Index, kTiledModes> within{};
    within[at(roles_.slice)] = i;
    for (Index a = 0; a < edge; ++a)
      for (Index b = 0; b < edge; ++b) {
        within[at(roles_.row)] = p * kEdge + a;
        within[at(roles_.column)] = q * kEdge + b;
        x[a * kEdge + b] = cells_[grid_.cell(within)];
      }
    return x;
  }

  /// Rows of a tiled factor from fragment p of the tile on, columns from `first` on, zeros beyond
  /// the ends; with kTransposed its transpose.
  template <bool kTransposed>
  Fragment factor_fragment(int k, Index p, std::uint64_t first) const {
    Fragment f{};
    const auto& factor = chain_.factor[at(grid_.tiled()[at(k)])];
    const Index begin = origin(k) + p * kEdge;
    const Index rows = std::min(kEdge, grid_.edge());
    for (Index a = 0; a < rows && begin + a < factor.rows; ++a)
      for (Index r = 0; r < kEdge && first + r < factor.cols; ++r)
        f[kTransposed ? r * kEdge + a : a * kEdge + r] = factor(begin + a, first + r);
    return f;
  }

  /// B^T (X_i C) for 16 columns of B and of C.
  Fragment chained(Index i, std::uint64_t row_columns, std::uint64_t column_columns) {
    Fragment y{};
    for (Index p = 0; p < fragments_; ++p) {
      Fragment xc{};
      for (Index q = 0; q < fragments_; ++q)
        sums_.multiply_add(slice_fragment(i, p, q),
                           factor_fragment<false>(roles_.column, q, column_columns), xc);
      sums_.multiply_add(factor_fragment<true>(roles_.row, p, row_columns), xc, y);
    }
    return y;
  }

  /// Adds slice i to a row of the result.
  void slice(Index i, Index out_row, const RowProduct& kept) {
    if (chain_.kronecker)
      chain_slice(i, out_.row(out_row), kept);
    else
      mttkrp_slice(i, out_.row(out_row), kept);
  }

  void mttkrp_slice(Index i, float* out, const RowProduct& kept) {
    for (std::uint64_t r = 0; r < chain_.width; r += kEdge) {
      const auto y = chained(i, r, r);
      for (Index d = 0; d < kEdge && r + d < chain_.width; ++d)
        sums_.add(out[r + d], y[d * kEdge + d] * kept.weight(r + d));
    }
  }

  void chain_slice(Index i, float* out, const RowProduct& kept) {
    const int row = grid_.tiled()[at(roles_.row)], column = grid_.tiled()[at(roles_.column)];
    const std::uint64_t rows = chain_.columns(row), columns = chain_.columns(column);
    for (std::uint64_t r = 0; r < rows; r += kEdge)
      for (std::uint64_t s = 0; s < columns; s += kEdge) {
        const auto y = chained(i, r, s);
        for (Index a = 0; a < kEdge && r + a < rows; ++a)
          for (Index b = 0; b < kEdge && s + b < columns; ++b) {
            const auto place =
                (r + a) * chain_.stride[at(row)] + (s + b) * chain_.stride[at(column)];
            for (std::size_t p = 0; p < kept.size(); ++p)
              sums_.add(out[place + kept.offset(p)], y[a * kEdge + b] * kept.weight(p));
          }
      }
  }

  const Hls& hls_;
  const Grid& grid_;
  const Chain& chain_;
  const Sums sums_;
  const MatrixView<float> out_;
  const Roles roles_;
  const Index fragments_;  // along an edge of a slice
  std::vector<float> cells_;
  RowProduct kept_, rows_;
  std::array<bool, 32> is_empty_{};  // slices of the tile
  Uint128 tile_ = 0;
};

template <class Sums>
class Run : public CpuRun {
 public:
  Run(const Problem& problem, const Params& params)
      : CpuRun(problem, thread_count(params), "HLSTO with an emulated tensor core"),
        chain_(problem),
        hls_(to_hls(problem.x(), format_options(problem, params))),
        out_(problem.x().dims[at(problem.mode())], chain_.width, problem.dtype()) {
    const Sums sums(params);
    for (int t = 0; t < threads_; ++t)
      workers_.push_back(std::make_unique<Worker<Sums>>(hls_, chain_, sums, out_.view<float>()));
    format_bytes_ = hls_.bytes();
    executed_.merge(format_facts(hls_));
    executed_["precision"] = std::string(name(sums.arithmetic));
    executed_.merge(Sums::facts(params));
    executed_["mma"] = std::to_string(mma_count(hls_, chain_, sums.arithmetic));
    if (hls_.nnz() <= kDrawnNonzeros) executed_["layout"] = layout_text(hls_);
  }

  void run(StageTimer& timer) override {
    timer.stage("zero");
    std::ranges::fill(out_.values().as<float>(), 0.0f);
    timer.stage("kernel");
#pragma omp parallel num_threads(threads_)
    {
      Worker<Sums>& worker = *workers_[at(omp_get_thread_num())];
#pragma omp for schedule(dynamic, 4) nowait
      for (Count t = 0; t < hls_.dense_tiles; ++t) worker.add_tile(t);
#pragma omp for schedule(static)
      for (Count x = 0; x < hls_.sparse_nonzeros; ++x) worker.add_nonzero(x);
    }
  }

  Result result() override {
    return out_;
  }

 private:
  const Chain chain_;
  const Hls hls_;
  Matrix out_;
  std::vector<std::unique_ptr<Worker<Sums>>> workers_;  // one a thread
};

}  // namespace

std::unique_ptr<Prepared> prepare_cpu(const Problem& problem, const Params& params) {
  return std::make_unique<Run<SingleSums>>(problem, params);
}

std::unique_ptr<Prepared> prepare_half_cpu(const Problem& problem, const Params& params) {
  return std::make_unique<Run<HalfSums>>(problem, params);
}

}  // namespace retensor::hlsto
