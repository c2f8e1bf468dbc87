// Data set registries of any content: a registry or an InputError.
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/locations.hpp"
#include "tests/fuzz/accepted.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  static const auto recipes = driver::default_recipes();
  fuzz::accepted([&] {
    const auto registry = driver::DatasetRegistry::parse(
        {reinterpret_cast<const char*>(data), size}, "input.yaml", recipes);
    for (const auto& [name, dataset] : registry.all()) registry.find(name);
  });
  return 0;
}
