// PASTA section III.B on OpenMP: COO-TEW-OMP, COO-TS-OMP, COO-TTV-OMP (Algorithm 1), COO-TTM-OMP
// and COO-MTTKRP-OMP.
//
// TEW and TS stream the value arrays. TTV and TTM give each fiber to one thread, which owns the
// output element (row) of the fiber, so nothing is shared; chunks of fibers are handed out
// dynamically because fiber lengths differ. MTTKRP gives each nonzero to one thread and forms the
// product of factor rows in a scratch row; how rows reach the output is the variant.
//
// Deviation from Algorithm 1: the printed loop accumulates into a local that is never stored; here
// the sum is stored once per fiber. Output indices are set by prepare, not in the timed kernel,
// since section III.B.1 counts them to the pre-processing.
#include "papers/pasta/kernels.hpp"

#include <omp.h>

#include <algorithm>

namespace retensor::pasta {
namespace {

using Signed = std::int64_t;  // OpenMP loops of gcc 12 vectorise better over signed counters

// Fibers per chunk: long enough to hide the scheduler, short enough to level skewed fibers.
constexpr int kFiberChunk = 256;

template <class T, class F>
void with(Arithmetic op, F&& loop) {
  switch (op) {
    case Arithmetic::add:
      return loop([](T a, T b) { return a + b; });
    case Arithmetic::sub:
      return loop([](T a, T b) { return a - b; });
    case Arithmetic::mul:
      return loop([](T a, T b) { return a * b; });
    case Arithmetic::div:
      return loop([](T a, T b) { return a / b; });
  }
}

// row[r] = value * product of the factor rows of nonzero p.
template <class T>
inline void row_product(const MttkrpInput<T>& x, Signed p, std::uint64_t rank, T* __restrict row) {
  const T v = x.value[static_cast<std::size_t>(p)];
  for (std::uint64_t r = 0; r < rank; ++r) row[r] = v;
  for (std::size_t k = 0; k < x.other.size(); ++k) {
    const T* __restrict factor = x.factor[k].row(x.other[k][static_cast<std::size_t>(p)]);
#pragma omp simd
    for (std::uint64_t r = 0; r < rank; ++r) row[r] *= factor[r];
  }
}

template <class T>
T* scratch_row(std::span<T> scratch, std::uint64_t rank) {
  return scratch.data() + static_cast<std::uint64_t>(omp_get_thread_num()) * scratch_stride(rank);
}

}  // namespace

template <class T>
void tew(Arithmetic op, std::span<const T> x, std::span<const T> y, std::span<T> z, int threads) {
  const auto n = static_cast<Signed>(z.size());
  const T* __restrict a = x.data();
  const T* __restrict b = y.data();
  T* __restrict c = z.data();
  with<T>(op, [=](auto f) {
#pragma omp parallel for simd num_threads(threads) schedule(static)
    for (Signed i = 0; i < n; ++i) c[i] = f(a[i], b[i]);
  });
}

template <class T>
void tew_general(Arithmetic op, std::span<const T> x, std::span<const T> y,
                 std::span<const Count> from_x, std::span<const Count> from_y, std::span<T> z,
                 int threads) {
  const auto n = static_cast<Signed>(z.size());
  with<T>(op, [&](auto f) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (Signed i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const T a = from_x[at] == kAbsent ? T{0} : x[from_x[at]];
      const T b = from_y[at] == kAbsent ? T{0} : y[from_y[at]];
      z[at] = f(a, b);
    }
  });
}

template <class T>
void ts(Arithmetic op, std::span<const T> x, T s, std::span<T> z, int threads) {
  const auto n = static_cast<Signed>(z.size());
  const T* __restrict a = x.data();
  T* __restrict c = z.data();
  with<T>(op, [=](auto f) {
#pragma omp parallel for simd num_threads(threads) schedule(static)
    for (Signed i = 0; i < n; ++i) c[i] = f(a[i], s);
  });
}

template <class T>
void ttv(const Fibers<T>& x, MatrixView<const T> v, std::span<T> y, int threads) {
  const auto fibers = static_cast<Signed>(x.count());
#pragma omp parallel for num_threads(threads) schedule(dynamic, kFiberChunk)
  for (Signed f = 0; f < fibers; ++f) {
    const auto at = static_cast<std::size_t>(f);
    T sum{0};
    for (Count p = x.start[at]; p < x.start[at + 1]; ++p) sum += x.value[p] * *v.row(x.index[p]);
    y[at] = sum;
  }
}

template <class T>
void ttm(const Fibers<T>& x, MatrixView<const T> u, std::span<T> y, int threads) {
  const auto fibers = static_cast<Signed>(x.count());
  const std::uint64_t rank = u.cols;
#pragma omp parallel for num_threads(threads) schedule(dynamic, kFiberChunk)
  for (Signed f = 0; f < fibers; ++f) {
    const auto at = static_cast<std::size_t>(f);
    T* __restrict row = y.data() + at * rank;
    std::fill_n(row, rank, T{0});
    for (Count p = x.start[at]; p < x.start[at + 1]; ++p) {
      const T value = x.value[p];
      const T* __restrict factor = u.row(x.index[p]);
#pragma omp simd
      for (std::uint64_t r = 0; r < rank; ++r) row[r] += value * factor[r];
    }
  }
}

template <class T>
void mttkrp_atomic(const MttkrpInput<T>& x, MatrixView<T> out, std::span<T> scratch, int threads) {
  const auto n = static_cast<Signed>(x.value.size());
#pragma omp parallel num_threads(threads)
  {
    T* product = scratch_row(scratch, out.cols);
#pragma omp for schedule(static)
    for (Signed p = 0; p < n; ++p) {
      row_product(x, p, out.cols, product);
      T* row = out.row(x.row[static_cast<std::size_t>(p)]);
      for (std::uint64_t r = 0; r < out.cols; ++r) {
#pragma omp atomic
        row[r] += product[r];
      }
    }
  }
}

template <class T>
void mttkrp_private(const MttkrpInput<T>& x, MatrixView<T> out, std::span<T> partial,
                    std::span<T> scratch, int threads) {
  const auto n = static_cast<Signed>(x.value.size());
  const std::uint64_t rank = out.cols;
#pragma omp parallel num_threads(threads)
  {
    T* product = scratch_row(scratch, rank);
    T* mine = partial.data() + static_cast<std::uint64_t>(omp_get_thread_num()) * out.rows * rank;
#pragma omp for schedule(static)
    for (Signed p = 0; p < n; ++p) {
      row_product(x, p, rank, product);
      T* __restrict row = mine + x.row[static_cast<std::size_t>(p)] * rank;
#pragma omp simd
      for (std::uint64_t r = 0; r < rank; ++r) row[r] += product[r];
    }
  }
}

template <class T>
void reduce_partials(std::span<const T> partial, MatrixView<T> out, int threads) {
  const auto rows = static_cast<Signed>(out.rows);
  const std::uint64_t copy = out.rows * out.cols;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (Signed i = 0; i < rows; ++i) {
    T* __restrict row = out.row(static_cast<std::uint64_t>(i));
    const T* first = partial.data() + static_cast<std::uint64_t>(i) * out.cols;
    for (std::uint64_t r = 0; r < out.cols; ++r) row[r] = first[r];
    for (std::uint64_t at = copy; at < partial.size(); at += copy)
#pragma omp simd
      for (std::uint64_t r = 0; r < out.cols; ++r) row[r] += first[at + r];
  }
}

template <class T>
void mttkrp_owner(const MttkrpInput<T>& x, MatrixView<T> out, std::span<const Count> bounds,
                  std::span<T> scratch, int threads) {
#pragma omp parallel num_threads(threads)
  {
    T* product = scratch_row(scratch, out.cols);
    // The runtime may grant fewer threads than asked for; the parts are then shared out.
#pragma omp for schedule(static, 1)
    for (int part = 0; part < threads; ++part) {
      const auto at = static_cast<std::size_t>(part);
      for (Count p = bounds[at]; p < bounds[at + 1]; ++p) {
        row_product(x, static_cast<Signed>(p), out.cols, product);
        T* __restrict row = out.row(x.row[p]);
#pragma omp simd
        for (std::uint64_t r = 0; r < out.cols; ++r) row[r] += product[r];
      }
    }
  }
}

#define RETENSOR_INSTANTIATE(T)                                                                  \
  template void tew(Arithmetic, std::span<const T>, std::span<const T>, std::span<T>, int);      \
  template void tew_general(Arithmetic, std::span<const T>, std::span<const T>,                  \
                            std::span<const Count>, std::span<const Count>, std::span<T>, int);  \
  template void ts(Arithmetic, std::span<const T>, T, std::span<T>, int);                        \
  template void ttv(const Fibers<T>&, MatrixView<const T>, std::span<T>, int);                   \
  template void ttm(const Fibers<T>&, MatrixView<const T>, std::span<T>, int);                   \
  template void mttkrp_atomic(const MttkrpInput<T>&, MatrixView<T>, std::span<T>, int);          \
  template void mttkrp_private(const MttkrpInput<T>&, MatrixView<T>, std::span<T>, std::span<T>, \
                               int);                                                             \
  template void reduce_partials(std::span<const T>, MatrixView<T>, int);                         \
  template void mttkrp_owner(const MttkrpInput<T>&, MatrixView<T>, std::span<const Count>,       \
                             std::span<T>, int);
RETENSOR_INSTANTIATE(float)
RETENSOR_INSTANTIATE(double)
#undef RETENSOR_INSTANTIATE

}  // namespace retensor::pasta
