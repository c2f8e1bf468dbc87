// Specs, registries, claims and findings that are mostly as their shapes want them, and what the
// program does with them: the first byte chooses which.
#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/kinds.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto& [grammar, use] = fuzz::kinds()[data[0] % fuzz::kinds().size()];
  const auto text = grammar.file(bytes.substr(1));
  fuzz::accepted([&use = use, &text] { use(text); });
  return 0;
}
