// Claims of any content, and verdicts on those that are some.
#include <nlohmann/json.hpp>

#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/judged.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retensor;
  fuzz::accepted([&] { fuzz::judge_all({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
