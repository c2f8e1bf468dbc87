// The generator of files for the fuzzer: most of its files are taken, and some are not.
#include <doctest/doctest.h>

#include <array>

#include "common/core/rng.hpp"
#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/kinds.hpp"

using namespace retensor;

namespace {

std::string random_bytes(std::uint64_t seed) {
  const CounterRng rng(seed);
  std::string bytes(400, '\0');
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<char>(rng.below(k, 256));
  return bytes;
}

}  // namespace

TEST_CASE("a fuzzer's files are as their format wants them, or nearly so") {
  constexpr int kFiles = 300;
  constexpr std::array kOneIn = {4, 3, 3, 3};  // at least: specs, registries, claims, findings
  for (std::size_t kind = 0; kind < kOneIn.size(); ++kind) {
    const auto& [grammar, use] = fuzz::kinds()[kind];
    int taken = 0;
    std::set<std::string> files;
    for (int seed = 0; seed < kFiles; ++seed) {
      const auto text = grammar.file(random_bytes(static_cast<std::uint64_t>(seed)));
      files.insert(text);
      taken += fuzz::accepted([&use = use, &text] { use(text); });
    }
    CAPTURE(kind);
    CHECK(taken >= kFiles / kOneIn[kind]);
    CHECK(taken < kFiles * 9 / 10);
    CHECK(files.size() > kFiles * 3 / 4);
  }
}

TEST_CASE("a file without choices is the smallest") {
  for (const auto& [grammar, use] : fuzz::kinds()) CHECK(grammar.file("").size() < 600);
}
