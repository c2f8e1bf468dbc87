// Ceilings of the host in the manner of the Empirical Roofline Tool (PASTA section V.B): copy and
// triad over working sets from L2 to four times the last-level cache at most, with 1, 2, 4 ...
// threads and with ordinary and non-temporal stores; random access to rows of 128 bytes (32
// single-precision numbers) and records of 16; multiply-adds in registers. Bytes are those the
// kernel names, read plus written, without the reads that a cache makes to complete a line.
#include <omp.h>

#include <memory>

#include <fmt/format.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/core/rng.hpp"
#include "common/machine/ceilings.hpp"
#include "common/machine/machine.hpp"

namespace retensor {
namespace {

constexpr std::size_t kRowFloats = 32;

/// Keeps the compiler from merging or dropping passes over the same memory.
inline void touch(const void* p) {
  asm volatile("" : : "r"(p) : "memory");
}

struct Share {
  std::size_t begin, end;
};
/// Thread t's part of n elements in whole multiples of 16, so that vectors stay aligned.
Share share(std::size_t n, int t, int threads) {
  const std::size_t units = n / 16, parts = static_cast<std::size_t>(threads);
  const auto at = static_cast<std::size_t>(t);
  return {units * at / parts * 16, units * (at + 1) / parts * 16};
}

/// Numbers on lines of the cache, first touched by the threads that will use them.
class Array {
 public:
  Array(std::size_t n, int threads)
      : lines_(n / kLineFloats), data_(std::make_unique_for_overwrite<Line[]>(lines_)) {
    float* const p = data();
#pragma omp parallel num_threads(threads)
    {
      const Share s = share(size(), omp_get_thread_num(), threads);
      std::fill(p + s.begin, p + s.end, 1.0F);
    }
  }
  float* data() {
    return data_[0].of;
  }
  std::size_t size() const {
    return lines_ * kLineFloats;
  }

 private:
  static constexpr std::size_t kLineFloats = 16;
  struct alignas(64) Line {
    float of[kLineFloats];
  };
  std::size_t lines_;
  std::unique_ptr<Line[]> data_;
};

void copy(const float* from, float* to, Share s) {
  for (std::size_t i = s.begin; i < s.end; ++i) to[i] = from[i];
}

void triad(const float* b, const float* c, float* a, Share s) {
  for (std::size_t i = s.begin; i < s.end; ++i) a[i] = b[i] + 0.5F * c[i];
}

#if defined(__AVX__)
void copy_streaming(const float* from, float* to, Share s) {
  for (std::size_t i = s.begin; i < s.end; i += 8)
    _mm256_stream_ps(to + i, _mm256_load_ps(from + i));
  _mm_sfence();
}

void triad_streaming(const float* b, const float* c, float* a, Share s) {
  const __m256 scale = _mm256_set1_ps(0.5F);
  for (std::size_t i = s.begin; i < s.end; i += 8)
    _mm256_stream_ps(
        a + i, _mm256_add_ps(_mm256_load_ps(b + i), _mm256_mul_ps(scale, _mm256_load_ps(c + i))));
  _mm_sfence();
}
#endif

/// Runs `pass(share)` on every thread `passes` times and returns the seconds.
template <class Pass>
double on_threads(int threads, std::size_t n, int passes, Pass&& pass) {
  const double begin = omp_get_wtime();
#pragma omp parallel num_threads(threads)
  {
    const Share mine = share(n, omp_get_thread_num(), threads);
    for (int k = 0; k < passes; ++k) pass(mine);
  }
  return omp_get_wtime() - begin;
}

typedef float Vector256 __attribute__((vector_size(32)));
typedef float Vector512 __attribute__((vector_size(64)));

/// Register-resident multiply-adds, 12 independent chains of vectors: more than latency times issue
/// width of current cores (4 x 2), few enough for 16 registers. Returns the flops.
template <class Vector>
[[gnu::always_inline]] inline double multiply_add(int steps) {
  constexpr int kChains = 12;
  constexpr int kLanes = static_cast<int>(sizeof(Vector) / sizeof(float));
  Vector sum[kChains];
  Vector scale, shift;
  for (int lane = 0; lane < kLanes; ++lane) {
    scale[lane] = 0.999F;
    shift[lane] = 0.001F;
    for (auto& s : sum) s[lane] = static_cast<float>(lane);
  }
  for (int step = 0; step < steps; ++step)
    for (auto& s : sum) s = s * scale + shift;
  for (auto& s : sum) asm volatile("" : : "m"(s));
  return 2.0 * kChains * kLanes * steps;
}

double multiply_add_of_build(int steps) {
  return multiply_add<Vector256>(steps);
}
#if defined(__x86_64__)
[[gnu::target("avx512f,fma")]] double multiply_add_512(int steps) {
  return multiply_add<Vector512>(steps);
}
#endif

double sum_rows(const float* table, const std::vector<Index>& rows, Share s) {
  float sum[kRowFloats] = {};
  for (std::size_t i = s.begin; i < s.end; ++i) {
    const float* row = table + std::size_t{rows[i]} * kRowFloats;
    for (std::size_t c = 0; c < kRowFloats; ++c) sum[c] += row[c];
  }
  touch(sum);
  return sum[0];
}

void add_rows(float* table, const std::vector<Index>& rows, Share s) {
  for (std::size_t i = s.begin; i < s.end; ++i) {
    float* row = table + std::size_t{rows[i]} * kRowFloats;
    for (std::size_t c = 0; c < kRowFloats; ++c) {
#pragma omp atomic
      row[c] += 1.0F;
    }
  }
}

struct alignas(16) Record {
  std::uint32_t word[4];
};

void scatter(const Record* from, Record* to, const std::vector<Index>& place, Share s) {
  for (std::size_t i = s.begin; i < s.end; ++i) to[place[i]] = from[i];
}

std::vector<Index> random_below(std::size_t n, std::uint64_t limit) {
  std::vector<Index> drawn(n);
  const CounterRng rng(1);
  for (std::size_t i = 0; i < n; ++i) drawn[i] = static_cast<Index>(rng.below(i, limit));
  return drawn;
}

/// Working sets in bytes and the list that the probes fill.
class Probes {
 public:
  explicit Probes(double seconds) {
    const CpuFacts cpu = cpu_facts();
    constexpr Count kSmallestSet = Count{1} << 20, kLargestSet = Count{1} << 30;
    constexpr Count kUnknownCache = Count{32} << 20;
    llc_ = cpu.llc_bytes > 0 ? cpu.llc_bytes : kUnknownCache;
    l2_ = std::max(cpu.l2_bytes, kSmallestSet);
    dram_ = std::min({4 * llc_, kLargestSet, cpu.memory_bytes / 8});
    for (int t = 1; t < cpu.threads_used; t *= 2) threads_.push_back(t);
    threads_.push_back(cpu.threads_used);
    // Eight kinds of probe per thread count, about four variants each.
    budget_ = seconds / (32.0 * static_cast<double>(threads_.size()));
  }

  std::vector<Ceiling> all() {
    for (const int t : threads_) {
      peak(t);
      for (Count set = 2 * l2_ * static_cast<Count>(t); set <= llc_ / 2; set *= 2)
        for (const char* what : {"copy_llc", "triad_llc"}) streams(what, set, t);
      // Nothing smaller: with stores past the cache, half of a set is all that could stay in it.
      // Fewer than half of the threads load the memory no more than half of them do.
      if (2 * t >= threads_.back())
        for (const char* what : {"copy_dram", "triad_dram"}) streams(what, dram_, t);
    }
    for (const Count table : {llc_ / 2, dram_}) rows(table);
    records();
    return std::move(found_);
  }

 private:
  template <class Attempt>
  void probe(const std::string& what, const char* unit, const std::string& detail,
             Attempt&& attempt) {
    keep_best(found_, {what, best_rate(budget_, attempt), unit, detail});
  }

  static std::string describe(const char* kernel, Count set, int threads) {
    return fmt::format("{}, {} MiB, {} threads", kernel, set >> 20, threads);
  }

  template <class Pass>
  void stream(const std::string& what, const char* kernel, Count set, int threads, std::size_t n,
              Pass&& pass) {
    // Enough passes that entering the parallel region does not count.
    const int passes = static_cast<int>(std::max<Count>(1, (Count{64} << 20) / set));
    probe(what, "GB/s", describe(kernel, set, threads), [&] {
      return std::pair(static_cast<double>(set) * passes, on_threads(threads, n, passes, pass));
    });
  }

  void streams(const std::string& what, Count set, int threads) {
    const std::size_t arrays = what.starts_with("triad") ? 3 : 2;
    const std::size_t n = set / arrays / sizeof(float);
    Array a(n, threads), b(n, threads), c(arrays == 3 ? n : 16, threads);
    float *to = a.data(), *from = b.data(), *also = c.data();
    const auto run = [&](const char* kernel, auto&& pass) {
      stream(what, kernel, arrays * a.size() * sizeof(float), threads, a.size(), [&](Share s) {
        pass(s);
        touch(to);
      });
    };
    if (arrays == 3)
      run("ordinary stores", [=](Share s) { triad(from, also, to, s); });
    else
      run("ordinary stores", [=](Share s) { copy(from, to, s); });
#if defined(__AVX__)
    if (what == "triad_dram")
      run("non-temporal stores", [=](Share s) { triad_streaming(from, also, to, s); });
    if (what == "copy_dram")
      run("non-temporal stores", [=](Share s) { copy_streaming(from, to, s); });
#endif
  }

  void peak(int threads) {
    constexpr int kSteps = 100'000;
    const auto run = [&](const char* kernel, double (*flops)(int)) {
      probe("peak_f32", "GFLOP/s", fmt::format("{}, {} threads", kernel, threads), [=] {
        const double seconds = on_threads(threads, 16, 1, [=](Share) { flops(kSteps); });
        return std::pair(flops(1) * kSteps * threads, seconds);
      });
    };
    run("256-bit vectors", multiply_add_of_build);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) run("512-bit vectors", multiply_add_512);
#endif
  }

  void rows(Count table_bytes) {
    constexpr std::size_t kRows = std::size_t{1} << 18;
    Array table(table_bytes / sizeof(float), threads_.back());
    const auto drawn = random_below(kRows, table.size() / kRowFloats);
    const std::string where = table_bytes == dram_ ? "_dram" : "";
    const auto run = [&](const std::string& what, const char* unit, double amount, auto&& pass) {
      for (const int t : threads_)
        probe(what + where, unit, describe("rows of 128 bytes", table_bytes, t),
              [&] { return std::pair(amount * kRows, on_threads(t, kRows, 1, pass)); });
    };
    run("gather", "GB/s", kRowFloats * sizeof(float),
        [&](Share s) { sum_rows(table.data(), drawn, s); });
    run("atomic", "Grows/s", 1, [&](Share s) { add_rows(table.data(), drawn, s); });
  }

  void records() {
    const std::size_t n = std::min<std::size_t>(dram_ / 2 / sizeof(Record), std::size_t{1} << 22);
    const std::vector<Record> from(n);
    std::vector<Record> to(n);
    const auto place = random_below(n, n);
    for (const int t : threads_)
      probe("scatter", "Grows/s", describe("records of 16 bytes", 2 * n * sizeof(Record), t), [&] {
        return std::pair(static_cast<double>(n), on_threads(t, n, 1, [&](Share s) {
                           scatter(from.data(), to.data(), place, s);
                         }));
      });
    touch(to.data());
  }

  Count l2_ = 0, llc_ = 0, dram_ = 0;
  std::vector<int> threads_;
  double budget_ = 0;
  std::vector<Ceiling> found_;
};

}  // namespace

std::vector<Ceiling> cpu_ceilings(double seconds) {
  return Probes(seconds).all();
}

}  // namespace retensor
