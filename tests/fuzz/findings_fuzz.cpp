// Findings of any content, and the audit of those that are some.
#include <nlohmann/json.hpp>

#include "experiments/driver/judge/audit/audit.hpp"
#include "tests/fuzz/accepted.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  fuzz::accepted([&] {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    driver::to_json(driver::audit(driver::parse_findings(text, "input.yaml", "."))).dump();
  });
  return 0;
}
