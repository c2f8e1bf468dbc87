// tucker.cuda.step: what HOOI on the device does for one factor, as a method that can be measured.
// tucker.cpu.chain: a TTM-chain on the CPU for tensors of any order, for HOOI on the host.
#include <algorithm>
#include <string>

#include "common/core/error.hpp"
#include "common/decompose/hooi_sweeps.hpp"
#include "common/method/registry.hpp"

namespace retensor {
namespace tucker {

Prepare prepare_step;   // hooi_cuda.cu
Prepare prepare_chain;  // chain_cpu.cpp

Solver solver_from_name(std::string_view name) {
  const auto found = std::find(kSolverNames.begin(), kSolverNames.end(), name);
  if (found == kSolverNames.end())
    throw InputError("found '" + std::string(name) +
                     "', expected syevd, xsyevd, syevdx or range for eigenvectors");
  return static_cast<Solver>(found - kSolverNames.begin());
}

namespace {

Support has_chain(const Problem& problem, const Params&) {
  const int order = problem.x().order();
  return order >= 2 && order <= 5 ? Support::yes()
                                  : Support::no("found a tensor of order " + std::to_string(order) +
                                                ", expected 2 to 5");
}

Support has_others(const Problem& problem, const Params&) {
  return problem.x().order() > 1 ? Support::yes()
                                 : Support::no("a tensor of order 1 has no mode to multiply");
}

}  // namespace
}  // namespace tucker

void register_tucker(Registry& registry) {
  registry.add(MethodSpec{
      .id = "tucker.cpu.chain",
      .summary = "TTM-chain over coordinates, for HOOI on the host (Kolda and Bader 2009, section "
                 "4.2)",
      .operations = {Operation::ttm_chain},
      .conditions = {tucker::has_others},
      .prepare = tucker::prepare_chain,
      .params = {threads_param()},
  });
  registry.add(MethodSpec{
      .id = "tucker.cuda.step",
      .summary = "TTM-chain and the leading left singular vectors of its result: HOOI's update of "
                 "one factor (Kolda and Bader 2009, Fig. 4.4)",
      .operations = {Operation::ttm_chain},
      .conditions = {tucker::has_chain},
      .prepare = RETENSOR_DEVICE_PART(tucker::prepare_step),
      .params = {param("eigenvectors", "syevd",
                       "of the Gram matrix: by cuSOLVER, of whose functions syevd and xsyevd find "
                       "all and syevdx those of the factor; range: by a randomised range finder")
                     .words({tucker::kSolverNames.begin(), tucker::kSolverNames.end()})},
  });
}

}  // namespace retensor
