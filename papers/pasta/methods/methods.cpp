// Registers the suite's methods; what they share.
#include "papers/pasta/methods/methods.hpp"

#include <bit>
#include <string>
#include <utility>

#include "common/method/registry.hpp"

namespace retensor {
namespace pasta {
namespace {

Support supports_suite(const Problem& problem, const Params&) {
  if (problem.operation() == Operation::ttv && problem.x().order() == 1)
    return Support::no(
        "TTV of a tensor of order 1 is a scalar, which the coordinate format can't hold");
  if (problem.operation() == Operation::tew && problem.x().order() != problem.y().order())
    return Support::no("the two tensors differ in order");
  return Support::yes();
}

}  // namespace

MethodSpec suite_method(MethodSpec own) {
  return with_shared(
      {Operation::tew, Operation::ts, Operation::ttv, Operation::ttm, Operation::mttkrp},
      supports_suite, std::move(own));
}

ParamSpec block_param() {
  return param("block", 128, "block edge B, a power of two (the paper: 128; 8-bit element indices)")
      .range(1, 256);
}

Support supports_block(const Problem&, const Params& params) {
  const auto edge = static_cast<std::uint64_t>(params.integer("block"));
  if (std::has_single_bit(edge)) return Support::yes();
  return Support::no("block edge " + std::to_string(edge) + " is not a power of two");
}

}  // namespace pasta

void register_pasta(Registry& registry) {
  using namespace pasta;
  registry.add_all({make_coo_cpu, make_hicoo_cpu, make_plain_cpu, make_packed_cpu, make_copies_cpu,
                    make_fibers_cpu, make_coo_cuda, make_hicoo_cuda, make_coo_cuda_tuned,
                    make_coo_cuda_sliced, make_coo_cuda_streamed});
}

}  // namespace retensor
