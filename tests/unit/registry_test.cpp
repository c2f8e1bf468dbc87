#include <doctest/doctest.h>

#include "common/core/error.hpp"
#include "common/measure/registry.hpp"
#include "tests/support/planted_method.hpp"

using namespace retensor;
using test::Fault;
using test::PlantedMethod;

namespace {

void add(Registry& registry, const std::string& id) {
  registry.add(std::make_unique<PlantedMethod>(Fault::none, id));
}

}  // namespace

TEST_CASE("methods are found by id and unknown ids name the nearest") {
  Registry registry;
  add(registry, "planted.cpu.coo");
  add(registry, "planted.cpu.hicoo");
  CHECK(registry.methods().size() == 2);
  CHECK(registry.find("planted.cpu.hicoo").id() == "planted.cpu.hicoo");
  CHECK_THROWS_WITH_AS(registry.find("planted.cpu.hico"),
                       "unknown method 'planted.cpu.hico', nearest is 'planted.cpu.hicoo'",
                       InputError);
}

TEST_CASE("ids are unique, have two or three parts and name the method's backend") {
  Registry registry;
  add(registry, "a.cpu.b");
  add(registry, "a.cpu");
  CHECK_THROWS_AS(add(registry, "a.cpu.b"), LogicError);
  for (const char* wrong :
       {"", "a", "a.cuda", "a.cuda.b", "a.cpu.", ".cpu.b", "a.cpu.b.c", "A.cpu.b", "a b.cpu.c"})
    CHECK_THROWS_AS_MESSAGE(add(registry, wrong), LogicError, wrong);
}

TEST_CASE("the project's own methods are all registered under well-formed ids") {
  const Registry registry = all_methods();
  CHECK_FALSE(registry.methods().empty());
  for (const auto& method : registry.methods()) {
    CHECK_FALSE(method->summary().empty());
    CHECK_NOTHROW(method->params().resolve({}));
  }
}
