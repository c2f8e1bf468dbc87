// Binary caches of any content. No mutation finds a checksum, so the one that the refusal states is
// put in its place and the cache tried again.
#include "tests/fuzz/invariants.hpp"

#include <algorithm>

namespace {

using namespace retensor;

constexpr std::size_t kVersionAt = 8, kCheckAt = 20, kCheckBytes = 4;
constexpr std::size_t kDigestAt = 96, kDigestBytes = 32;

void try_cache(const std::string& bytes) {
  const auto outcome = fuzz::attempt([&] { return parse_cache(bytes, "input"); });
  if (!outcome.tensor) return;
  outcome.tensor->check();
  // Version 1, which no checksum of the header keeps from being mutated, differs there alone.
  auto own = to_cache(*outcome.tensor);
  if (bytes[kVersionAt] == 1) {
    own[kVersionAt] = 1;
    std::fill_n(own.begin() + kCheckAt, kCheckBytes, '\0');
  }
  fuzz::require(own == bytes, "a cache has one form");
}

std::string with_own_digest(std::string bytes) {
  const std::string refusal = fuzz::attempt([&] { return parse_cache(bytes, "input"); }).refusal;
  const std::string words = "content with SHA-256 ";
  const auto digest = refusal.find(words);
  if (digest == std::string::npos) return bytes;
  for (std::size_t b = 0; b < kDigestBytes; ++b)
    bytes[kDigestAt + b] =
        static_cast<char>(std::stoi(refusal.substr(digest + words.size() + 2 * b, 2), nullptr, 16));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try_cache(bytes);
  try_cache(with_own_digest(bytes));
  return 0;
}
