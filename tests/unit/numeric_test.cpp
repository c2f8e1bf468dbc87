// Rounding against Eigen's half and bfloat16, and the error metrics by hand.
#include "common/numeric/rounding.hpp"
#include "tests/support/error_metrics.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>
#include <Eigen/Core>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/numeric/error_metrics.hpp"

using namespace retensor;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

template <class Half>
std::uint16_t eigen_bits(float x) {
  return Eigen::numext::bit_cast<std::uint16_t>(Half(x));
}
template <class Half>
float eigen_value(std::uint16_t bits) {
  return static_cast<float>(Eigen::numext::bit_cast<Half>(bits));
}

// Equal values, or both NaN; zeros must agree in sign.
bool same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

template <class Half, class To, class From>
int mismatches_over_all_patterns(To to, From from) {
  int wrong = 0;
  for (std::uint32_t p = 0; p < 65536; ++p) {
    const auto bits = static_cast<std::uint16_t>(p);
    const float value = from(bits);
    if (!same(value, eigen_value<Half>(bits))) ++wrong;
    if (std::isnan(value) ? !std::isnan(from(to(value))) : to(value) != bits) ++wrong;
  }
  return wrong;
}

// Random bit patterns, the midpoint above every 16-bit pattern and both its neighbours.
template <class Half, class To, class From>
int mismatches_over_floats(To to, From from) {
  int wrong = 0;
  const auto compare = [&](float x) {
    const auto mine = to(x);
    if (std::isnan(x) ? !std::isnan(from(mine)) : mine != eigen_bits<Half>(x)) ++wrong;
  };
  const CounterRng rng(3);
  for (std::uint64_t i = 0; i < 1'000'000; ++i)
    compare(std::bit_cast<float>(static_cast<std::uint32_t>(rng.bits(i))));
  for (std::uint32_t p = 0; p < 65535; ++p) {
    const double a = from(static_cast<std::uint16_t>(p)),
                 b = from(static_cast<std::uint16_t>(p + 1));
    const auto tie = static_cast<float>(0.5 * a + 0.5 * b);
    compare(tie);
    compare(std::nextafter(tie, kInf));
    compare(std::nextafter(tie, -kInf));
  }
  return wrong;
}

}  // namespace

TEST_CASE("fp16 equals Eigen::half for every pattern and for floats with ties") {
  CHECK(mismatches_over_all_patterns<Eigen::half>(to_fp16_bits, from_fp16_bits) == 0);
  CHECK(mismatches_over_floats<Eigen::half>(to_fp16_bits, from_fp16_bits) == 0);
}

TEST_CASE("bf16 equals Eigen::bfloat16 for every pattern and for floats with ties") {
  CHECK(mismatches_over_all_patterns<Eigen::bfloat16>(to_bf16_bits, from_bf16_bits) == 0);
  CHECK(mismatches_over_floats<Eigen::bfloat16>(to_bf16_bits, from_bf16_bits) == 0);
}

TEST_CASE("fp16 at its limits") {
  CHECK(round_fp16(65504.0f) == 65504.0f);
  CHECK(round_fp16(std::nextafter(65520.0f, 0.0f)) == 65504.0f);
  CHECK(round_fp16(65520.0f) == kInf);
  CHECK(round_fp16(-1e30f) == -kInf);
  CHECK(round_fp16(0x1p-24f) == 0x1p-24f);
  CHECK(round_fp16(0x1p-25f) == 0.0f);  // a tie between 0 and the smallest subnormal
  CHECK(round_fp16(std::nextafter(0x1p-25f, 1.0f)) == 0x1p-24f);
  CHECK(round_fp16(0x1.8p-24f) == 0x1p-23f);
  CHECK(std::signbit(round_fp16(-1e-30f)));
  CHECK(to_fp16_bits(kNan) == 0x7fff);
  CHECK(std::isnan(round_fp16(-kNan)));
}

TEST_CASE("bf16 at its limits") {
  CHECK(round_bf16(1.0f + 0x1p-8f) == 1.0f);
  CHECK(round_bf16(1.0f + 0x1.8p-7f) == 1.0f + 0x1p-6f);
  CHECK(round_bf16(std::numeric_limits<float>::max()) == kInf);
  CHECK(round_bf16(kInf) == kInf);
  CHECK(round_bf16(0x1p-133f) == 0x1p-133f);
  CHECK(to_bf16_bits(kNan) == 0x7fff);
}

TEST_CASE("tf32 is the nearest, the even one at ties") {
  const float tie_to_even = 1.0f + 0x1p-11f, tie_to_odd = 1.0f + 0x1.8p-10f;
  CHECK(round_tf32(tie_to_even) == 1.0f);
  CHECK(round_tf32(tie_to_odd) == 1.0f + 0x1p-9f);
  int wrong = 0;
  const CounterRng rng(5);
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(rng.bits(i));
    const auto x = std::bit_cast<float>(bits);
    if (!std::isfinite(x)) continue;
    const float even = round_tf32(x);
    if ((std::bit_cast<std::uint32_t>(even) & 0x1fffu) != 0) ++wrong;
    // Both candidates enclose x; the nearer one must have been taken.
    const auto down = std::bit_cast<float>(bits & ~0x1fffu);
    const auto up = std::bit_cast<float>((bits & ~0x1fffu) + 0x2000u);
    if (std::isfinite(up)) {
      const double distance = std::abs(static_cast<double>(x) - even);
      const double to_down = std::abs(static_cast<double>(x) - down);
      const double to_up = std::abs(static_cast<double>(x) - up);
      if (distance != std::fmin(to_down, to_up)) ++wrong;
    }
  }
  CHECK(wrong == 0);
  CHECK(round_tf32(std::numeric_limits<float>::max()) == kInf);
  CHECK(round_tf32(-kInf) == -kInf);
  CHECK(std::isnan(round_tf32(kNan)));
  CHECK(std::isnan(round_tf32(-kNan)));
}

TEST_CASE("relative error of one rounding stays within the unit roundoff") {
  const CounterRng rng(11);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const auto x =
        static_cast<float>(std::ldexp(1.0 + rng.uniform(i), static_cast<int>(i % 28) - 13));
    CHECK(std::abs(round_fp16(x) - x) <= kUnitRoundoffFp16 * x);
    CHECK(std::abs(round_bf16(x) - x) <= kUnitRoundoffBf16 * x);
    CHECK(std::abs(round_tf32(x) - x) <= kUnitRoundoffTf32 * x);
  }
}

TEST_CASE("error metrics of a small case by hand") {
  const std::vector<double> expected{3, 0, -4, 0}, measured{3, 0, -2, 1};
  const auto m = test::error_metrics(expected, measured, 16);
  CHECK(m.rmse_full == doctest::Approx(std::sqrt(5.0 / 16)));
  CHECK(m.rmse_nonzero == doctest::Approx(std::sqrt(5.0 / 4)));
  CHECK(m.smape_full == doctest::Approx(100.0 * (2.0 / 6 + 1) / 16));  // eq. 17, 0 against 0 is 0
  CHECK(m.smape_nonzero == doctest::Approx(100.0 * (2.0 / 6 + 1) / 4));
  CHECK(m.relative_frobenius == doctest::Approx(std::sqrt(5.0) / 5));
  CHECK(m.max_absolute == 2);
}

TEST_CASE("error metrics at the edges") {
  const auto none = test::error_metrics({}, {}, 0);
  CHECK(none.rmse_full == 0);
  CHECK(none.relative_frobenius == 0);
  const std::vector<double> zero{0, 0}, one{0, 1};
  CHECK(test::error_metrics(zero, zero, 2).relative_frobenius == 0);
  CHECK(std::isinf(test::error_metrics(zero, one, 2).relative_frobenius));
  CHECK(test::error_metrics(one, zero, 2).relative_frobenius == 1);
  const std::vector<double> nan{std::nan(""), 5};
  const auto broken = test::error_metrics(one, nan, 2);
  CHECK(std::isnan(broken.max_absolute));
  CHECK(std::isnan(broken.rmse_full));
  CHECK(std::isnan(broken.smape_full));
  CHECK_THROWS_AS(test::error_metrics(zero, one, 1), LogicError);
}

TEST_CASE("accumulators merge to the sums of the whole") {
  ErrorAccumulator whole, a, b;
  const CounterRng rng(9);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const double x = rng.normal(i), y = x + 0.01 * rng.normal(i + 1000);
    whole.add(x, y);
    (i < 37 ? a : b).add(x, y);
  }
  a.merge(b);
  CHECK(a.pairs() == 100);
  const auto m = a.metrics(1e6), w = whole.metrics(1e6);
  CHECK(m.rmse_full == doctest::Approx(w.rmse_full));
  CHECK(m.smape_full == doctest::Approx(w.smape_full));
  CHECK(m.relative_frobenius == doctest::Approx(w.relative_frobenius));
  CHECK(m.max_absolute == w.max_absolute);
}
