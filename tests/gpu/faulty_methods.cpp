// The methods of the test program retensor-gpu-faulty: pasta.cuda.coo with one fault each; `good`
// has none.
#include "tests/gpu/faults.hpp"
#include "tests/support/faulty_method.hpp"

namespace retensor {

void register_faulty_cuda(Registry& registry);

void register_faulty_cuda(Registry& registry) {
  const auto add = [&](const std::string& name, const test::Fault& fault) {
    registry.add(
        std::make_unique<test::FaultyMethod>("faulty.cuda." + name, "pasta.cuda.coo", fault));
  };
  add("good", {});
  add("oom", test::take_all_memory);
  add("illegal_address", test::touch_illegal_address);
  add("spin", test::spin);
}

}  // namespace retensor
