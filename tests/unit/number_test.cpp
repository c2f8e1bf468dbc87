#include "common/io/fields.hpp"

#include <doctest/doctest.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "common/core/rng.hpp"

using namespace retensor;

namespace {

template <class T>
T read(const std::string& s) {
  T value = T{-77};
  const char* const stop = text::read_value(s.data(), s.data() + s.size(), value);
  CAPTURE(s);
  REQUIRE(stop == s.data() + s.size());
  return value;
}

template <class T>
bool refused(const std::string& s) {
  T value{};
  return text::read_value(s.data(), s.data() + s.size(), value) == nullptr;
}

/// strtod and strtof of the C library round correctly: an independent witness.
bool exact(const std::string& s) {
  return read<double>(s) == std::strtod(s.c_str(), nullptr) &&
         read<float>(s) == std::strtof(s.c_str(), nullptr);
}

}  // namespace

TEST_CASE("decimals of every length are rounded exactly") {
  const CounterRng rng(3);
  int inexact = 0;
  for (std::uint64_t i = 0; i < 300000; ++i) {
    std::string digits = std::to_string(rng.bits(4 * i) >> rng.below(4 * i + 1, 64));
    const auto point = rng.below(4 * i + 2, digits.size() + 1);
    digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(point), '.');
    const auto form = rng.below(4 * i + 3, 4);
    if (form == 1) digits += "e-" + std::to_string(rng.below(i, 30));
    if (form == 2) digits += "E+" + std::to_string(rng.below(i, 15));
    if (form == 3) digits.insert(digits.begin(), '-');
    inexact += !exact(digits);
  }
  CHECK(inexact == 0);
}

TEST_CASE("decimals next to the middle of two floats are rounded exactly") {
  const CounterRng rng(4);
  int inexact = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const auto mantissa = static_cast<double>((std::uint64_t{1} << 23) + rng.below(2 * i, 1 << 23));
    const double middle =
        std::ldexp(mantissa + 0.5, static_cast<int>(rng.below(2 * i + 1, 60)) - 50);
    char buffer[64];
    for (const double x : {middle, std::nextafter(middle, 0), std::nextafter(middle, 1e300)}) {
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
      inexact += !exact(std::string(buffer, end));
    }
  }
  CHECK(inexact == 0);
}

TEST_CASE("forms, limits and signs") {
  CHECK(read<double>("1.") == 1);
  CHECK(read<double>(".5") == 0.5);
  CHECK(read<double>("+2.5e+3") == 2500);
  CHECK(std::signbit(read<double>("-0")));
  CHECK(std::signbit(read<float>("-0.0")));
  CHECK(read<float>("3.4028235e38") == 0x1.fffffep127f);
  CHECK(read<float>("1e-45") == 0x1p-149f);
  CHECK(read<float>("1e-50") == 0);
  CHECK(read<double>("1e-400") == 0);
  CHECK(read<double>("9007199254740993") == 9007199254740992.0);
  CHECK(read<double>("0.000000000000000000000000000000000000001") == 1e-39);
  CHECK(read<double>("00000000000000000000000000000001") == 1);
  CHECK(refused<float>("3.5e38"));
  CHECK(refused<double>("1e400"));
  for (const char* s : {"", "-", "+", ".", "e5", "-.", "nan", "inf", "-inf", "+-1", "--1", "+inf"})
    CHECK(refused<double>(s));
}

TEST_CASE("what follows a number is left alone") {
  const std::string s = "1.5e";
  double value = 0;
  CHECK(text::read_value(s.data(), s.data() + s.size(), value) == s.data() + 3);
  CHECK(value == 1.5);
}
