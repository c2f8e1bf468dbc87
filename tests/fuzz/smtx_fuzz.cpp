// Patterns of the Deep Learning Matrix Collection of any content.
#include "common/io/matrix_market.hpp"
#include "tests/fuzz/invariants.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  fuzz::try_text(parse_smtx, {reinterpret_cast<const char*>(data), size});
  return 0;
}
