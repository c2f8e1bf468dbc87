// flashsparse.cuda: sparse times dense matrix with rows of S as an MMA's columns.
#include "common/method/registry.hpp"
#include "papers/tca_spmm/baselines/competitor_method.hpp"

namespace retensor {
namespace flashsparse {
/// Parameter `types`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);
}  // namespace flashsparse

void register_flashsparse(Registry& registry) {
  registry.add(tca_spmm::windows_method("flashsparse.cuda",
                                        "sparse times dense matrix by vectors of 8 x 1 on tensor "
                                        "cores, both operands swapped (Shi et al., PPoPP 2025)",
                                        RETENSOR_DEVICE_PART(flashsparse::prepare_cuda)));
}

}  // namespace retensor
