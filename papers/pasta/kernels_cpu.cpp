// PASTA section III.B on OpenMP: COO-TEW-OMP, COO-TS-OMP, COO-TTV-OMP (Algorithm 1), COO-TTM-OMP;
// MTTKRP stands in mttkrp_cpu.cpp.
//
// TEW and TS stream the value arrays. TTV and TTM give each fiber to one thread, which owns the
// output element (row) of the fiber, so nothing is shared; chunks of fibers are handed out
// dynamically because fiber lengths differ.
//
// Deviation from Algorithm 1: the printed loop accumulates into a local that is never stored; here
// the sum is stored once per fiber. Output indices are set by prepare, not in the timed kernel,
// since section III.B.1 counts them to the pre-processing.
#include "papers/pasta/kernels.hpp"

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

#define RETENSOR_INSTANTIATE(T)                                                                 \
  template void tew(Arithmetic, std::span<const T>, std::span<const T>, std::span<T>, int);     \
  template void tew_general(Arithmetic, std::span<const T>, std::span<const T>,                 \
                            std::span<const Count>, std::span<const Count>, std::span<T>, int); \
  template void ts(Arithmetic, std::span<const T>, T, std::span<T>, int);                       \
  template void ttv(const Fibers<T>&, MatrixView<const T>, std::span<T>, int);                  \
  template void ttm(const Fibers<T>&, MatrixView<const T>, std::span<T>, int);
RETENSOR_INSTANTIATE(float)
RETENSOR_INSTANTIATE(double)
#undef RETENSOR_INSTANTIATE

}  // namespace retensor::pasta
