// Data set registries of any content: a registry or an InputError.
#include <string_view>

#include "common/core/error.hpp"
#include "experiments/driver/data/datasets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  try {
    const auto registry =
        driver::DatasetRegistry::parse({reinterpret_cast<const char*>(data), size}, "input.yaml");
    for (const auto& [name, dataset] : registry.all()) registry.find(name);
  } catch (const InputError&) {
    // A refusal is an answer; anything else passes through and is a finding.
  }
  return 0;
}
