// Specs of any content: a checked spec or an InputError. Includes of the input are looked up below
// the working directory alone.
#include "experiments/driver/spec/spec.hpp"

#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  try {
    driver::parse_spec({reinterpret_cast<const char*>(data), size}, "input.yaml");
  } catch (const InputError&) {
    // A refusal is an answer; anything else passes through and is a finding.
  }
  return 0;
}
