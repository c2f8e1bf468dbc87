// voltrix.cuda: sparse times dense matrix on tensor cores, rows of D fetched ahead.
#include <utility>

#include "common/method/registry.hpp"
#include "papers/tca_spmm/baselines/competitor_method.hpp"

namespace retensor {
namespace voltrix {
/// Parameter `types`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);
}  // namespace voltrix

void register_voltrix(Registry& registry) {
  MethodSpec own = tca_spmm::windows_method(
      "voltrix.cuda",
      "sparse times dense matrix on tensor cores from a bit-wise format, with rows of D fetched "
      "ahead and blocks that take windows in turn (Voltrix-SpMM, ATC 2025)",
      RETENSOR_DEVICE_PART(voltrix::prepare_cuda));
  own.conditions.push_back([](const Problem& problem, const Params&) {
    return tca_spmm::supports_grid(problem, problem.rank() <= 64 ? 64 : 128);
  });
  registry.add(std::move(own));
}

}  // namespace retensor
