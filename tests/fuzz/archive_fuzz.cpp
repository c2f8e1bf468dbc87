// Archives of any content: they unpack within the limit, the same as a tensor's file, or are
// refused.
#include "common/io/compressed.hpp"
#include "common/io/read.hpp"
#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/invariants.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 16;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadOptions options;
  options.max_unpacked_bytes = kLimit;
  const auto whole = fuzz::attempt([&] { return parse_tensor(bytes, "input", options); });
  if (!is_archive(bytes)) return 0;
  Unpacked content;
  if (!fuzz::accepted([&] { content = unpack(bytes, "input", kLimit); })) {
    fuzz::require(!whole.tensor, "what is refused is no tensor");
    return 0;
  }
  fuzz::require(content.size() <= kLimit, "the limit holds");
  const std::string text(content.view());
  const auto plain = fuzz::attempt([&] { return parse_tensor(text, "input", options); });
  if (!is_archive(text))
    fuzz::require(plain.refusal == whole.refusal, "an archive reads as what it holds");
  return 0;
}
