// The run of pasta.cpu.packed; the algorithm stands in packed_cpu.hpp.
#include "papers/pasta/kernels/packed_cpu.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/run/cpu_run.hpp"
#include "common/tensor/matrix.hpp"

// The compiler's own measure stops at the many instances of these short functions.
#define RETENSOR_HERE [[gnu::always_inline]] inline
#if defined(__x86_64__)
#define RETENSOR_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2")))
#else
#define RETENSOR_AVX512
#endif

namespace retensor::pasta {
namespace {

template <class T>
struct VectorsOf {
  typedef T type __attribute__((vector_size(kVectorOf<T> * sizeof(T))));
};
template <class T>
using Lanes = typename VectorsOf<T>::type;

/// The columns that one pass over the nonzeros adds up: kVectors vectors of a row.
template <class T, int kVectors>
struct Sums {
  Lanes<T> of[kVectors];
};

/// Where the rows of a nonzero's factors lie; copies, so that the compiler need not load them again
/// after a store.
template <class T, int kFactors, class Word>
struct Rows {
  const T* factor[kFactors];
  int shift[kFactors];
  Word mask[kFactors];

  RETENSOR_HERE Rows(const PackedMttkrp<T>& m, std::size_t column) {
    for (int k = 0; k < kFactors; ++k) {
      const auto at = static_cast<std::size_t>(k);
      factor[k] = m.factor[at] + column;
      shift[k] = m.x->shift[at];
      mask[k] = static_cast<Word>((std::uint64_t{1} << m.x->width[at]) - 1);
    }
  }
  RETENSOR_HERE const T* row(int k, Word word, std::size_t stride) const {
    const Word index = k == 0              ? word >> shift[0]
                       : k == kFactors - 1 ? word & mask[k]
                                           : word >> shift[k] & mask[k];
    return factor[k] + index * stride;
  }
};

template <class T, int kVectors, int kFactors, class Word>
RETENSOR_HERE void add_nonzero(Sums<T, kVectors>& sums, const Rows<T, kFactors, Word>& rows,
                               Word word, T value, std::size_t stride) {
  const T* row[kFactors];
  for (int k = 0; k < kFactors; ++k) row[k] = rows.row(k, word, stride);
  for (std::size_t v = 0; v < kVectors; ++v) {
    Lanes<T> product, other;
    std::memcpy(&product, row[0] + kVectorOf<T> * v, sizeof product);
    for (int k = 1; k < kFactors; ++k) {
      std::memcpy(&other, row[k] + kVectorOf<T> * v, sizeof other);
      product *= other;
    }
    sums.of[v] += product * value;
  }
}

/// The sum of nonzeros p to end - 1, all of one row, to `to`.
template <int kVectors, class T, int kFactors, class Word>
RETENSOR_HERE void add_run(const Rows<T, kFactors, Word>& rows, const Word* word, const T* value,
                           Count p, Count end, std::size_t stride, T* to) {
  constexpr Count kChains = kVectors >= 4 ? 1 : 4 / kVectors;
  Sums<T, kVectors> sums[kChains] = {};
  for (; p + kChains <= end; p += kChains)
    for (Count c = 0; c < kChains; ++c)
      add_nonzero(sums[c], rows, word[p + c], value[p + c], stride);
  for (; p < end; ++p) add_nonzero(sums[0], rows, word[p], value[p], stride);
  for (Count c = 1; c < kChains; ++c)
    for (int v = 0; v < kVectors; ++v) sums[0].of[v] += sums[c].of[v];
  std::memcpy(to, sums[0].of, sizeof sums[0].of);
}

template <class T>
Count share_begin(const PackedMttkrp<T>& m, int share) {
  return m.x->nnz() * static_cast<Count>(share) / static_cast<Count>(m.shares);
}
std::size_t run_at(const PackedRows& x, Count p) {
  return static_cast<std::size_t>(std::ranges::upper_bound(x.run_start, p) - x.run_start.begin()) -
         1;
}

template <class T, int kVectors, int kFactors, class Word>
RETENSOR_HERE void add_share(const PackedMttkrp<T>& m, int share) {
  const PackedRows& x = *m.x;
  const Word* const word = std::get<Array<Word>>(x.words).data();
  const T* const value = x.values.as<T>().data();
  const Count begin = share_begin(m, share), end = share_begin(m, share + 1);
  for (std::size_t column = 0; column < m.stride; column += kVectors * kVectorOf<T>) {
    const Rows<T, kFactors, Word> rows(m, column);
    Count p = begin;
    for (std::size_t run = run_at(x, p); p < end; ++run) {
      const Count last = std::min(end, x.run_start[run + 1]);
      T* const row = p > x.run_start[run] ? m.carry + static_cast<std::size_t>(share) * m.stride
                                          : m.out + x.run_row[run] * m.stride;
      add_run<kVectors>(rows, word, value, p, last, m.stride, row + column);
      p = last;
    }
  }
}

template <class T>
using Share = void (*)(const PackedMttkrp<T>&, int);

template <class T, int kVectors, int kFactors, class Word>
RETENSOR_AVX512 void add_share_avx512(const PackedMttkrp<T>& m, int share) {
  add_share<T, kVectors, kFactors, Word>(m, share);
}
template <class T, int kVectors, int kFactors, class Word>
void add_share_compiled(const PackedMttkrp<T>& m, int share) {
  add_share<T, kVectors, kFactors, Word>(m, share);
}

template <class T, int kVectors, int kFactors>
Share<T> share_of_words(bool wide, Vectors vectors) {
  if (vectors == Vectors::avx512)
    return wide ? add_share_avx512<T, kVectors, kFactors, std::uint64_t>
                : add_share_avx512<T, kVectors, kFactors, std::uint32_t>;
  return wide ? add_share_compiled<T, kVectors, kFactors, std::uint64_t>
              : add_share_compiled<T, kVectors, kFactors, std::uint32_t>;
}

template <class T, int kFactors>
Share<T> share_of_stride(std::size_t stride, bool wide, Vectors vectors) {
  if (stride % (4 * kVectorOf<T>) == 0) return share_of_words<T, 4, kFactors>(wide, vectors);
  if (stride % (2 * kVectorOf<T>) == 0) return share_of_words<T, 2, kFactors>(wide, vectors);
  return share_of_words<T, 1, kFactors>(wide, vectors);
}

template <class T>
Share<T> share_of(const PackedMttkrp<T>& m, Vectors vectors) {
  const bool wide = std::holds_alternative<Array<std::uint64_t>>(m.x->words);
  switch (m.x->others.size()) {
    case 1:
      return share_of_stride<T, 1>(m.stride, wide, vectors);
    case 2:
      return share_of_stride<T, 2>(m.stride, wide, vectors);
    case 3:
      return share_of_stride<T, 3>(m.stride, wide, vectors);
    default:
      return share_of_stride<T, 4>(m.stride, wide, vectors);
  }
}

}  // namespace

Vectors widest_vectors() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Vectors::avx512;
#endif
  return Vectors::compiled;
}

template <class T>
void mttkrp_packed(const PackedMttkrp<T>& m, Vectors vectors) {
  const auto add = share_of(m, vectors);
#pragma omp parallel for num_threads(m.shares) schedule(static, 1)
  for (int share = 0; share < m.shares; ++share) add(m, share);
  for (int share = 1; share < m.shares; ++share) {
    const Count p = share_begin(m, share);
    if (p == share_begin(m, share + 1)) continue;
    const std::size_t run = run_at(*m.x, p);
    if (m.x->run_start[run] == p) continue;
    T* const to = m.out + m.x->run_row[run] * m.stride;
    const T* const from = m.carry + static_cast<std::size_t>(share) * m.stride;
    for (std::size_t r = 0; r < m.stride; ++r) to[r] += from[r];
  }
}

template void mttkrp_packed(const PackedMttkrp<float>&, Vectors);
template void mttkrp_packed(const PackedMttkrp<double>&, Vectors);

namespace {

template <class T>
class PackedRun : public CpuRun {
 public:
  PackedRun(const Problem& problem, int threads)
      : CpuRun(problem, threads, "MTTKRP on packed rows"),
        x_(to_packed_rows(problem.x(), problem.mode())),
        vectors_(widest_vectors()) {
    m_.x = &x_;
    m_.shares = threads;
    m_.stride = padded_stride<T>(problem.rank());
    out_.assign(x_.dims[static_cast<std::size_t>(x_.mode)] * m_.stride, 0);
    carry_.assign(static_cast<std::size_t>(threads) * m_.stride, 0);
    m_.out = out_.data(), m_.carry = carry_.data();
    factors_.resize(x_.others.size());
    for (const int mode : x_.others) PackedRun::refresh(mode);
    executed_["vectors"] = vectors_ == Vectors::avx512 ? "512 bits" : "as compiled";
    executed_["word_bits"] = std::holds_alternative<Array<std::uint32_t>>(x_.words) ? "32" : "64";
    format_bytes_ = x_.bytes() + (out_.size() + carry_.size()) * sizeof(T);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    if (x_.nnz() > 0) mttkrp_packed(m_, vectors_);
  }

  void refresh(int mode) override {
    const auto at = std::ranges::find(x_.others, mode);
    if (at == x_.others.end()) return;
    const auto k = static_cast<std::size_t>(at - x_.others.begin());
    const auto from = problem_.dense()[static_cast<std::size_t>(mode)].template view<T>();
    factors_[k].resize(from.rows * m_.stride, 0);
    for (Count i = 0; i < from.rows; ++i)
      std::copy_n(from.row(i), from.cols, &factors_[k][i * m_.stride]);
    m_.factor[k] = factors_[k].data();
  }

  Result result() override {
    Matrix matrix(x_.dims[static_cast<std::size_t>(x_.mode)], problem_.rank(), problem_.dtype());
    const auto to = matrix.view<T>();
    for (Count i = 0; i < to.rows; ++i) std::copy_n(&out_[i * m_.stride], to.cols, to.row(i));
    return matrix;
  }

 private:
  const PackedRows x_;
  const Vectors vectors_;
  PackedMttkrp<T> m_;
  std::vector<Array<T>> factors_;
  Array<T> out_, carry_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_packed_cpu(const Problem& problem, const Params& params) {
  const int threads = thread_count(params);
  if (problem.dtype() == DType::f32) return std::make_unique<PackedRun<float>>(problem, threads);
  return std::make_unique<PackedRun<double>>(problem, threads);
}

}  // namespace retensor::pasta
