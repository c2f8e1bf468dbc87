// PASTA section III.B on OpenMP: COO-TEW-OMP, COO-TS-OMP, COO-TTV-OMP (Algorithm 1), COO-TTM-OMP;
// MTTKRP stands in mttkrp_cpu.cpp.
//
// TEW and TS stream the value arrays. TTV and TTM give each fiber to one thread, which owns the
// output element (row) of the fiber, so nothing is shared. Results beyond the last-level cache are
// written past it.
//
// Fibers of hypersparse tensors hold one or two nonzeros, so a loop per fiber would mostly wait for
// the mispredicted end of the loop before. TTV and TTM therefore have no branch per fiber: they
// store the running sum after every nonzero and move to the next output, with a sum of zero, after
// the last one of a fiber.
//
// Deviation from Algorithm 1: the printed loop accumulates into a local that is never stored; here
// the sum is stored once per fiber. Output indices are set by prepare, not in the timed kernel,
// since section III.B.1 counts them to the pre-processing.
#include "papers/pasta/kernels/shared_cpu.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "common/machine/machine.hpp"
#include "papers/pasta/kernels/vectors_cpu.hpp"

namespace retensor::pasta {
namespace {

using Signed = std::int64_t;  // OpenMP loops of gcc 12 vectorise better over signed counters

// Fibers whose result TTM writes at a time: a buffer well inside a first-level cache at rank 64.
constexpr Count kFiberGroup = 64;
// Groups a thread takes at once: long enough to hide the scheduler, short enough to level skewed
// fibers.
constexpr int kGroupChunk = 16;

template <class F>
void with(Arithmetic op, F&& loop) {
  switch (op) {
    case Arithmetic::add:
      return loop([](auto a, auto b) { return a + b; });
    case Arithmetic::sub:
      return loop([](auto a, auto b) { return a - b; });
    case Arithmetic::mul:
      return loop([](auto a, auto b) { return a * b; });
    case Arithmetic::div:
      return loop([](auto a, auto b) { return a / b; });
  }
}

// z[i] = f(load, i) for all elements, where load(p) is the element or the vector at p.
template <class T, class F>
void elementwise(std::span<T> z, Store how, int threads, F&& f) {
  constexpr Count kBlock = 4096;
  const auto element = [](const T* p) { return *p; };
  const auto vector = [](const T* p) { return vector_at(p); };
  const Count blocks = z.size() / kBlock;
  T* const to = z.data();
  const auto with_store = [&](auto put) {
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static) nowait
      for (Count block = 0; block < blocks; ++block)
        for (Count i = block * kBlock; i < (block + 1) * kBlock; i += VectorOf<T>::kWidth)
          put(f(vector, i), to + i);
      end_stream();
    }
  };
  if (how == Store::past_caches)
    with_store([](const Vector<T>& v, T* at) { stream(v, at); });
  else
    with_store([](const Vector<T>& v, T* at) { store(v, at); });
  for (Count i = blocks * kBlock; i < z.size(); ++i) to[i] = f(element, i);
}

// Sums of a range of fibers, one nonzero a step and without a branch. A step waits for the sum of
// the step before, so two ranges taken in turn are nearly twice as fast.
template <class T>
class FiberSums {
 public:
  RETENSOR_INLINE FiberSums(const Fibers<T>& x, MatrixView<const T> v, std::span<T> y, Count first,
                            Count end)
      : index_(x.index.data()),
        value_(x.value.data()),
        last_(x.last.data()),
        factor_(v.data),
        at_(x.start[first]),
        end_(x.start[end]),
        to_(y.data() + first) {}
  RETENSOR_INLINE Count left() const { return end_ - at_; }
  RETENSOR_INLINE void step() {
    sum_ += Lane{value_[at_] * factor_[index_[at_]]};
    *to_ = sum_[0];
    to_ += last_[at_];
    sum_ = reinterpret_cast<Lane>(reinterpret_cast<Mask>(sum_) & kKeep[last_[at_]]);
    ++at_;
  }

 private:
  // One number in a vector register, so that clearing it is a single operation on it.
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  typedef T Lane __attribute__((vector_size(16)));
  typedef Bits Mask __attribute__((vector_size(16)));
  static constexpr Mask kKeep[] = {~Mask{}, Mask{}};

  const Index* const index_;
  const T* const value_;
  const std::uint8_t* const last_;
  const T* const factor_;
  Count at_;
  const Count end_;
  T* to_;
  Lane sum_{};
};

// Rows of TTM's result for fibers first to end - 1, written one after the other to `to`.
template <class T, class S>
RETENSOR_INLINE void fiber_rows(S shape, const Fibers<T>& x, const T* factor, Count first,
                                Count end, T* to) {
  const Index* const index = x.index.data();
  const T* const value = x.value.data();
  auto sum = RowSum<T, S>::zero(shape, to);
  for (Count p = x.start[first], last = x.start[end]; p < last; ++p) {
    sum.add(value[p], {factor + index[p] * shape.rank()});
    to = sum.store_running(to, x.last[p]);
  }
}

// Copies n elements, whole vectors, past the caches.
template <class T>
RETENSOR_INLINE void stream_copy(const T* from, Count n, T* to) {
  for (Count i = 0; i < n; i += VectorOf<T>::kWidth) stream(vector_at(from + i), to + i);
}

}  // namespace

Store store_for(Count bytes) {
  return bytes > cpu_facts().llc_bytes ? Store::past_caches : Store::cached;
}

template <class T>
void tew(Arithmetic op, std::span<const T> x, std::span<const T> y, std::span<T> z, Store how,
         int threads) {
  const T* const a = x.data();
  const T* const b = y.data();
  with(op, [=](auto combine) {
    elementwise(z, how, threads,
                [=](auto load, Count i) { return combine(load(a + i), load(b + i)); });
  });
}

template <class T>
void tew_general(Arithmetic op, std::span<const T> x, std::span<const T> y,
                 std::span<const Count> from_x, std::span<const Count> from_y, std::span<T> z,
                 int threads) {
  const auto n = static_cast<Signed>(z.size());
  with(op, [&](auto f) {
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
void ts(Arithmetic op, std::span<const T> x, T s, std::span<T> z, Store how, int threads) {
  const T* const a = x.data();
  with(op, [=](auto combine) {
    elementwise(z, how, threads, [=](auto load, Count i) { return combine(load(a + i), s); });
  });
}

template <class T>
void ttv(const Fibers<T>& x, MatrixView<const T> v, std::span<T> y, int threads) {
  // Whole fibers with equal shares of the nonzeros, two parts a thread.
  const int parts = 2 * threads;
  const auto first_fiber = [&](int part) {
    const Count target = x.value.size() * static_cast<Count>(part) / static_cast<Count>(parts);
    return static_cast<Count>(std::lower_bound(x.start.begin(), x.start.end(), target) -
                              x.start.begin());
  };
  const auto sums = [&](int part) {
    return FiberSums<T>(x, v, y, first_fiber(part), first_fiber(part + 1));
  };
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < parts; part += 2) {
    auto a = sums(part), b = sums(part + 1);
    for (Count n = std::min(a.left(), b.left()); n > 0; --n) {
      a.step();
      b.step();
    }
    while (a.left() > 0) a.step();
    while (b.left() > 0) b.step();
  }
}

template <class T>
void ttm(const Fibers<T>& x, MatrixView<const T> u, std::span<T> y, Store how, int threads) {
  const Count fibers = x.count();
  const auto groups = static_cast<Signed>((fibers + kFiberGroup - 1) / kFiberGroup);
  with_rank<1>(u.cols, [&](auto shape) {
    constexpr Count kRank = decltype(shape)::kConstantRank;
    const bool stream_rows = kRank > 0 && how == Store::past_caches;
#pragma omp parallel num_threads(threads)
    {
      alignas(64) std::array<T, kFiberGroup * kRank> buffer{};
#pragma omp for schedule(dynamic, kGroupChunk) nowait
      for (Signed group = 0; group < groups; ++group) {
        const Count first = static_cast<Count>(group) * kFiberGroup;
        const Count end = std::min(first + kFiberGroup, fibers);
        T* const rows = y.data() + first * shape.rank();
        fiber_rows(shape, x, u.data, first, end, stream_rows ? buffer.data() : rows);
        if (stream_rows) stream_copy(buffer.data(), (end - first) * kRank, rows);
      }
      end_stream();
    }
  });
}

#define RETENSOR_INSTANTIATE(T)                                                                    \
  template void tew(Arithmetic, std::span<const T>, std::span<const T>, std::span<T>, Store, int); \
  template void tew_general(Arithmetic, std::span<const T>, std::span<const T>,                    \
                            std::span<const Count>, std::span<const Count>, std::span<T>, int);    \
  template void ts(Arithmetic, std::span<const T>, T, std::span<T>, Store, int);                   \
  template void ttv(const Fibers<T>&, MatrixView<const T>, std::span<T>, int);                     \
  template void ttm(const Fibers<T>&, MatrixView<const T>, std::span<T>, Store, int);
RETENSOR_INSTANTIATE(float)
RETENSOR_INSTANTIATE(double)
#undef RETENSOR_INSTANTIATE

}  // namespace retensor::pasta
