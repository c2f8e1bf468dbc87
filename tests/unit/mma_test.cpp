// The emulated tensor core by hand, beside an independent integer implementation and fp64, and what
// the hardware comparison in tests/gpu is made of: inputs, checker, probes, layouts of fragments.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/core/types.hpp"
#include "common/numeric/tensor_core.hpp"
#include "tests/gpu/mma_fragments.hpp"
#include "tests/gpu/mma_layout.hpp"
#include "tests/gpu/mma_probe.hpp"
#include "tests/support/mma_models.hpp"

using namespace retensor;

namespace {

constexpr std::array kFiniteRegimes{Regime::uniform, Regime::spread, Regime::sparse,
                                    Regime::cancelling, Regime::subnormal};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr MmaKind kFp16{OperandType::fp16, 16, 8, 16}, kBf16{OperandType::bf16, 16, 8, 16};

__extension__ typedef __int128 Int128;
using Products = std::vector<std::pair<float, float>>;  // of k = 0, 1, ...

std::uint32_t bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

/// Entry (0, 0) of a fragment whose other operands are zero.
float dot(const MmaKind& kind, const Products& products, float c, const MmaModel& model) {
  Fragments x(kind, 1);
  for (std::size_t k = 0; k < products.size(); ++k) {
    x.a[k] = products[k].first;
    x.b[k * kind.n] = products[k].second;
  }
  x.c[0] = c;
  std::vector<float> d;
  emulate(kind, x, model, d);
  return d[0];
}
float dot(const MmaKind& kind, const Products& products, float c) {
  return dot(kind, products, c, hopper_model(kind.type, kind.n));
}

/// What a, b and c give by 128-bit integers: the semantics once more, by shifts in place of
/// floating-point arithmetic. Finite values, truncation and alignment by nonzero fields alone.
class IntegerDot {
 public:
  IntegerDot(OperandType type, const MmaModel& model) : type_(type), model_(model) {}

  float operator()(const float* a, const float* b, int b_stride, int k, float c) const {
    for (int first = 0; first < k; first += model_.block) {
      std::vector<Term> terms{accumulator(c)};
      for (int p = first; p < std::min(k, first + model_.block); ++p)
        terms.push_back(product(a[p], b[p * b_stride]));
      c = sum(terms);
    }
    return c;
  }

 private:
  struct Term {
    std::int64_t significand;
    int unit, field;  // value = significand 2^unit, taking part by 2^field
  };
  static Term number(float x, int smallest) {
    int exponent = 0;
    const float fraction = std::frexp(x, &exponent);  // in [0.5, 1)
    return {static_cast<std::int64_t>(std::ldexp(fraction, 24)), exponent - 24,
            std::max(exponent - 1, smallest)};
  }
  static Term accumulator(float c) { return number(c, -126); }
  Term product(float a, float b) const {
    const auto smallest = static_cast<int>(smallest_exponent(type_));
    const Term x = number(a, smallest), y = number(b, smallest);
    return {x.significand * y.significand, x.unit + y.unit, x.field + y.field};
  }
  static Int128 shifted(Int128 x, int left) {
    if (left >= 0) return x << left;
    const Int128 size = left < -120 ? 0 : (x < 0 ? -x : x) >> -left;
    return x < 0 ? -size : size;
  }
  float sum(const std::vector<Term>& terms) const {
    int largest = -10000;
    for (const Term& t : terms)
      if (t.significand != 0) largest = std::max(largest, t.field);
    const int unit = largest - model_.fraction_bits();
    Int128 total = 0;
    for (const Term& t : terms)
      if (t.significand != 0) total += shifted(t.significand, t.unit - unit);
    if (total == 0) return 0;
    int top = 0;
    while ((total < 0 ? -total : total) >> (top + 1) != 0) ++top;
    const int ulp = std::max(top + unit, -126) - 23;
    const Int128 rounded = shifted(total, unit - ulp);
    return static_cast<float>(std::ldexp(static_cast<double>(rounded), ulp));
  }

  OperandType type_;
  MmaModel model_;
};

template <class F>
void for_each_entry(const MmaKind& kind, std::size_t count, const F& f) {
  for (std::size_t x = 0; x < count; ++x)
    for (int i = 0; i < kind.m; ++i)
      for (int j = 0; j < kind.n; ++j) f(x, i, j);
}

Fragments drawn(const MmaKind& kind, Regime regime, std::size_t count) {
  Fragments x(kind, count);
  draw(kind, regime, 7, 0, x);
  return x;
}

std::vector<float> emulated(const MmaKind& kind, const Fragments& x, const MmaModel& model) {
  std::vector<float> d;
  emulate(kind, x, model, d);
  return d;
}

/// A B + C of an entry in fp64.
double in_f64(const MmaKind& kind, const Fragments& x, std::size_t f, int i, int j) {
  double sum = x.c[(f * kind.m + i) * kind.n + j];
  for (int k = 0; k < kind.k; ++k)
    sum += static_cast<double>(x.a[(f * kind.m + i) * kind.k + k]) *
           x.b[(f * kind.k + k) * kind.n + j];
  return sum;
}

/// Largest error relative to the bound of `model`.
double error_of_bound(const MmaKind& kind, const Fragments& x, const std::vector<float>& d,
                      const MmaModel& model) {
  double worst = 0;
  for_each_entry(kind, x.count, [&](std::size_t f, int i, int j) {
    const double error = std::abs(d[(f * kind.m + i) * kind.n + j] - in_f64(kind, x, f, i, j));
    worst =
        std::max(worst, error / (mma_error_bound(model, kind.k) * mma_weight(kind, x, f, i, j)));
  });
  return worst;
}

std::vector<MmaModel> models(OperandType type) {
  return {hopper_model(type, 8), hopper_model(type, 16), ampere_model(type), volta_model()};
}

}  // namespace

static_assert(mma_shape_exists(OperandType::fp16, 16, 16, 16));
static_assert(mma_shape_exists(OperandType::tf32, 16, 8, 4));
static_assert(!mma_shape_exists(OperandType::tf32, 16, 8, 16));
static_assert(mma_shape_exists(OperandType::tf32, 16, 16, 8));
static_assert(!mma_shape_exists(OperandType::bf16, 16, 16, 8));
static_assert(!mma_shape_exists(OperandType::bf16, 16, 8, 4));

TEST_CASE("bits below the unit of alignment are cut, of each term and toward zero") {
  const MmaModel hopper = hopper_model(OperandType::fp16, 8);
  const MmaModel ampere = ampere_model(OperandType::fp16);
  // 1 + 1.5 2^-25 - 1: 25 fraction bits keep 2^-25, 24 nothing.
  const Products rest{{0x1.8p-12f, 0x1p-13f}, {-1, 1}};
  CHECK(dot(kFp16, rest, 1, hopper) == 0x1p-25f);
  CHECK(dot(kFp16, rest, 1, ampere) == 0);
  const Products negative{{-0x1.8p-12f, 0x1p-13f}, {-1, 1}};
  CHECK(dot(kFp16, negative, 1, hopper) == -0x1p-25f);
  // 14 terms of 2^-26 add up to more than an ulp of 1, each alone is lost.
  const Products small(14, {0x1p-13f, 0x1p-13f});
  CHECK(dot(kFp16, small, 1, hopper) == 1);
  CHECK(dot(kFp16, small, 0, hopper) == 14 * 0x1p-26f);
  // 2.25 has its operands' exponent 0, not its own 1.
  CHECK(dot(kFp16, {{1.5f, 1.5f}, {-1.5f, 1.5f}, {0x1p-12f, 0x1p-13f}}, 0, hopper) == 0x1p-25f);
}

TEST_CASE("sums are rounded toward zero") {
  CHECK(dot(kFp16, {{0x1.8p-12f, 0x1p-12f}}, 1) == 1);
  CHECK(dot(kFp16, {{0x1.8p-12f, -0x1p-12f}}, -1) == -1);
  CHECK(dot(kFp16, {{1, 1}}, 1 + 0x1.8p-22f) == 2 + 0x1p-22f);
  MmaModel nearest = hopper_model(OperandType::fp16, 8);
  nearest.result = Rounding::nearest_even;
  CHECK(dot(kFp16, {{0x1.8p-12f, 0x1p-12f}}, 1, nearest) == 1 + 0x1p-23f);
  CHECK(dot(kFp16, {{1, 1}}, 1 + 0x1.8p-22f, nearest) == 2 + 0x1p-21f);
  MmaModel down = hopper_model(OperandType::fp16, 8);
  down.result = Rounding::down;
  CHECK(dot(kFp16, {{0x1.8p-12f, 0x1p-12f}}, 1, down) == 1);
  CHECK(dot(kFp16, {{0x1.8p-12f, -0x1p-12f}}, -1, down) == -1 - 0x1p-23f);
}

TEST_CASE("chained blocks and one block differ") {
  // 2^28 - 2^28 + 2^-20: the last term is lost in the block of the others, kept in the next one.
  Products p(9, {0, 0});
  p[0] = {-0x1p14f, 0x1p14f};
  p[8] = {0x1p-10f, 0x1p-10f};
  CHECK(dot(kFp16, p, 0x1p28f, hopper_model(OperandType::fp16, 8)) == 0);
  CHECK(dot(kFp16, p, 0x1p28f, ampere_model(OperandType::fp16)) == 0x1p-20f);
  // The other way around: chained sums round after the first block.
  std::swap(p[0], p[8]);
  CHECK(dot(kFp16, p, 0x1p28f, ampere_model(OperandType::fp16)) == 0);
}

TEST_CASE("cancellation leaves what alignment kept") {
  CHECK(dot(kFp16, {{3, 5}, {-3, 5}, {0x1p-10f, 0x1p-10f}}, 0) == 0x1p-20f);
  // The unit beside 2^20 is 2^-5.
  CHECK(dot(kFp16, {{1024, 1024}, {-1024, 1024}}, 0x1.000002p-4f) == 0x1p-4f);
}

TEST_CASE("subnormal operands, accumulators and results are kept") {
  CHECK(dot(kFp16, {{0x1p-24f, 0x1p-24f}}, 0) == 0x1p-48f);
  CHECK(dot(kFp16, {}, 0x1p-149f) == 0x1p-149f);
  CHECK(dot(kBf16, {{0x1p-133f, 1}}, 0) == 0x1p-133f);
  CHECK(dot(kBf16, {{0x1.8p-70f, 0x1p-70f}}, 0x1p-149f) == 0x1.8p-140f + 0x1p-149f);
  CHECK(dot(kBf16, {{0x1.cp-75f, 0x1p-74f}}, 0) == 0x1p-149f);
  const float vanished = dot(kBf16, {{-0x1p-80f, 0x1p-80f}}, 0);
  CHECK(bits(vanished) == 0);
  // 2^-9 of a subnormal counts as 2: half a unit beside it is lost, but not by its leading bit.
  const Products beside{{0x1p-24f, 0x1p15f}, {0x1p-12f, 0x1p-13f}};
  CHECK(dot(kFp16, beside, 0) == 0x1p-9f);
  MmaModel leading = hopper_model(OperandType::fp16, 8);
  leading.aligned_by = AlignedBy::leading_operand;
  CHECK(dot(kFp16, beside, 0, leading) == 0x1p-9f + 0x1p-25f);
}

TEST_CASE("zeros: no part in the alignment, +0 as a sum") {
  const Products beside{{0, 0x1p15f}, {0x1p-12f, 0x1p-13f}};
  CHECK(dot(kFp16, beside, 0) == 0x1p-25f);
  MmaModel field = hopper_model(OperandType::fp16, 8);
  field.aligned_by = AlignedBy::field;
  CHECK(dot(kFp16, beside, 0, field) == 0);
  CHECK(bits(dot(kFp16, Products(16, {-0.0f, 1}), -0.0f)) == 0);
  CHECK(bits(dot(kFp16, {{1, 1}}, -1)) == 0);
}

TEST_CASE("sums of 2^128 and more are infinite, but not inside of a block") {
  CHECK(dot(kBf16, {{0x1p64f, 0x1p64f}}, 0) == kInf);
  CHECK(dot(kBf16, {{-0x1p127f, 0x1p127f}}, kMax) == -kInf);
  CHECK(dot(kBf16, {{0x1p64f, 0x1p63f}, {-0x1p64f, 0x1p63f}}, 0x1p127f) == 0x1p127f);
  CHECK(dot(kBf16, {{0x1p52f, 0x1p51f}}, kMax) == kMax);  // half an ulp more
  Products p(9, {0, 0});
  p[0] = {0x1p64f, 0x1p63f};
  p[8] = {-0x1p64f, 0x1p63f};
  CHECK(dot(kBf16, p, 0x1p127f, hopper_model(OperandType::bf16, 8)) == 0x1p127f);
  CHECK(dot(kBf16, p, 0x1p127f, ampere_model(OperandType::bf16)) == kInf);
}

TEST_CASE("infinities and NaNs") {
  constexpr std::uint32_t canonical = 0x7fffffffu;
  for (const MmaKind& kind : {kFp16, kBf16}) {
    CHECK(dot(kind, {{kInf, 2}, {1, 1}}, -5) == kInf);
    CHECK(dot(kind, {{kInf, -2}}, kMax) == -kInf);
    CHECK(dot(kind, {{1, 1}}, kInf) == kInf);
    CHECK(dot(kind, {{kInf, kInf}}, 1) == kInf);
    CHECK(bits(dot(kind, {{kInf, 0}}, 1)) == canonical);
    CHECK(bits(dot(kind, {{kInf, 1}}, -kInf)) == canonical);
    CHECK(bits(dot(kind, {{-kNan, 1}}, 1)) == canonical);
    CHECK(bits(dot(kind, {}, kNan)) == canonical);
  }
}

TEST_CASE("small integers are exact in every model, shape and type") {
  for (const MmaKind& kind : kMmaKinds) {
    Fragments x(kind, 50);
    const CounterRng rng(3);
    std::uint64_t next = 0;
    const auto fill = [&](std::vector<float>& v, int size) {
      for (float& e : v)
        e = static_cast<float>(static_cast<int>(rng.below(next++, 2 * size + 1)) - size);
    };
    fill(x.a, 100);
    fill(x.b, 100);
    fill(x.c, 100000);
    for (const MmaModel& model : models(kind.type)) {
      const auto d = emulated(kind, x, model);
      int wrong = 0;
      for_each_entry(kind, x.count, [&](std::size_t f, int i, int j) {
        wrong += d[(f * kind.m + i) * kind.n + j] != in_f64(kind, x, f, i, j);
      });
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("every regime beside an implementation by 128-bit integers") {
  for (const MmaKind& kind : kMmaKinds)
    for (const Regime regime : kFiniteRegimes)
      for (const MmaModel& model : models(kind.type)) {
        const auto x = drawn(kind, regime, 15);
        const auto d = emulated(kind, x, model);
        const IntegerDot integer_dot(kind.type, model);
        int wrong = 0;
        for_each_entry(kind, x.count, [&](std::size_t f, int i, int j) {
          const std::size_t entry = (f * kind.m + i) * kind.n + j;
          const float expected =
              integer_dot(&x.a[(f * kind.m + i) * kind.k], &x.b[f * kind.k * kind.n + j], kind.n,
                          kind.k, x.c[entry]);
          wrong += bits(d[entry]) != bits(expected);
        });
        INFO(name(kind.type), " ", shape(kind), " ", name(regime), " ", text(model));
        CHECK(wrong == 0);
      }
}

TEST_CASE("the error keeps its bound and comes near to it, in every regime, shape and type") {
  for (const MmaKind& kind : kMmaKinds)
    for (const MmaModel& model : models(kind.type)) {
      double worst = 0;
      for (const Regime regime : kFiniteRegimes) {
        const auto x = drawn(kind, regime, 25);
        worst = std::max(worst, error_of_bound(kind, x, emulated(kind, x, model), model));
      }
      INFO(name(kind.type), " ", shape(kind), " ", text(model));
      CHECK(worst <= 1);
      CHECK(worst > 0.05);
    }
}

TEST_CASE("the bound must fail: a model with fewer bits, a lost product") {
  const MmaModel hopper = hopper_model(OperandType::fp16, 8);
  MmaModel fine = hopper;
  fine.extra_bits = 20;
  fine.result = Rounding::nearest_even;
  auto x = drawn(kFp16, Regime::uniform, 60);
  const auto coarse = emulated(kFp16, x, volta_model());
  CHECK(error_of_bound(kFp16, x, coarse, fine) > 1);
  const auto d = emulated(kFp16, x, hopper);
  x.a[0] += 0x1p-10f;
  CHECK(error_of_bound(kFp16, x, d, hopper) > 1);
}

TEST_CASE("fp32 sums to nearest keep their bound and differ from the tensor core's") {
  constexpr int kM = 16, kN = 16, kK = 16;
  const MmaKind kind{OperandType::fp16, kM, kN, kK};
  const auto x = drawn(kind, Regime::uniform, 60);
  const auto tensor_core = emulated(kind, x, hopper_model(kind.type, kind.n));
  std::vector<float> d = x.c;
  for_each_entry(kind, x.count, [&](std::size_t f, int i, int j) {
    for (int k = 0; k < kK; ++k)
      d[(f * kM + i) * kN + j] += x.a[(f * kM + i) * kK + k] * x.b[(f * kK + k) * kN + j];
  });
  const double unit = kK * kUnitRoundoffF32, bound = unit / (1 - unit);
  double worst = 0, bias = 0, bias_of_tensor_core = 0;
  for_each_entry(kind, x.count, [&](std::size_t f, int i, int j) {
    const std::size_t entry = (f * kM + i) * kN + j;
    const double exact = in_f64(kind, x, f, i, j), weight = mma_weight(kind, x, f, i, j);
    worst = std::max(worst, std::abs(d[entry] - exact) / (bound * weight));
    bias += std::copysign(d[entry] - exact, (d[entry] - exact) * exact);
    bias_of_tensor_core +=
        std::copysign(tensor_core[entry] - exact, (tensor_core[entry] - exact) * exact);
  });
  CHECK(worst <= 1);
  CHECK(worst > 0.01);
  CHECK(d != tensor_core);
  // Truncation is biased toward zero.
  CHECK(bias_of_tensor_core < -10 * std::abs(bias));
}

TEST_CASE("the result may replace the accumulator; a model outside of its ranges is refused") {
  const MmaKind kind{OperandType::tf32, 16, 8, 8};
  auto x = drawn(kind, Regime::uniform, 1);
  const auto expected = emulated(kind, x, hopper_model(kind.type, kind.n));
  const std::span<const float, 128> a(x.a.data(), 128);
  const std::span<const float, 64> b(x.b.data(), 64);
  const std::span<float, 128> c(x.c.data(), 128);
  mma<OperandType::tf32, 16, 8, 8>(a, b, c, c);
  CHECK(x.c == expected);
  for (const MmaModel& wrong :
       {MmaModel{.block = 0}, MmaModel{.extra_bits = -1}, MmaModel{.extra_bits = 21}})
    CHECK_THROWS_AS((mma<OperandType::tf32, 16, 8, 8>(a, b, c, c, wrong)), LogicError);
}

TEST_CASE("K of two instructions is a chain, whatever the block") {
  constexpr OperandType kType = OperandType::tf32;
  const auto x = drawn({kType, 16, 16, 16}, Regime::cancelling, 1);
  const std::span<const float, 256> b(x.b.data(), 256), c(x.c.data(), 256);
  std::vector<float> left(128), right(128), d(256), chained(256);
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 8; ++k) {
      left[i * 8 + k] = x.a[i * 16 + k];
      right[i * 8 + k] = x.a[i * 16 + k + 8];
    }
  const MmaModel model{.block = 16, .extra_bits = 2};
  mma<kType, 16, 16, 16>(std::span<const float, 256>(x.a.data(), 256), b, c,
                         std::span<float, 256>(d.data(), 256), model);
  const std::span<float, 256> out(chained.data(), 256);
  mma<kType, 16, 16, 8>(std::span<const float, 128>(left.data(), 128), b.first<128>(), c, out,
                        model);
  mma<kType, 16, 16, 8>(std::span<const float, 128>(right.data(), 128), b.last<128>(), out, out,
                        model);
  CHECK(d == chained);
}

TEST_CASE("MTTKRP of a slice: B^T (X C) by two chained products stays within its bound") {
  // HLSTO's product of 16 x 16 slices: fp32 sums X C, rounded to fp16, are the right operand of
  // the second product.
  constexpr OperandType kType = OperandType::fp16;
  const MmaModel model = hopper_model(kType, 16);
  const double beta = mma_error_bound(model, 16);
  const MmaKind kind{kType, 16, 16, 16};
  const auto slices = drawn(kind, Regime::uniform, 60);
  const auto factors = drawn(kind, Regime::uniform, 60);
  const std::vector<float> zeros(256);
  const std::span<const float, 256> zero(zeros.data(), 256);
  double worst = 0;
  for (std::size_t s = 0; s < slices.count; ++s) {
    const std::span<const float, 256> x(&slices.a[s * 256], 256), c(&slices.b[s * 256], 256);
    const float* factor = &factors.b[s * 256];  // B, 16 x 16
    std::vector<float> transposed(256), product(256), half(256), result(256);
    for (int i = 0; i < 256; ++i) transposed[i] = factor[i % 16 * 16 + i / 16];
    mma<kType, 16, 16, 16>(x, c, zero, std::span<float, 256>(product.data(), 256));
    std::transform(product.begin(), product.end(), half.begin(), round_fp16);
    mma<kType, 16, 16, 16>(std::span<const float, 256>(transposed.data(), 256),
                           std::span<const float, 256>(half.data(), 256), zero,
                           std::span<float, 256>(result.data(), 256));
    for (int r = 0; r < 16; ++r)
      for (int q = 0; q < 16; ++q) {
        double exact = 0, error = 0, weight = 0x1p-126;
        for (int j = 0; j < 16; ++j) {
          double inner = 0, inner_weight = 0x1p-126;
          for (int k = 0; k < 16; ++k) {
            const double term = static_cast<double>(x[j * 16 + k]) * c[k * 16 + q];
            inner += term;
            inner_weight += std::max<double>(std::abs(x[j * 16 + k]), 0x1p-14) *
                            std::max<double>(std::abs(c[k * 16 + q]), 0x1p-14);
          }
          const double b = std::abs(transposed[r * 16 + j]);
          exact += transposed[r * 16 + j] * inner;
          error += b * (beta * inner_weight + kUnitRoundoffFp16 * std::abs(product[j * 16 + q]) +
                        kUnderflowFp16);
          weight += std::max(b, 0x1p-14) * std::max<double>(std::abs(half[j * 16 + q]), 0x1p-14);
        }
        worst = std::max(worst, std::abs(result[r * 16 + q] - exact) / (error + beta * weight));
      }
  }
  CHECK(worst <= 1);
  CHECK(worst > 0.2);  // the rounding to fp16 dominates and is seen
}

TEST_CASE("sums in half precision are rounded to the nearest half, ties to even") {
  Fragment a{}, b{};
  a[0] = 1, b[0] = 1, b[1] = 3, b[2] = -1, b[3] = 0x1p-24f;
  Fragment c{};
  c[0] = c[1] = 2048, c[2] = -65504, c[3] = 1;
  a[1] = 32, b[16 + 2] = -32;  // a second product for entry (0, 2)
  multiply_add_in_halves(a, b, c);
  CHECK(c[0] == 2048);  // 2049 lies between 2048 and 2050
  CHECK(c[1] == 2052);  // 2051 between 2050 and 2052
  CHECK(c[2] == -kInf);
  CHECK(c[3] == 1);
  CHECK(c[4] == 0);
  // Of a half to which the sum in single precision, without its last bit, would be the midpoint.
  c.fill(0);
  c[0] = 2048, c[1] = -2048;
  b[0] = 1, b[16] = 0x1p-18f, b[1] = -1, b[17] = -0x1p-18f;
  multiply_add_in_halves(a, b, c);
  CHECK(c[0] == 2050);
  CHECK(c[1] == -2050);
  // What underflows is +0.
  c.fill(0);
  a.fill(0), b.fill(0);
  a[0] = -0x1p-14f, b[0] = 0x1p-12f;
  multiply_add_in_halves(a, b, c);
  CHECK(bits(c[0]) == 0);
}

TEST_CASE("a subnormal accumulator in half precision is aligned as a normal one is") {
  // What an H200 made of them; with c aligned by its leading bit each is a unit off.
  struct Seen {
    float sum, c;
    std::array<std::pair<float, float>, 16> products;
  };
  const Seen seen[] = {{-0x1.cp-19f,
                        -0x1.8p-23f,
                        {{{0x1.fdcp-14f, -0x1.e7p-10f},
                          {-0x1.ffp-10f, 0x1p-24f},
                          {0x1p-21f, 0x1p-23f},
                          {-0x1.c38p-13f, 0x1.ddcp-13f},
                          {0x1.e34p-14f, 0x1.2e8p-11f},
                          {-0x1.ep-21f, 0x1.ep-21f},
                          {-0x1.8p-23f, -0x1.7acp-11f},
                          {0x1.68p-13f, -0x1.124p-13f},
                          {-0x1.b34p-10f, -0x1.59p-13f},
                          {-0x1p-24f, -0x1.b2p-15f},
                          {-0x1.ffcp-10f, 0x1.e78p-10f},
                          {0x1.8p-21f, -0x1.8p-23f},
                          {0x1.dbcp-12f, 0x1.88p-11f},
                          {0x1.394p-14f, -0x1.cp-22f},
                          {0x1.f8p-16f, -0x1.1bp-16f},
                          {-0x1.7ecp-10f, -0x1.5b8p-15f}}}},
                       {-0x1.ap-19f,
                        -0x1.8p-22f,
                        {{{0x1.818p-10f, -0x1.fbp-10f},
                          {0x1.938p-13f, 0x1.5p-20f},
                          {-0x1.f04p-14f, -0x1.ap-20f},
                          {0x1.44p-14f, 0x1.cf4p-12f},
                          {0x1.384p-10f, 0x1.8p-22f},
                          {0x1.8f4p-11f, -0x1.7cp-18f},
                          {-0x1.e0cp-12f, -0x1.44p-18f},
                          {-0x1.ec4p-12f, -0x1.b7p-13f},
                          {0x1p-24f, 0x1.564p-12f},
                          {-0x1.d8cp-10f, -0x1.4p-20f},
                          {-0x1.8fp-14f, 0x1.7cp-17f},
                          {0x1.f28p-13f, -0x1p-24f},
                          {0x1.dap-16f, 0x1p-23f},
                          {-0x1.ap-21f, -0x1.a74p-14f},
                          {0x1.b8p-13f, -0x1.ap-21f},
                          {-0x1.1p-17f, 0x1.8p-22f}}}},
                       {0x1.08p-19f,
                        -0x1.2p-21f,
                        {{{-0x1.6f8p-15f, -0x1.77p-11f},
                          {-0x1.42p-12f, 0x1.8p-22f},
                          {-0x1.c48p-11f, -0x1.5e8p-12f},
                          {-0x1.7cp-10f, -0x1.b9p-12f},
                          {0x1.d98p-10f, -0x1.bcp-12f},
                          {-0x1.9cp-17f, 0x1.cp-20f},
                          {0x1.8dp-13f, 0x1.cb8p-14f},
                          {0x1.12cp-10f, -0x1p-24f},
                          {-0x1.3b8p-13f, 0x1.c38p-14f},
                          {-0x1.36p-10f, -0x1.af8p-10f},
                          {0x1.e8p-19f, -0x1.0ep-17f},
                          {-0x1.8p-10f, -0x1.bfp-13f},
                          {0x1.8p-22f, 0x1.424p-11f},
                          {0x1.75p-13f, 0x1.29p-11f},
                          {-0x1.bap-14f, -0x1.314p-14f},
                          {-0x1.02p-14f, 0x1.b28p-15f}}}}};
  for (const Seen& one : seen) {
    Fragment a{}, b{}, c{};
    c[0] = one.c;
    for (std::size_t k = 0; k < one.products.size(); ++k)
      std::tie(a[k], b[16 * k]) = one.products[k];
    multiply_add_in_halves(a, b, c);
    CHECK(c[0] == one.sum);
  }
}

TEST_CASE("the comparison reports planted differences") {
  const MmaKind kind{OperandType::bf16, 16, 8, 8};
  const MmaModel model = hopper_model(kind.type, kind.n);
  const auto x = drawn(kind, Regime::uniform, 10);
  const auto d = emulated(kind, x, model);
  const Agreement same = compare(kind, x, model, d, d);
  CHECK(same.share() == 1);
  CHECK(same.ulps == 0);
  CHECK(same.of_bound == 0);
  auto other = d;
  other[77] = std::nextafter(std::nextafter(d[77], kInf), kInf);
  const Agreement near = compare(kind, x, model, other, d);
  CHECK(near.equal == near.entries - 1);
  CHECK(near.ulps == 2);
  CHECK(near.of_bound > 0);
  CHECK(near.of_bound < 1);
  other[77] = d[77] + 0.1f;
  CHECK(compare(kind, x, model, other, d).of_bound > 1);
  other[77] = kNan;
  CHECK(compare(kind, x, model, other, d).of_bound == kInf);
  CHECK(compare(kind, x, model, other, d).ulps == kInf);
  other[77] = kInf;
  CHECK(compare(kind, x, model, other, d).of_bound == kInf);
  CHECK(ulp_distance(-0x1p-149f, 0x1p-149f) == 2);
  CHECK(ulp_distance(kMax, kInf) == 1);
}

TEST_CASE("every regime tells the models apart that it is made for") {
  const auto share = [](const MmaKind& kind, Regime regime, const MmaModel& a, const MmaModel& b) {
    const auto x = drawn(kind, regime, regime == Regime::sparse ? 240 : 40);
    return compare(kind, x, a, emulated(kind, x, a), emulated(kind, x, b)).share();
  };
  for (const MmaKind& kind : kMmaKinds) {
    const MmaModel hopper = hopper_model(kind.type, kind.n);
    MmaModel fewer = hopper, block = hopper, leading = hopper, zeros = hopper;
    --fewer.extra_bits;
    block.block = std::min(hopper.block, kind.k) / 2;
    leading.aligned_by = AlignedBy::leading_operand;
    zeros.aligned_by = AlignedBy::field;
    for (const Regime regime : {Regime::uniform, Regime::spread, Regime::cancelling})
      CHECK(share(kind, regime, hopper, fewer) < 1);
    CHECK(share(kind, Regime::sparse, hopper, zeros) < 1);
    CHECK(share(kind, Regime::cancelling, hopper, block) < 1);
    CHECK(share(kind, Regime::subnormal, hopper, leading) < 1);
  }
}

TEST_CASE("operands drawn are values of their type, in the ranges of their regime") {
  for (const MmaKind& kind : kMmaKinds)
    for (const Regime regime : kRegimes) {
      const auto x = drawn(kind, regime, 100);
      int wrong = 0, subnormal = 0, not_finite = 0;
      for (const auto* v : {&x.a, &x.b})
        for (const float e : *v) {
          wrong += !std::isnan(e) && bits(e) != bits(round_operand(kind.type, e));
          subnormal +=
              e != 0 &&
              std::abs(e) < std::ldexp(1.0, static_cast<int>(smallest_exponent(kind.type)));
          not_finite += !std::isfinite(e);
        }
      CHECK(wrong == 0);
      CHECK((not_finite > 0) == (regime == Regime::special));
      if (regime == Regime::subnormal) CHECK(subnormal > 100);
    }
}

TEST_CASE("the probes find the model that they probe") {
  for (const MmaKind& kind : kMmaKinds) {
    std::vector<MmaModel> list;
    for (const int block : {4, 8, 16})
      for (int i = 0; i < 12 && block <= kind.k; ++i)  // every rule with every rounding
        list.push_back({block, i / 3, static_cast<AlignedBy>(i % 4), static_cast<Rounding>(i % 3),
                        static_cast<Rounding>((i + 1) % 3)});
    for (const MmaModel& model : list) {
      const Multiply multiply = [&](const MmaKind& k, const Fragments& x, std::vector<float>& d) {
        emulate(k, x, model, d);
      };
      const MmaFindings found = MmaProber(kind, multiply).findings();
      INFO(name(kind.type), " ", shape(kind), " ", text(model), " found ", text(found.model));
      CHECK(found.model == model);
      CHECK(found.consecutive_blocks);
      CHECK(found.products_alone_agree);
      CHECK(found.subnormal_operand);
      CHECK(found.zero_times_infinity == 0x7fffffffu);
      // Zeros of fp16 operands align to 2^-28 where they take part.
      CHECK(found.subnormal_accumulator ==
            (kind.type != OperandType::fp16 || model.aligned_by != AlignedBy::field));
    }
  }
}

TEST_CASE("the probes tell blocks of another order and a flushed subnormal") {
  const MmaModel model = ampere_model(OperandType::fp16);
  const Multiply interleaved = [&](const MmaKind& kind, const Fragments& x, std::vector<float>& d) {
    Fragments y = x;  // k = 0, 2, 4, ... first
    for (int i = 0; i < kind.m; ++i)
      for (int k = 0; k < kind.k; ++k)
        y.a[i * kind.k + k] = x.a[i * kind.k + 2 * k % kind.k + 2 * k / kind.k];
    for (int k = 0; k < kind.k; ++k)
      for (int j = 0; j < kind.n; ++j)
        y.b[k * kind.n + j] = x.b[(2 * k % kind.k + 2 * k / kind.k) * kind.n + j];
    emulate(kind, y, model, d);
  };
  CHECK_FALSE(MmaProber(kFp16, interleaved).findings().consecutive_blocks);
  const Multiply flushing = [&](const MmaKind& kind, const Fragments& x, std::vector<float>& d) {
    Fragments y = x;
    for (float& e : y.a)
      if (std::abs(e) < 0x1p-14f) e = 0;
    emulate(kind, y, model, d);
  };
  CHECK_FALSE(MmaProber(kFp16, flushing).findings().subnormal_operand);
}

namespace {

/// How often each element of a matrix is held by a warp, at the fewest and at the most.
template <class F>
std::pair<int, int> holders(int rows, int columns, int per_lane, const F& place) {
  std::vector<int> times(rows * columns);
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < per_lane; ++e) {
      const Place at = place(lane, e);
      REQUIRE(at.row < rows);
      REQUIRE(at.column < columns);
      ++times[at.row * columns + at.column];
    }
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return {*least, *most};
}

}  // namespace

TEST_CASE("a warp holds every element of a fragment once") {
  const std::pair<int, int> once{1, 1};
  CHECK(holders(16, 16, 8, half_place_a) == once);
  CHECK(holders(16, 8, 4, half_place_a) == once);
  CHECK(holders(16, 8, 2, half_place_b) == std::pair{0, 1});  // half of the elements
  CHECK(holders(16, 8, 4, half_place_b) == once);
  CHECK(holders(8, 8, 2, half_place_b) == once);
  CHECK(holders(16, 8, 4, tf32_place_a) == once);
  CHECK(holders(16, 4, 2, tf32_place_a) == once);
  CHECK(holders(8, 8, 2, tf32_place_b) == once);
  CHECK(holders(4, 8, 1, tf32_place_b) == once);
  CHECK(holders(16, 8, 4, accumulator_place) == once);
}
