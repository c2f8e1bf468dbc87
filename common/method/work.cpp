// Work models on coordinates: PASTA Table I, generalised from order 3 and 4-byte values to order N
// and v-byte values. M nonzeros, M_F fibers of the product mode, indices of 4 bytes, R columns.
// In brackets what Table I has (N = 3, v = 4). Bytes count irregular accesses in full.
//
//   tew          flops M                          bytes 3vM                       [M; 12M]
//   ts           flops M                          bytes 2vM                       [M; 8M]
//   ttv          flops 2M                         bytes (2v+4)M + (v+4(N-1))M_F   [2M; 12M + 12M_F]
//   ttm          flops 2MR                        bytes vMR + vM_F R + (v+4)M + 4(N-1)M_F
//                                                     [2MR; 4MR + 4M_F R + 8M + 8M_F]
//   mttkrp       flops NMR                        bytes NvMR + (4N+v)M            [3MR; 12MR + 16M]
//   mttkrp_all   the sum of mttkrp over the modes
//   ttm_chain    flops M(P_1 + ... + P_k + P_k)   bytes (4N + v + v sum R_j + v P_k)M
//   contraction  flops 2Q                         bytes (4N+v)M + (4F + 2v)Q
//   spmm         flops 2MR                        bytes 2vMR + (8+v)M
//   cpd          a sweep: the MTTKRP of every mode and per mode 4 I R^2 flops, 4v I R bytes
//
// mttkrp: N - 1 multiplications and an addition per nonzero and column. ttv, ttm: Table I counts
// the result's coordinates once, as the storage of y. ttm_chain: k = N - 1 rows, the lowest mode's
// first; P_j is the product of the first j ranks, so each step multiplies P_j numbers and the last
// adds P_k. contraction: Q pairs of nonzeros agree in the contracted modes; each reads a nonzero of
// y (F free modes) and updates a sum. spmm is mttkrp of order 2. cpd: Gram matrix and triangular
// solves beside MTTKRP, max_sweeps sweeps, the most a run may take.
//
// Compulsory bytes: coordinates and values once (tew and ts: values alone), of each dense operand
// the rows that can occur, at most min(I_m, M), and the whole result; a contraction's result is
// left out, since its size follows from the patterns. Atomics: mttkrp, ttm_chain and spmm update a
// shared row per nonzero, one atomic add per column.
#include "common/method/work.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "common/method/problem.hpp"
#include "common/tensor/einsum.hpp"
#include "common/tensor/keys.hpp"

namespace retensor {
namespace {

constexpr double kIndexBytes = 4;

/// Q: pairs of nonzeros that agree in the contracted modes.
double products(const Coo& x, const Coo& y, const Contraction& c) {
  const auto in_x = sorted_keys(x, c.contracted_x);
  // The fields of y's keys must be as wide as those of x's: the contracted modes agree in length.
  const auto in_y = sorted_keys(y, c.contracted_y);
  double pairs = 0;
  auto y_run = in_y.begin();
  for (auto x_run = in_x.begin(); x_run != in_x.end();) {
    const auto x_end = std::upper_bound(x_run, in_x.end(), *x_run);
    y_run = std::lower_bound(y_run, in_y.end(), *x_run);
    const auto y_end = std::upper_bound(y_run, in_y.end(), *x_run);
    pairs += static_cast<double>(x_end - x_run) * static_cast<double>(y_end - y_run);
    x_run = x_end;
    y_run = y_end;
  }
  return pairs;
}

/// The problem's sizes as the formulas name them.
struct Sizes {
  explicit Sizes(const Problem& p)
      : N(p.x().order()),
        M(static_cast<double>(p.x().nnz())),
        R(static_cast<double>(p.rank())),
        v(static_cast<double>(size_of(p.dtype()))),
        dims(p.x().dims.begin(), p.x().dims.end()) {}

  /// Bytes of coordinates and values.
  double tensor() const { return (kIndexBytes * N + v) * M; }
  double length(int mode) const { return dims[mode]; }
  /// Bytes of the rows of a dense operand that can occur.
  double rows(int mode, double columns) const { return std::min(length(mode), M) * columns * v; }

  double N, M, R, v;
  std::vector<double> dims;
};

Work elementwise(const Sizes& s, double arrays) {
  return {s.M, arrays * s.v * s.M, arrays * s.v * s.M, 0};
}

/// ttm with `columns` columns; ttv is the case of one.
Work fiber_product(const Problem& p, const Sizes& s, double columns) {
  const auto mf = static_cast<double>(fiber_count(p.x(), p.mode()));
  const double result = (s.v * columns + kIndexBytes * (s.N - 1)) * mf;
  const double input = (s.v + kIndexBytes) * s.M;
  return {2 * s.M * columns, input + s.v * s.M * columns + result,
          input + s.rows(p.mode(), columns) + result, 0};
}

Work mttkrp(const Sizes& s, int mode) {
  Work w{s.N * s.M * s.R, s.N * s.v * s.M * s.R + s.tensor(), s.tensor(), s.M * s.R};
  for (int m = 0; m < static_cast<int>(s.dims.size()); ++m)
    w.compulsory_bytes += m == mode ? s.length(m) * s.R * s.v : s.rows(m, s.R);
  return w;
}

Work ttm_chain(const Problem& p, const Sizes& s) {
  double flops = 0, gathered = 0, block = 1;
  Work w{0, s.tensor(), s.tensor(), 0};
  for (int m = 0; m < p.x().order(); ++m) {
    if (m == p.mode()) continue;
    const auto columns = static_cast<double>(p.dense()[m].cols());
    block *= columns;
    flops += block;
    gathered += columns;
    w.compulsory_bytes += s.rows(m, columns);
  }
  w.flops = s.M * (flops + block);
  w.bytes += s.v * (gathered + block) * s.M;
  w.compulsory_bytes += s.length(p.mode()) * block * s.v;
  w.atomics = s.M * block;
  return w;
}

Work contraction(const Problem& p, const Sizes& s) {
  const Contraction c(p.spec().variant, p.x().dims, p.y().dims);
  const double q = products(p.x(), p.y(), c);
  const auto free_y = static_cast<double>(c.free_y.size());
  const double both = s.tensor() + static_cast<double>(p.y().bytes());
  return {2 * q, s.tensor() + (kIndexBytes * free_y + 2 * s.v) * q, both, 0};
}

Work mttkrp_all(const Sizes& s) {
  Work sum;
  for (int m = 0; m < static_cast<int>(s.dims.size()); ++m) sum += mttkrp(s, m);
  return sum;
}

Work cpd(const Problem& p, const Sizes& s) {
  Work sweep = mttkrp_all(s);
  for (int m = 0; m < p.x().order(); ++m) {
    const double factor = s.length(m) * s.R;
    sweep.flops += 4 * factor * s.R;
    sweep.bytes += 4 * s.v * factor;
  }
  const double sweeps = p.spec().max_sweeps;
  return {sweeps * sweep.flops, sweeps * sweep.bytes, sweeps * sweep.compulsory_bytes,
          sweeps * sweep.atomics};
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  flops += other.flops;
  bytes += other.bytes;
  compulsory_bytes += other.compulsory_bytes;
  atomics += other.atomics;
  return *this;
}

Work work_model(const Problem& problem) {
  using Model = Work (*)(const Problem&, const Sizes&);
  constexpr std::array<Model, 10> kModels = {
      // in the order of Operation
      [](const Problem&, const Sizes& s) { return elementwise(s, 3); },
      [](const Problem&, const Sizes& s) { return elementwise(s, 2); },
      [](const Problem& p, const Sizes& s) { return fiber_product(p, s, 1); },
      [](const Problem& p, const Sizes& s) { return fiber_product(p, s, s.R); },
      [](const Problem& p, const Sizes& s) { return mttkrp(s, p.mode()); },
      [](const Problem&, const Sizes& s) { return mttkrp_all(s); },
      ttm_chain,
      contraction,
      [](const Problem&, const Sizes& s) { return mttkrp(s, 0); },
      cpd};
  return kModels.at(static_cast<std::size_t>(problem.operation()))(problem, Sizes(problem));
}

}  // namespace retensor
