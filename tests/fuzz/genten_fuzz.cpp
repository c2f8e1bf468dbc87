// GenTen text of any content; what is read is not what another reader takes for its own.
#include "common/io/tns.hpp"
#include "tests/fuzz/invariants.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (fuzz::try_text(parse_genten, bytes))
    fuzz::require(is_genten(bytes), "what is read begins with the keyword");
  return 0;
}
