// No method counts nonzeros in fewer bits than they need: it has 64 for them, or declines.
#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>

#include "common/method/registry.hpp"
#include "common/run/all_modes.hpp"

using namespace retensor;

namespace {

ProblemSpec spec_of(Operation operation) {
  ProblemSpec spec;
  spec.operation = operation;
  if (operation == Operation::contraction) spec.variant = "kla,klb->ab";
  return spec;
}

/// Whether a method takes such an operation on a tensor with so many nonzeros, asked before there
/// is one.
Support answer(const Method& method, Operation operation, Count nonzeros) {
  const Dims dims(operation == Operation::spmm ? 2 : 3, 60000);
  const auto outline = Problem::outline(spec_of(operation),
                                        std::make_shared<Coo>(dims, DType::f32), nonzeros);
  return solves(method, outline, method.params().resolve({}));
}

std::set<std::string> takers(Count nonzeros) {
  static const Registry registry = all_methods();
  std::set<std::string> ids;
  for (const auto& method : registry.methods())
    for (const auto operation : method->operations())
      if (answer(*method, operation, nonzeros).ok) ids.insert(std::string(method->id()));
  return ids;
}

}  // namespace

TEST_CASE("methods with positions of 32 bits decline 2^32 nonzeros") {
  const auto few = takers(1000), many = takers(Count{1} << 32);
  std::set<std::string> gone;
  for (const auto& id : few)
    if (!many.contains(id)) gone.insert(id);
  for (const auto& id : gone) MESSAGE(id);
  for (const auto& id : many) MESSAGE("takes " << id);
}
