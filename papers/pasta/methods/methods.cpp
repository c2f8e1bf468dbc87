// Registers the suite's methods; what they share.
#include "papers/pasta/methods/methods.hpp"

#include <bit>
#include <string>

#include "common/measure/registry.hpp"

namespace retensor {
namespace pasta {

ParamSpec block_param() {
  return {"block",
          std::int64_t{128},
          "block edge B, a power of two (the paper: 128; 8-bit element indices)",
          1,
          256,
          {}};
}

Support supports_block(const Params& params) {
  const auto edge = static_cast<std::uint64_t>(params.integer("block"));
  if (std::has_single_bit(edge)) return Support::yes();
  return Support::no("block edge " + std::to_string(edge) + " is not a power of two");
}

Support supports_suite(const Problem& problem) {
  switch (problem.operation()) {
    case Operation::ttv:
      if (problem.x().order() == 1)
        return Support::no("TTV of a first-order tensor is a scalar, which coordinates can't hold");
      return Support::yes();
    case Operation::tew:
      if (problem.x().order() != problem.y().order())
        return Support::no("the tensors differ in order");
      return Support::yes();
    case Operation::ts:
    case Operation::ttm:
    case Operation::mttkrp:
      return Support::yes();
    default:
      return Support::no(std::string(name(problem.operation())) +
                         " is not among the suite's five kernels");
  }
}

}  // namespace pasta

void register_pasta(Registry& registry);

void register_pasta(Registry& registry) {
  registry.add(pasta::make_coo_cpu());
  registry.add(pasta::make_hicoo_cpu());
  registry.add(pasta::make_coo_cuda());
  registry.add(pasta::make_hicoo_cuda());
  registry.add(pasta::make_coo_cuda_tuned());
}

}  // namespace retensor
