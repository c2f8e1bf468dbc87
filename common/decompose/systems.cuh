// The small systems of CP-ALS on the device, R x R in fp64, by one thread block: norms, weights and
// fit of what the rows' sums say, and the matrix W by which the next mode's MTTKRP is multiplied.
// Included by .cu files alone.
//
// Factors keep the norms that they are written with. With d the product of the norms of the other
// modes' columns, and V the entrywise product of the Gram matrices of their normalised columns,
// A = M diag(1/d) V^+ is the factor of textbooks before it is normalised (als.hpp). Dividing column
// r by its norm of the sweep before leaves columns near norm 1: W = diag(1/d) V^+ diag(1/scale).
// The weights are scale times the norms that come out.
#pragma once

#include <cuda_runtime.h>

#include "common/core/types.hpp"
#include "common/decompose/rounding.hpp"
#include "common/device/warp.cuh"

namespace retensor::cpd {

constexpr unsigned kSystemThreads = 1024;

/// All of `width` R rounded up to whole chunks: a matrix is width x width, R x R of it are used.
template <class T>
struct System {
  unsigned rank, width;
  int order;
  double* grams;     ///< [mode][width][width]
  double* norms;     ///< [mode][width], of the columns of the factors
  double* scales;    ///< [mode][width], by which they were divided
  double* weights;   ///< [width]
  double* products;  ///< [width], column sums of M o A of the last update
  double* room;      ///< 2 rank^2
  T* w;
  double* told;          ///< [slot][2], |model|^2 and <X, model>, in the host's memory
  unsigned* told_count;  ///< of the sweeps so far
  unsigned slots;
};

/// The sum over the thread block, in every thread.
inline __device__ double sum_of_block(double value) {
  __shared__ double sums[32];
  const auto plus = [](double a, double b) { return a + b; };
  value = device::joined_by_warp(value, plus);
  __syncthreads();
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  return device::joined_by_warp(sums[threadIdx.x % 32], plus);
}

/// Calls f(i, j) for the entries of an n x n matrix, in threads of rows of 32.
template <class F>
__device__ void for_entries(unsigned n, F&& f) {
  for (unsigned i = threadIdx.x / 32; i < n; i += kSystemThreads / 32)
    for (unsigned j = threadIdx.x % 32; j < n; j += 32) f(i, j);
}

template <class F>
__device__ void for_columns(unsigned n, F&& f) {
  for (unsigned r = threadIdx.x; r < n; r += kSystemThreads) f(r);
}

/// a = a^-1 for a symmetric positive definite matrix, in place, by Gauss-Jordan elimination, whose
/// pivots are those of Cholesky's factorisation. Column k of what is left equals row k but for the
/// sign of entries above the diagonal, so that a step waits once: it leaves the next step's row in
/// the other of two `rows`. False, and a is lost, where a pivot is no larger than `least`, or where
/// an eigenvalue may be: pivots can be far larger than the least eigenvalue, which is at least one
/// over the trace of the inverse.
inline __device__ bool invert(double* a, unsigned n, double* const (&rows)[2], double least) {
  for_columns(n, [&](unsigned j) { rows[0][j] = a[j]; });
  __syncthreads();
  for (unsigned k = 0; k < n; ++k) {
    const double* const row = rows[k % 2];
    double* const next = rows[(k + 1) % 2];
    if (!(row[k] > least)) return false;  // the same for all threads
    const double inverse = __drcp_rn(row[k]);
    for_entries(n, [&](unsigned i, unsigned j) {
      const double of_row = j == k ? inverse : row[j] * inverse;
      const double before = j == k ? 0 : a[i * n + j];
      const double after = i == k ? of_row : before - (i < k ? -row[i] : row[i]) * of_row;
      a[i * n + j] = after;
      if (i == k + 1) next[j] = after;
    });
    __syncthreads();
  }
  double trace = 0;
  for_columns(n, [&](unsigned r) { trace += a[r * n + r]; });
  return least * sum_of_block(trace) < 1;
}

/// Columns p < q that are rotated against each other, and the rotation.
struct Rotation {
  unsigned p, q;
  double cosine, sine;
  __device__ void apply(double& at_p, double& at_q) const {
    const double before = at_p;
    at_p = cosine * before - sine * at_q;
    at_q = sine * before + cosine * at_q;
  }
};

/// Pair k of a round in which each of n columns meets another, n even: column 0 stays, the others
/// move on from round to round.
inline __device__ Rotation rotation_of(const double* a, unsigned n, unsigned even, unsigned round,
                                       unsigned k) {
  const auto player = [&](unsigned at) { return at == 0 ? 0 : (at - 1 + round) % (even - 1) + 1; };
  const unsigned one = player(k), other = player(even - 1 - k);
  Rotation of{min(one, other), max(one, other), 1, 0};
  if (of.q >= n) return of;
  const double between = a[of.p * n + of.q];
  if (between == 0) return of;
  const double theta = (a[of.q * n + of.q] - a[of.p * n + of.p]) / (2 * between);
  const double t = copysign(1 / (fabs(theta) + sqrt(theta * theta + 1)), theta);
  of.cosine = rsqrt(t * t + 1);
  of.sine = t * of.cosine;
  return of;
}

/// a = f(a) for a symmetric positive semidefinite matrix, f taking its eigenvalues but for those
/// that are no larger than `rounding` of the largest, which become 0, by Jacobi's rotations, which
/// make q its eigenvectors. `rotations` has room for (n + 1) / 2.
template <class F>
__device__ void apply_to_eigenvalues(double* a, double* q, unsigned n, double rounding,
                                     double* values, Rotation* rotations, F&& f) {
  constexpr int kMostRounds = 30;  // over all pairs; 6 to 10 do for any matrix seen
  const unsigned even = n + n % 2;
  for_entries(n, [&](unsigned i, unsigned j) { q[i * n + j] = i == j ? 1 : 0; });
  for (int turn = 0; turn < kMostRounds; ++turn) {
    double beside = 0, all = 0;
    __syncthreads();
    for_entries(n, [&](unsigned i, unsigned j) {
      const double square = a[i * n + j] * a[i * n + j];
      all += square;
      if (i != j) beside += square;
    });
    beside = sum_of_block(beside), all = sum_of_block(all);
    if (beside <= n * n * 0x1p-104 * all) break;  // rounding, which more rotations would add to
    for (unsigned round = 0; round + 1 < even; ++round) {
      for_columns(even / 2, [&](unsigned k) { rotations[k] = rotation_of(a, n, even, round, k); });
      __syncthreads();
      const auto for_pairs = [&](auto&& f) {
        for (unsigned k = threadIdx.x / 32; k < even / 2; k += kSystemThreads / 32)
          if (rotations[k].q < n)
            for (unsigned i = threadIdx.x % 32; i < n; i += 32) f(rotations[k], i);
        __syncthreads();
      };
      for_pairs(
          [&](const Rotation& of, unsigned i) { of.apply(a[of.p * n + i], a[of.q * n + i]); });
      for_pairs([&](const Rotation& of, unsigned i) {
        of.apply(a[i * n + of.p], a[i * n + of.q]);
        of.apply(q[i * n + of.p], q[i * n + of.q]);
      });
    }
  }
  __syncthreads();
  double largest = 0;
  for (unsigned r = 0; r < n; ++r) largest = max(largest, a[r * n + r]);
  for_columns(n, [&](unsigned r) {
    const double value = a[r * n + r];
    values[r] = value > rounding * largest ? f(value) : 0;
  });
  __syncthreads();
  for_entries(n, [&](unsigned i, unsigned j) {
    double sum = 0;
    for (unsigned r = 0; r < n; ++r) sum += q[i * n + r] * q[j * n + r] * values[r];
    a[i * n + j] = sum;
  });
  __syncthreads();
}

/// Numbers of a thread block, [mode][column] and [column].
struct Columns {
  double *inverse_norms, *row, *column, *values;
  Rotation* rotations;
  double* system;  ///< rank x rank
  __device__ Columns(double* shared, unsigned rank, int order)
      : inverse_norms(shared),
        row(shared + order * rank),
        column(row + rank),
        values(column + rank),
        rotations(reinterpret_cast<Rotation*>(values + rank)),
        system(reinterpret_cast<double*>(rotations + (rank + 1) / 2)) {}
};
/// Bytes of them without the system.
inline Count bytes_of_columns(unsigned rank, int order) {
  return (order + 3) * Count{rank} * sizeof(double) + (rank + 1) / 2 * sizeof(Rotation);
}

/// The entrywise product of the Gram matrices of normalised columns, of all modes but `left_out`.
template <class T>
__device__ double entry_of_system(const System<T>& x, const double* inverse_norms, int left_out,
                                  unsigned i, unsigned j) {
  double product = 1;
  for (int m = 0; m < x.order; ++m) {
    if (m == left_out) continue;
    const double* const inverse = inverse_norms + m * x.rank;
    product *= x.grams[(m * x.width + i) * x.width + j] * (inverse[i] * inverse[j]);
  }
  return product;
}

/// The inverse of the product of the norms of column r, of all modes but `left_out`; 0 for 0.
template <class T>
__device__ double inverse_norm(const System<T>& x, const double* inverse_norms, int left_out,
                               unsigned r) {
  double product = 1;
  for (int m = 0; m < x.order; ++m)
    if (m != left_out) product *= inverse_norms[m * x.rank + r];
  return product;
}

/// |model|^2 and <X, model> after an update of `mode`, the last of a sweep, to the host.
template <class T>
__device__ void tell(const System<T>& x, const double* inverse_norms, int mode) {
  double square = 0, inner = 0;
  for_entries(x.rank, [&](unsigned i, unsigned j) {
    square += x.weights[i] * x.weights[j] * entry_of_system(x, inverse_norms, -1, i, j);
  });
  for_columns(x.rank, [&](unsigned r) {
    inner += x.scales[mode * x.width + r] * x.products[r] * inverse_norm(x, inverse_norms, mode, r);
  });
  square = sum_of_block(square), inner = sum_of_block(inner);
  if (threadIdx.x != 0) return;
  double* const slot = x.told + 2 * (*x.told_count % x.slots);
  slot[0] = square, slot[1] = inner;
  ++*x.told_count;
}

/// After an update of `updated` (-1: of all modes, which begin): norms, weights, and at the end of
/// a sweep what the fit takes. Leaves the inverse norms in `of`.
template <class T>
__device__ void take_update(const System<T>& x, const Columns& of, int updated, int next) {
  const bool begins = updated < 0;
  for_columns(x.order * x.rank, [&](unsigned k) {
    const unsigned m = k / x.rank, r = k % x.rank;
    double& norm = x.norms[m * x.width + r];
    double& scale = x.scales[m * x.width + r];
    if (begins) scale = 1;
    if (begins || m == static_cast<unsigned>(updated))
      norm = sqrt(x.grams[(m * x.width + r) * x.width + r]);
    if (m == static_cast<unsigned>(updated)) x.weights[r] = scale * norm;
    of.inverse_norms[k] = norm > 0 ? 1 / norm : 0;
  });
  if (begins && threadIdx.x == 0) *x.told_count = 0;
  __syncthreads();
  if (!begins && next == 0) tell(x, of.inverse_norms, updated);
}

/// By which the columns of the next update of `updated` are divided.
template <class T>
__device__ void keep_scale(const System<T>& x, int updated, unsigned r) {
  if (updated >= 0) x.scales[updated * x.width + r] = x.weights[r] > 0 ? x.weights[r] : 1;
}

/// take_update(), then W of the mode `next`. Shared memory holds Columns, with the system where
/// `in_shared` says so.
template <class T>
__global__ void __launch_bounds__(kSystemThreads)
    prepare_mode(System<T> x, int updated, int next, bool in_shared) {
  extern __shared__ double shared[];
  const Columns of(shared, x.rank, x.order);
  double* const a = in_shared ? of.system : x.room;
  take_update(x, of, updated, next);
  const auto fill = [&] {
    for_entries(x.rank, [&](unsigned i, unsigned j) {
      a[i * x.rank + j] = entry_of_system(x, of.inverse_norms, next, i, j);
    });
    __syncthreads();
  };
  fill();
  const double rounding = rounding_of_system<T>(x.rank);
  if (!invert(a, x.rank, {of.row, of.column}, rounding)) {
    __syncthreads();
    fill();
    apply_to_eigenvalues(a, x.room + x.rank * x.rank, x.rank, rounding, of.values, of.rotations,
                         [](double value) { return 1 / value; });
  }
  for_columns(x.rank, [&](unsigned r) {
    of.row[r] = inverse_norm(x, of.inverse_norms, next, r);
    of.column[r] = 1 / x.scales[next * x.width + r];
    keep_scale(x, updated, r);
  });
  __syncthreads();
  for_entries(x.rank, [&](unsigned i, unsigned j) {
    x.w[i * x.width + j] = static_cast<T>(of.row[i] * a[i * x.rank + j] * of.column[j]);
  });
}

/// take_update(), then what the rows of a non-negative factor of the mode `next` descend by
/// (descent_rows.cuh): V, and the coefficients of columns.
template <class T>
__global__ void __launch_bounds__(kSystemThreads)
    prepare_descent(System<T> x, int updated, int next, double* coefficients) {
  extern __shared__ double shared[];
  const Columns of(shared, x.rank, x.order);
  take_update(x, of, updated, next);
  for_entries(x.rank, [&](unsigned i, unsigned j) {
    x.w[i * x.width + j] = static_cast<T>(entry_of_system(x, of.inverse_norms, next, i, j));
  });
  for_columns(x.rank, [&](unsigned r) {
    coefficients[r] = inverse_norm(x, of.inverse_norms, next, r);
    coefficients[x.width + r] = x.weights[r] * of.inverse_norms[next * x.rank + r];
    coefficients[2 * x.width + r] = 1 / x.scales[next * x.width + r];
    keep_scale(x, updated, r);
  });
}

/// Weights of a model whose factors begin with columns of any norms: those at hand, or with
/// `nearest` the one number at which the model is nearest to the tensor (of `products`, the column
/// sums of M o A of any mode), times the norms.
template <class T>
__global__ void __launch_bounds__(kSystemThreads) weigh(System<T> x, bool nearest) {
  double square = 0, inner = 0;
  for_entries(x.rank, [&](unsigned i, unsigned j) {
    double product = 1;
    for (int m = 0; m < x.order; ++m) product *= x.grams[(m * x.width + i) * x.width + j];
    square += product;
  });
  for_columns(x.rank, [&](unsigned r) { inner += x.products[r]; });
  square = sum_of_block(square), inner = sum_of_block(inner);
  const double scale = square > 0 ? max(0.0, inner / square) : 0;
  for_columns(x.rank, [&](unsigned r) {
    double weight = nearest ? scale : x.weights[r];
    for (int m = 0; m < x.order; ++m) weight *= x.norms[m * x.width + r];
    x.weights[r] = weight;
  });
}

/// W = (M^T M)^(-1/2), by which M W is the orthonormal matrix next to M, from the Gram matrix of M.
template <class T>
__global__ void __launch_bounds__(kSystemThreads)
    prepare_orthonormal(System<T> x, const double* gram, bool in_shared) {
  extern __shared__ double shared[];
  const Columns of(shared, x.rank, x.order);
  double* const a = in_shared ? of.system : x.room;
  for_entries(x.rank, [&](unsigned i, unsigned j) { a[i * x.rank + j] = gram[i * x.width + j]; });
  apply_to_eigenvalues(a, x.room + x.rank * x.rank, x.rank, rounding_of_gram<T>(x.rank), of.values,
                       of.rotations, [](double value) { return rsqrt(value); });
  for_entries(x.rank, [&](unsigned i, unsigned j) {
    x.w[i * x.width + j] = static_cast<T>(a[i * x.rank + j]);
  });
}

}  // namespace retensor::cpd
