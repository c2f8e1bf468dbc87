#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "common/generate/generators.hpp"
#include "common/method/registry.hpp"
#include "tests/support/planted_method.hpp"

using namespace retensor;
using test::Fault;
using test::PlantedMethod;

namespace {

void add(Registry& registry, const std::string& id) {
  registry.add(std::make_unique<PlantedMethod>(Fault::none, id));
}

Problem five_nonzeros(Operation operation = Operation::mttkrp) {
  ProblemSpec spec;
  spec.operation = operation;
  return {spec, std::make_shared<const Coo>(uniform({4, 3, 2}, 5, 1, DType::f32))};
}

}  // namespace

TEST_CASE("methods are found by id and unknown ids name the nearest") {
  Registry registry;
  add(registry, "planted.cpu.coo");
  add(registry, "planted.cpu.hicoo");
  CHECK(registry.methods().size() == 2);
  CHECK(registry.find("planted.cpu.hicoo").id() == "planted.cpu.hicoo");
  CHECK_THROWS_WITH_AS(registry.find("planted.cpu.hico"),
                       "unknown method 'planted.cpu.hico'; did you mean 'planted.cpu.hicoo'?",
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

TEST_CASE("a description says what its method is called, takes and refuses") {
  MethodSpec spec{.id = "described.cpu.all",
                  .summary = "never run",
                  .operations = {Operation::mttkrp, Operation::mttkrp_all},
                  .conditions = {[](const Problem& problem, const Params& params) {
                    const bool few = problem.x().nnz() <= Count(params.integer("most"));
                    return few ? Support::yes() : Support::no("too many nonzeros");
                  }},
                  .prepare = nullptr,
                  .params = {param("most", 3, "nonzeros").range(0, 8)}};
  Registry registry;
  registry.add(spec);
  const Method& method = registry.find("described.cpu.all");
  CHECK(method.backend() == Backend::cpu);
  CHECK(method.takes_all_modes());
  const auto reason = [&](Operation op, std::int64_t most) {
    return method.supports(five_nonzeros(op), method.params().resolve({{"most", most}})).reason;
  };
  CHECK(reason(Operation::mttkrp, 5).empty());
  CHECK(reason(Operation::mttkrp_all, 4) == "too many nonzeros");
  CHECK(reason(Operation::ttm, 5) == "supports only mttkrp and mttkrp_all, not ttm");
  const Problem problem = five_nonzeros();
  CHECK(method.precision(problem, method.params().resolve({})).operand_eps ==
        reference::Precision::of(DType::f32).operand_eps);
  CHECK_THROWS_AS(method.prepare(problem, method.params().resolve({})), LogicError);
}

TEST_CASE("the device is asked after the description, and the library after the device") {
  int asked = 0;
  MethodSpec spec{.id = "described.cuda",
                  .summary = "never run",
                  .operations = {Operation::mttkrp},
                  .obstacle =
                      [&] {
                        ++asked;
                        return std::string("no library");
                      },
                  .prepare = nullptr};
  const DescribedMethod method(spec);
  CHECK_FALSE(method.takes_all_modes());
  const auto device = device::available();
  CHECK(method.supports(five_nonzeros(), {}).reason == (device.ok ? "no library" : device.reason));
  CHECK(asked == (device.ok ? 1 : 0));
}

TEST_CASE("an id that names no backend describes no method") {
  for (const char* wrong : {"", "a", "a.gpu", "a.cpuu.b", "cpu", "a."}) {
    MethodSpec spec{.id = wrong, .summary = "", .operations = {}, .prepare = nullptr};
    CHECK_THROWS_AS_MESSAGE(DescribedMethod{spec}, LogicError, wrong);
  }
}

TEST_CASE("passes of a decomposition have one default a backend") {
  const Registry registry = all_methods();
  for (const auto backend : {Backend::cpu, Backend::cuda}) {
    std::vector<std::string> defaults;
    for (const auto& method : registry.methods())
      if (method->backend() == backend && method->is_default_of_passes())
        defaults.emplace_back(method->id());
    REQUIRE(defaults.size() == 1);
    const Method& als = registry.find(fmt::format("cpd.{}.als", name(backend)));
    CHECK(als.params().resolve({}).word("mttkrp") == defaults.front());
  }
}

TEST_CASE("the project's own methods are all registered under well-formed ids") {
  const Registry registry = all_methods();
  CHECK_FALSE(registry.methods().empty());
  for (const auto& method : registry.methods()) {
    CHECK_FALSE(method->summary().empty());
    CHECK_NOTHROW(method->params().resolve({}));
  }
}
