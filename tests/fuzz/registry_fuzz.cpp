// Data set registries of any content: a registry or an InputError.
#include "experiments/driver/data/datasets.hpp"
#include "tests/fuzz/accepted.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  fuzz::accepted([&] {
    const auto registry =
        driver::DatasetRegistry::parse({reinterpret_cast<const char*>(data), size}, "input.yaml");
    for (const auto& [name, dataset] : registry.all()) registry.find(name);
  });
  return 0;
}
