// Comparison of a tensor core with its emulation: inputs of several regimes, the emulation of a
// batch and how far two results agree. Host code alone, so that the unit tests prove it without a
// device.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "tests/gpu/mma_kind.hpp"
#include "tests/support/mma_models.hpp"

namespace retensor {

inline const char* name(OperandType type) {
  constexpr std::array<const char*, 3> names{"fp16", "bf16", "tf32"};
  return names[static_cast<std::size_t>(type)];
}

/// As in "m16n8k16".
inline std::string shape(const MmaKind& kind) {
  return fmt::format("m{}n{}k{}", kind.m, kind.n, kind.k);
}

/// Sets d to A B + C of every fragment.
using Multiply = std::function<void(const MmaKind&, const Fragments&, std::vector<float>& d)>;

namespace mma_fragments_detail {

template <OperandType kType, int M, int N, int K>
void emulate(const Fragments& x, const MmaModel& model, std::vector<float>& d) {
#pragma omp parallel for schedule(static) if (x.count > 64)
  for (std::size_t f = 0; f < x.count; ++f)
    mma<kType, M, N, K>(std::span<const float, M * K>(&x.a[f * M * K], M * K),
                        std::span<const float, K * N>(&x.b[f * K * N], K * N),
                        std::span<const float, M * N>(&x.c[f * M * N], M * N),
                        std::span<float, M * N>(&d[f * M * N], M * N), model);
}

template <OperandType kType>
void emulate_16_bits(const MmaKind& kind, const Fragments& x, const MmaModel& model,
                     std::vector<float>& d) {
  if (kind.n == 16) return emulate<kType, 16, 16, 16>(x, model, d);
  if (kind.k == 16) return emulate<kType, 16, 8, 16>(x, model, d);
  emulate<kType, 16, 8, 8>(x, model, d);
}

inline void emulate_tf32(const MmaKind& kind, const Fragments& x, const MmaModel& model,
                         std::vector<float>& d) {
  if (kind.n == 16) return emulate<OperandType::tf32, 16, 16, 8>(x, model, d);
  if (kind.k == 8) return emulate<OperandType::tf32, 16, 8, 8>(x, model, d);
  emulate<OperandType::tf32, 16, 8, 4>(x, model, d);
}

}  // namespace mma_fragments_detail

inline void emulate(const MmaKind& kind, const Fragments& x, const MmaModel& model,
                    std::vector<float>& d) {
  using namespace mma_fragments_detail;
  d.resize(x.c.size());
  switch (kind.type) {
    case OperandType::fp16:
      return emulate_16_bits<OperandType::fp16>(kind, x, model, d);
    case OperandType::bf16:
      return emulate_16_bits<OperandType::bf16>(kind, x, model, d);
    case OperandType::tf32:
      return emulate_tf32(kind, x, model, d);
  }
}

enum class Regime { uniform, spread, sparse, cancelling, subnormal, special };
inline constexpr std::array<Regime, 6> kRegimes{Regime::uniform,   Regime::spread,
                                                Regime::sparse,    Regime::cancelling,
                                                Regime::subnormal, Regime::special};

inline const char* name(Regime regime) {
  constexpr std::array<const char*, 6> names{"uniform",    "spread",    "sparse",
                                             "cancelling", "subnormal", "special"};
  return names[static_cast<std::size_t>(regime)];
}

/// Draws the numbers of one fragment, a counter of the generator each.
class FragmentSource {
 public:
  FragmentSource(const MmaKind& kind, Regime regime, std::uint64_t seed, std::uint64_t fragment)
      : kind_(kind),
        regime_(regime),
        half_(kind.type == OperandType::fp16),
        rng_(seed, fragment * kRegimes.size() + static_cast<std::uint64_t>(regime)),
        width_(1 + static_cast<int>(fragment % (half_ ? 14 : 60))) {}

  void fill(float* a, float* b, float* c) {
    for (int i = 0; i < kind_.m * kind_.k; ++i) a[i] = operand(true);
    for (int i = 0; i < kind_.k * kind_.n; ++i) b[i] = operand(false);
    for (int i = 0; i < kind_.m * kind_.n; ++i) c[i] = accumulator();
    if (regime_ == Regime::cancelling) cancel(a, b);
  }

 private:
  /// Sign, significand in [1, 2) and an exponent of [low, high].
  float number(int low, int high) {
    const std::uint64_t bits = rng_.bits(next_++);
    const int exponent =
        low + static_cast<int>((bits >> 32) % static_cast<std::uint64_t>(high - low + 1));
    const float significand = 1.0f + static_cast<float>(bits & 0x7fffffu) * 0x1p-23f;
    return std::ldexp((bits >> 31 & 1) != 0 ? -significand : significand, exponent);
  }
  float uniform() { return static_cast<float>(2 * rng_.uniform(next_++) - 1); }
  bool one_in(std::uint64_t n) { return rng_.below(next_++, n) == 0; }

  /// A third each: subnormal, near the smallest normal, what takes products back to fp32's range.
  float small(bool left) {
    const auto lowest = static_cast<int>(smallest_exponent(kind_.type));
    const std::uint64_t third = rng_.below(next_++, 3);
    if (third == 0) return number(lowest - (half_ ? 10 : 7), lowest - 1);
    if (left || third == 1) return number(lowest, lowest + 4);
    return half_ ? number(-3, 15) : number(-24, 24);
  }

  float special() {
    const std::uint64_t which = rng_.below(next_++, 5);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (which == 0) return infinity;
    if (which == 1) return -infinity;
    if (which == 2) return std::numeric_limits<float>::quiet_NaN();
    return which == 3 ? 0.0f : number(half_ ? 14 : 120, half_ ? 15 : 127);
  }

  float drawn(bool left) {
    switch (regime_) {
      case Regime::uniform:
        return uniform();
      case Regime::spread:
        return number(-width_, width_);
      case Regime::sparse:
        return number(-width_, width_) * (one_in(2) ? 1.0f : 0.0f);  // zeros of both signs
      case Regime::cancelling:
        return number(-3, 3);
      case Regime::subnormal:
        return small(left);
      case Regime::special:
        return one_in(64) ? special() : uniform();
    }
    throw LogicError("no such regime");
  }
  float operand(bool left) { return round_operand(kind_.type, drawn(left)); }

  float accumulator() {
    if (regime_ == Regime::cancelling) return number(-30, -10);
    if (regime_ == Regime::subnormal) return half_ ? number(-50, -20) : number(-149, -120);
    return drawn(true);
  }

  /// Products k and k + K/2 cancel, exactly or but for the last bit of an operand.
  void cancel(float* a, float* b) {
    const int half = kind_.k / 2;
    for (int i = 0; i < kind_.m; ++i)
      for (int k = 0; k < half; ++k) {
        const float x = a[i * kind_.k + k];
        a[i * kind_.k + k + half] = one_in(2) ? x : round_operand(kind_.type, x * (1 + 0x1p-7f));
      }
    for (int k = 0; k < half; ++k)
      for (int j = 0; j < kind_.n; ++j) b[(k + half) * kind_.n + j] = -b[k * kind_.n + j];
  }

  const MmaKind& kind_;
  Regime regime_;
  bool half_;
  CounterRng rng_;
  std::uint64_t next_ = 0;
  int width_;
};

/// Fills with the fragments first, first + 1, ... of a regime.
inline void draw(const MmaKind& kind, Regime regime, std::uint64_t seed, std::size_t first,
                 Fragments& x) {
#pragma omp parallel for schedule(static) if (x.count > 64)
  for (std::size_t f = 0; f < x.count; ++f)
    FragmentSource(kind, regime, seed, first + f)
        .fill(&x.a[f * kind.m * kind.k], &x.b[f * kind.k * kind.n], &x.c[f * kind.m * kind.n]);
}

/// How far two results agree.
struct Agreement {
  std::size_t entries = 0, equal = 0;  ///< entries of D, and those equal bit for bit
  double ulps = 0;      ///< largest distance in representable numbers; inf where one is NaN alone
  double of_bound = 0;  ///< largest difference relative to twice `mma_error_bound`

  double share() const {
    return entries == 0 ? 1 : static_cast<double>(equal) / static_cast<double>(entries);
  }
  void add(const Agreement& other) {
    entries += other.entries;
    equal += other.equal;
    ulps = std::max(ulps, other.ulps);
    of_bound = std::max(of_bound, other.of_bound);
  }
};

/// Representable numbers of fp32 between x and y; 0 for two NaNs, infinite for one.
inline double ulp_distance(float x, float y) {
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) == std::isnan(y) ? 0 : std::numeric_limits<double>::infinity();
  const auto position = [](float v) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    const auto size = static_cast<std::int64_t>(bits & 0x7fffffffu);
    return (bits >> 31) != 0 ? -size : size;
  };
  return static_cast<double>(std::abs(position(x) - position(y)));
}

/// The weight that `mma_error_bound` multiplies, of entry (i, j) of fragment f.
inline double mma_weight(const MmaKind& kind, const Fragments& x, std::size_t f, int i, int j) {
  const double tiny = std::ldexp(1.0, static_cast<int>(smallest_exponent(kind.type)));
  const auto size = [&](float v, double least) { return std::max<double>(std::abs(v), least); };
  double weight = size(x.c[(f * kind.m + i) * kind.n + j], 0x1p-126);
  for (int k = 0; k < kind.k; ++k)
    weight += size(x.a[(f * kind.m + i) * kind.k + k], tiny) *
              size(x.b[(f * kind.k + k) * kind.n + j], tiny);
  return weight;
}

/// Compares two results for the same fragments; the bound is that of `model`.
inline Agreement compare(const MmaKind& kind, const Fragments& x, const MmaModel& model,
                         const std::vector<float>& d, const std::vector<float>& expected) {
  const auto entries = static_cast<std::size_t>(kind.m * kind.n);
  const double bound = 2 * mma_error_bound(model, kind.k);
  std::size_t equal = 0;
  double ulps = 0, of_bound = 0;
#pragma omp parallel for schedule(static) reduction(+ : equal) reduction(max : ulps, of_bound)
  for (std::size_t p = 0; p < x.count * entries; ++p) {
    if (std::bit_cast<std::uint32_t>(d[p]) == std::bit_cast<std::uint32_t>(expected[p])) {
      ++equal;
      continue;
    }
    const double distance = ulp_distance(d[p], expected[p]);
    ulps = std::max(ulps, distance);
    if (distance == 0) continue;
    const auto entry = static_cast<int>(p % entries);
    const double difference = std::abs(static_cast<double>(d[p]) - expected[p]);
    const double weight = mma_weight(kind, x, p / entries, entry / kind.n, entry % kind.n);
    const double ratio = difference / (bound * weight);
    of_bound =
        std::max(of_bound, std::isfinite(ratio) ? ratio : std::numeric_limits<double>::infinity());
  }
  return {x.count * entries, equal, ulps, of_bound};
}

}  // namespace retensor
