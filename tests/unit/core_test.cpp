#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/core/rng.hpp"
#include "common/core/text.hpp"
#include "common/core/types.hpp"

using namespace retensor;

TEST_CASE("SHA-256 of the empty and the abc message (FIPS 180-4)") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("volume refuses to overflow") {
  CHECK(checked_volume({3, 4, 5}) == 60);
  CHECK_THROWS_AS(checked_volume({1ULL << 32, 1ULL << 32}), InputError);
}

TEST_CASE("counter random numbers are reproducible, distinct by stream and in range") {
  const CounterRng a(7), b(7), c(7, 1);
  double sum = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    CHECK(a.bits(i) == b.bits(i));
    CHECK(a.bits(i) != c.bits(i));
    CHECK(a.below(i, 10) < 10);
    sum += a.uniform(i);
  }
  CHECK(sum / 10000 == doctest::Approx(0.5).epsilon(0.02));
}

TEST_CASE("errors collect context on the way up") {
  try {
    try {
      throw ParseError({"x.tns", 3, 7}, "'abc'", "an index");
    } catch (Error& e) {
      e.add_context("dataset uni");
      throw;
    }
  } catch (const InputError& e) {
    CHECK(std::string(e.what()) == "dataset uni: x.tns:3:7: found 'abc', expected an index");
  }
}

TEST_CASE("a name is suggested where it may have been meant") {
  CHECK(meant("mttkrp", {"ttm", "mtkrp", "ttv"}) == "mtkrp");
  CHECK(meant("x", {}).empty());
  CHECK(meant("", {"a", "ab"}).empty());
  // A part of an id was meant, not whatever has few letters.
  CHECK(meant("cpd", {"fwc.cuda", "cpd.cuda.als", "cpd.cpu.als"}) == "cpd.cpu.als");
  CHECK(meant("cpd", {"fwc.cuda", "blco.cuda"}).empty());
  CHECK(meant("ts", {"ttm", "tew"}).empty());
  CHECK(meant("pln", {"plan", "plot"}) == "plan");
  CHECK(meant("experimental", {"experiments", "artifacts"}) == "experiments");
  CHECK(suggestion("plann", {"plan", "run"}) == "; did you mean 'plan'?");
  CHECK(suggestion("xyz", {"plan", "run"}).empty());
}

TEST_CASE("items are listed as a sentence has them") {
  CHECK(in_words({}, "and").empty());
  CHECK(in_words({"a"}, "or") == "a");
  CHECK(in_words({"a", "b"}, "or") == "a or b");
  CHECK(in_words({"a", "b", "c"}, "and") == "a, b and c");
}

TEST_CASE("durations have a unit that fits, and three digits") {
  CHECK(duration_text(0) == "0 us");
  CHECK(duration_text(1.234e-8) == "0.0123 us");
  CHECK(duration_text(0.00034567) == "346 us");
  CHECK(duration_text(0.00099949) == "999 us");
  CHECK(duration_text(0.0009996) == "1 ms");  // not 1e+03 us
  CHECK(duration_text(0.9996) == "1 s");
  CHECK(duration_text(99.94) == "99.9 s");
  CHECK(duration_text(99.96) == "1 min 39 s");
  CHECK(duration_text(7322.9) == "2 h 2 min");
  CHECK(duration_text(3.6e300) == "1e+297 h");
  CHECK(duration_text(std::numeric_limits<double>::infinity()) == "inf h");
  CHECK(duration_text(std::nan("")) == "nan h");
}

TEST_CASE("a text is printable on one line of a terminal, and stays as it was where it is") {
  CHECK(printable("R\u00e4nge, \u20ac, \U0001f600") == "R\u00e4nge, \u20ac, \U0001f600");
  CHECK(printable("a\nb\tc") == "a\\nb\\x09c");
  CHECK(printable("\x1b[31m\x7f") == "\\x1b[31m\\x7f");
  CHECK(printable("\xc2\x9b"  // the C1 control that begins a sequence
                  "2J") == "\\xc2\\x9b2J");
  CHECK(printable("\xff\xc3") == "\\xff\\xc3");
  CHECK(printable("") == "");
}
