// pasta.cuda.hicoo states the work of pasta.cpu.hicoo.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>

#include "common/generate/generators.hpp"
#include "common/method/registry.hpp"
#include "common/method/work.hpp"

using namespace retensor;

TEST_CASE("MTTKRP in HiCOO moves the bytes of Table I on the device too") {
  const Registry registry = all_methods();
  ProblemSpec spec;
  spec.operation = Operation::mttkrp, spec.rank = 16;
  const Problem problem(spec, std::make_shared<Coo>(uniform({300, 70, 70}, 900, 5, DType::f32)));
  for (const std::int64_t block : {8, 128}) {
    const auto bytes = [&](const char* id) {
      const Method& method = registry.find(id);
      return method.prepare(problem, method.params().resolve({{"block", block}}))->work().bytes;
    };
    CHECK(bytes("pasta.cuda.hicoo") == bytes("pasta.cpu.hicoo"));
    CHECK(bytes("pasta.cuda.hicoo") != work_model(problem).bytes);
  }
}
