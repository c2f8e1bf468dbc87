// The emulated tensor core (common/numeric/mma.hpp) beside that of the device: probes of its
// parameters, then 10^6 random fragments of each shape and type. Both are printed; the test fails
// where the default model differs in a bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/device.hpp"
#include "common/numeric/rounding.hpp"
#include "common/numeric/tensor_core.hpp"
#include "tests/gpu/mma_device.hpp"
#include "tests/gpu/mma_fragments.hpp"
#include "tests/gpu/mma_probe.hpp"

using namespace retensor;

namespace {

constexpr std::size_t kBatch = 50'000, kBatches = 4;  // times five regimes: 10^6 fragments
constexpr std::size_t kSpecial = 10'000;              // fragments with infinities and NaNs
constexpr std::size_t kForCandidates = 10'000;        // of each regime
constexpr std::uint64_t kSeed = 1;

MmaFindings probe(const MmaKind& kind) {
  return MmaProber(kind, multiply_on_device).findings();
}

const char* yes(bool b) {
  return b ? "yes" : "no";
}

void print(const MmaKind& kind, const MmaFindings& f) {
  std::printf("%s %s\n  %s\n", name(kind.type), shape(kind).c_str(), text(f.model).c_str());
  std::printf("  consecutive blocks in order %s, products aligned as the accumulator %s\n",
              yes(f.consecutive_blocks), yes(f.products_alone_agree));
  std::printf("  subnormal operand %s, accumulator %s\n", yes(f.subnormal_operand),
              yes(f.subnormal_accumulator));
  std::printf("  NaN of 0 inf %08x, of inf - inf %08x, of a NaN %08x; sum of -0 %08x\n",
              f.zero_times_infinity, f.opposite_infinities, f.nan_operand,
              f.zero_of_negative_zeros);
  if (kind.type == OperandType::fp16) return;
  std::printf(
      "  subnormal result %s, overflow to infinity %s, block sums beyond fp32 %s, -2^-160 "
      "becomes %08x\n",
      yes(f.subnormal_result), yes(f.overflow_is_infinity), yes(f.wide_block_sums),
      f.tiny_negative_sum);
}

struct Candidate {
  const char* label;
  MmaModel model;
};

/// The default first.
std::vector<Candidate> candidates(const MmaKind& kind) {
  const MmaModel hopper = hopper_model(kind.type, kind.n);
  std::vector<Candidate> list{{"hopper (default)", hopper},
                              {"as probed", probe(kind).model},
                              {"ampere", ampere_model(kind.type)},
                              {"volta", volta_model()}};
  const auto add = [&](const char* label, auto change) {
    MmaModel model = hopper;
    change(model);
    list.push_back({label, model});
  };
  add("hopper, half the block", [](MmaModel& m) { m.block /= 2; });
  add("hopper, 1 bit fewer", [](MmaModel& m) { --m.extra_bits; });
  add("hopper, 1 bit more", [](MmaModel& m) { ++m.extra_bits; });
  add("hopper, by field", [](MmaModel& m) { m.aligned_by = AlignedBy::field; });
  add("hopper, by operand", [](MmaModel& m) { m.aligned_by = AlignedBy::leading_operand; });
  add("hopper, by product", [](MmaModel& m) { m.aligned_by = AlignedBy::leading_product; });
  add("hopper, aligned down", [](MmaModel& m) { m.alignment = Rounding::down; });
  add("hopper, result to nearest", [](MmaModel& m) { m.result = Rounding::nearest_even; });
  return list;
}

void head(const char* what) {
  std::printf("%-5s %-10s %-26s %11s %12s %12s %10s\n", "type", "shape", what, "entries",
              "bit-equal", "max ulp", "of bound");
}

void row(const MmaKind& kind, const char* what, const Agreement& a) {
  std::printf("%-5s %-10s %-26s %11zu %12.9f %12g %10.3g\n", name(kind.type), shape(kind).c_str(),
              what, a.entries, a.share(), a.ulps, a.of_bound);
}

/// The device beside each model on the same fragments.
std::vector<Agreement> agreements(const MmaKind& kind, const std::vector<Candidate>& models,
                                  const Fragments& x) {
  std::vector<float> device, emulated;
  multiply_on_device(kind, x, device);
  std::vector<Agreement> list;
  for (const Candidate& c : models) {
    emulate(kind, x, c.model, emulated);
    list.push_back(compare(kind, x, c.model, device, emulated));
  }
  return list;
}

/// The default model over all fragments of a regime.
Agreement agreement_of_default(const MmaKind& kind, Regime regime) {
  const bool special = regime == Regime::special;
  const MmaModel model = hopper_model(kind.type, kind.n);
  Fragments x(kind, special ? kSpecial : kBatch);
  std::vector<float> device, emulated;
  Agreement sum;
  for (std::size_t batch = 0; batch < (special ? 1 : kBatches); ++batch) {
    draw(kind, regime, kSeed, batch * x.count, x);
    multiply_on_device(kind, x, device);
    emulate(kind, x, model, emulated);
    sum.add(compare(kind, x, model, device, emulated));
  }
  return sum;
}

/// The first entries that differ, with what they are sums of.
void print_differences(const Fragments& x, const std::vector<float>& device,
                       const std::vector<float>& emulated) {
  int printed = 0;
  for (std::size_t p = 0; p < device.size() && printed < 3; ++p) {
    if (std::bit_cast<std::uint32_t>(device[p]) == std::bit_cast<std::uint32_t>(emulated[p]))
      continue;
    ++printed;
    const std::size_t f = p / 256, i = p % 256 / 16, j = p % 16;
    std::printf("  %a on the device, %a emulated: %a", device[p], emulated[p], x.c[p]);
    for (std::size_t k = 0; k < 16; ++k)
      std::printf(" + %a * %a", x.a[f * 256 + i * 16 + k], x.b[f * 256 + k * 16 + j]);
    std::printf("\n");
  }
}

}  // namespace

TEST_CASE("the device's arithmetic as probed") {
  const auto facts = device::facts();
  std::printf("%s, compute capability %d.%d\n", facts.name.c_str(), facts.major, facts.minor);
  for (const MmaKind& kind : kMmaKinds) {
    const MmaFindings found = probe(kind);
    print(kind, found);
    CHECK(found.consecutive_blocks);
    CHECK(found.products_alone_agree);
  }
}

TEST_CASE("candidate models beside the device") {
  head("model");
  for (const MmaKind& kind : kMmaKinds) {
    const auto models = candidates(kind);
    std::vector<Agreement> sums(models.size());
    Fragments x(kind, kForCandidates);
    for (const Regime regime : kRegimes) {
      draw(kind, regime, kSeed, 0, x);
      const auto list = agreements(kind, models, x);
      for (std::size_t i = 0; i < list.size(); ++i) sums[i].add(list[i]);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) row(kind, models[i].label, sums[i]);
    CHECK(sums[0].share() == 1);
  }
}

TEST_CASE("the default model beside the device on 10^6 fragments of each shape and type") {
  head("inputs");
  for (const MmaKind& kind : kMmaKinds)
    for (const Regime regime : kRegimes) {
      const Agreement found = agreement_of_default(kind, regime);
      row(kind, name(regime), found);
      CAPTURE(name(kind.type));
      CAPTURE(shape(kind));
      CAPTURE(name(regime));
      CHECK(found.share() == 1);
    }
}

TEST_CASE("sums in half precision beside the device on 10^6 fragments") {
  head("inputs");
  const MmaKind& kind = kMmaKinds[0];
  for (const Regime regime : kRegimes) {
    Fragments x(kind, regime == Regime::special ? kSpecial : kBatch * kBatches);
    draw(kind, regime, kSeed, 0, x);
    for (float& c : x.c) c = round_fp16(c);
    std::vector<float> device, emulated(x.c);
    multiply_in_halves_on_device(x, device);
    for (float& d : device) d = round_fp16(d);  // a NaN has another pattern as a half
#pragma omp parallel for schedule(static)
    for (std::size_t f = 0; f < x.count; ++f) {
      Fragment a, b, c;
      std::copy_n(&x.a[f * a.size()], a.size(), a.begin());
      std::copy_n(&x.b[f * b.size()], b.size(), b.begin());
      std::copy_n(&x.c[f * c.size()], c.size(), c.begin());
      multiply_add_in_halves(a, b, c);
      std::copy_n(c.begin(), c.size(), &emulated[f * c.size()]);
    }
    const auto found = compare(kind, x, hopper_model(kind.type, kind.n), device, emulated);
    row(kind, name(regime), found);
    print_differences(x, device, emulated);
    CAPTURE(name(regime));
    CHECK(found.share() == 1);
  }
}
