// Specs of any content: a checked spec or an InputError. Includes of the input are looked up below
// the working directory alone.
#include "experiments/driver/spec/spec.hpp"

#include "tests/fuzz/accepted.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  fuzz::accepted([&] {
    driver::parse_spec({reinterpret_cast<const char*>(data), size}, "input.yaml");
  });
  return 0;
}
