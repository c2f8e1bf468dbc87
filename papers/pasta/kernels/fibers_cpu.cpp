// MTTKRP over all modes on compressed sparse fibers (common/formats/csf.hpp) with vectors of 512
// bits where the processor that runs it has them, a tree for each mode with that mode at its root.
//
// The leaves are of the mode along which the tensor has the fewest fibers. A fiber's nonzeros add
// up a row in registers, which then meets the fiber's other rows once: of a fiber of n nonzeros n +
// N - 2 rows are read, where coordinates read n (N - 1). Threads take fibers of equal cost, a
// nonzero counting one and a fiber kFiberCost; what a share holds of a slice that began before it
// goes to a row of its own, added last.

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "common/core/text.hpp"
#include "common/formats/csf.hpp"
#include "common/tensor/keys.hpp"
#include "papers/pasta/kernels/modes_cpu.hpp"

namespace retensor::pasta {
namespace {

constexpr Count kFiberCost = 2;  // nonzeros that take as long as a fiber's end

/// The tree of a mode, its fibers with the indices of all levels above the leaves.
struct Fibers {
  Csf x;
  std::vector<Count> slice;                ///< first fiber of each, and the end
  std::vector<std::vector<Index>> uppers;  ///< [level between root and leaves][fiber]
  std::vector<Count> share;                ///< first fiber of each thread, and the end

  const std::vector<Count>& fiber() const { return x.start.back(); }  ///< its first nonzero
  int leaf_mode() const { return x.modes.back(); }
};

/// The root first and the mode with the fewest fibers last, those between by ascending length.
std::vector<int> levels_of(int root, const Dims& dims, const std::vector<Count>& fibers) {
  auto levels = levels_below(root, dims);
  const auto last = std::min_element(levels.begin() + 1, levels.end(), [&](int a, int b) {
    return fibers[static_cast<std::size_t>(a)] < fibers[static_cast<std::size_t>(b)];
  });
  std::rotate(last, last + 1, levels.end());
  return levels;
}

std::vector<Count> shares_of(const std::vector<Count>& fiber, int threads) {
  const Count fibers = fiber.size() - 1, total = fiber.back() + kFiberCost * fibers;
  std::vector<Count> share;
  Count f = 0;
  for (int t = 0; t < threads; ++t) {
    const Count begin = total * static_cast<Count>(t) / static_cast<Count>(threads);
    while (f < fibers && fiber[f] + kFiberCost * f < begin) ++f;
    share.push_back(f);
  }
  share.push_back(fibers);
  return share;
}

Fibers fibers_of(const Coo& tensor, std::vector<int> levels, int threads) {
  Fibers made{to_csf(tensor, {std::move(levels), 0}), {}, {}, {}};
  const auto below = static_cast<std::size_t>(tensor.order() - 2);  // the level of the fibers
  made.slice = {0};
  if (below > 0) made.slice = made.x.start.front();
  for (std::size_t level = 1; level < below; ++level)
    for (Count& node : made.slice) node = made.x.start[level][node];
  for (std::size_t level = 1; level <= below; ++level)
    made.uppers.push_back(made.x.ancestors(static_cast<int>(level), static_cast<int>(below)));
  made.share = shares_of(made.fiber(), threads);
  return made;
}

/// What a share reads and writes.
struct FiberMttkrp {
  const Fibers* x = nullptr;
  const float* leaf = nullptr;
  std::array<const float*, kMaxOrder> upper{};  ///< as x->uppers
  std::size_t stride = 0;
  float* out = nullptr;
  float* carry = nullptr;
};

#ifdef __x86_64__
#define RETENSOR_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2")))
#else
#define RETENSOR_AVX512
#endif
#define RETENSOR_HERE [[gnu::always_inline]] inline

typedef float Lanes __attribute__((vector_size(kVectorOf<float> * sizeof(float))));

template <int kVectors>
struct Sums {
  Lanes of[kVectors];
};

/// Loads a vector of a row: a row that is copied as one object goes through memory.
RETENSOR_HERE void load(Lanes& lanes, const float* from) {
  std::memcpy(&lanes, from, sizeof lanes);
}

/// The rows of nonzeros p to end - 1, each times its value. A sum waits for the one before, so that
/// long fibers have several.
template <int kVectors>
RETENSOR_HERE Sums<kVectors> sum_of_fiber(const FiberMttkrp& m, const Index* index,
                                          const float* value, Count p, Count end,
                                          const float* leaf) {
  constexpr Count kChains = kVectors >= 4 ? 2 : 4;
  Sums<kVectors> sums[kChains] = {};
  const auto add = [&](Sums<kVectors> & sum, Count q) __attribute__((always_inline)) {
    const float* const row = leaf + index[q] * m.stride;
    for (int v = 0; v < kVectors; ++v) {
      Lanes lanes;
      load(lanes, row + v * kVectorOf<float>);
      sum.of[v] += lanes * value[q];
    }
  };
  if (end - p >= 2 * kChains) {
    for (; p + kChains <= end; p += kChains)
      for (Count c = 0; c < kChains; ++c) add(sums[c], p + c);
    for (Count c = 1; c < kChains; ++c)
      for (int v = 0; v < kVectors; ++v) sums[0].of[v] += sums[c].of[v];
  }
  for (; p < end; ++p) add(sums[0], p);
  return sums[0];
}

template <int kVectors>
RETENSOR_HERE void add_share(const FiberMttkrp& m, std::size_t share) {
  const Fibers& x = *m.x;
  const Count* const fiber = x.fiber().data();
  const Index* const index = x.x.index.back().data();
  const float* const value = x.x.values.as<float>().data();
  const Count begin = x.share[share], end = x.share[share + 1];
  if (begin == end) return;
  const auto first =
      static_cast<std::size_t>(std::ranges::upper_bound(x.slice, begin) - x.slice.begin() - 1);
  for (std::size_t column = 0; column < m.stride; column += kVectors * kVectorOf<float>) {
    Count f = begin;
    for (std::size_t slice = first; f < end; ++slice) {
      const Count last = std::min(end, x.slice[slice + 1]);
      float* const to =
          f > x.slice[slice] ? m.carry + share * m.stride : m.out + x.x.index[0][slice] * m.stride;
      Sums<kVectors> sum = {};
      for (; f < last; ++f) {
        auto part =
            sum_of_fiber<kVectors>(m, index, value, fiber[f], fiber[f + 1], m.leaf + column);
        for (std::size_t k = 0; k < x.uppers.size(); ++k) {
          const float* const row = m.upper[k] + x.uppers[k][f] * m.stride + column;
          for (int v = 0; v < kVectors; ++v) {
            Lanes lanes;
            load(lanes, row + v * kVectorOf<float>);
            part.of[v] *= lanes;
          }
        }
        for (int v = 0; v < kVectors; ++v) sum.of[v] += part.of[v];
      }
      std::memcpy(to + column, sum.of, sizeof sum.of);
    }
  }
}

using Share = void (*)(const FiberMttkrp&, std::size_t);

template <int kVectors>
RETENSOR_AVX512 void add_share_avx512(const FiberMttkrp& m, std::size_t share) {
  add_share<kVectors>(m, share);
}
template <int kVectors>
void add_share_compiled(const FiberMttkrp& m, std::size_t share) {
  add_share<kVectors>(m, share);
}

template <int kVectors>
Share share_for(Vectors vectors) {
  return vectors == Vectors::avx512 ? add_share_avx512<kVectors> : add_share_compiled<kVectors>;
}

Share share_for(std::size_t stride, Vectors vectors) {
  if (stride % (4 * kVectorOf<float>) == 0) return share_for<4>(vectors);
  if (stride % (2 * kVectorOf<float>) == 0) return share_for<2>(vectors);
  return share_for<1>(vectors);
}

/// The rows that were cut between shares.
void add_carries(const FiberMttkrp& m) {
  const Fibers& x = *m.x;
  for (std::size_t share = 1; share + 1 < x.share.size(); ++share) {
    const Count f = x.share[share];
    if (f == x.share[share + 1]) continue;
    const auto slice =
        static_cast<std::size_t>(std::ranges::upper_bound(x.slice, f) - x.slice.begin() - 1);
    if (x.slice[slice] == f) continue;
    float* const to = m.out + x.x.index[0][slice] * m.stride;
    for (std::size_t r = 0; r < m.stride; ++r) to[r] += m.carry[share * m.stride + r];
  }
}

class FibersRun final : public CpuModesRun<float> {
 public:
  FibersRun(const Problem& problem, int threads)
      : CpuModesRun(problem, threads, "MTTKRP on compressed sparse fibers, a tree for each mode") {
    const Coo& tensor = problem.x();
    std::vector<Count> fibers;
    for (int mode = 0; mode < order(); ++mode) fibers.push_back(fiber_count(tensor, mode));
    std::vector<std::string> told;
    for (int mode = 0; mode < order(); ++mode) {
      x_.push_back(fibers_of(tensor, levels_of(mode, tensor.dims, fibers), threads));
      const Fibers& made = x_.back();
      format_bytes_ += made.x.bytes() + made.uppers.size() * made.x.fibers() * sizeof(Index);
      told.push_back(std::to_string(made.x.fibers()));
    }
    executed_["fibers"] = joined(told, " ");
  }

 private:
  void pass(int mode) override {
    const Fibers& x = x_[static_cast<std::size_t>(mode)];
    FiberMttkrp m{&x, factor(x.leaf_mode()), {}, stride_, out(mode), carry_.data()};
    for (std::size_t k = 0; k < x.uppers.size(); ++k) m.upper[k] = factor(x.x.modes[k + 1]);
    const Share add = share_for(stride_, vectors_);
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (int share = 0; share < threads_; ++share) add(m, static_cast<std::size_t>(share));
    add_carries(m);
  }

  std::vector<Fibers> x_;  // by mode
};

}  // namespace

std::unique_ptr<Prepared> prepare_fibers_cpu(const Problem& problem, const Params& params) {
  return std::make_unique<FibersRun>(problem, thread_count(params));
}

}  // namespace retensor::pasta
