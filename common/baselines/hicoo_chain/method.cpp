// hicoo_chain.cuda: TTM-chain on hierarchical coordinates.
#include "common/baselines/hicoo_chain/chain_method.hpp"
#include "common/method/registry.hpp"

namespace retensor {
namespace hicoo_chain {
Prepare prepare_cuda;  // hicoo_chain_cuda.cu
}

void register_hicoo_chain(Registry& registry) {
  registry.add(chain::chain_method({
      .id = "hicoo_chain.cuda",
      .summary = "TTM-chain with a thread block per block of hierarchical coordinates (HiCOO)",
      .prepare = RETENSOR_DEVICE_PART(hicoo_chain::prepare_cuda),
      .params = {param("block_bits", 7, "edge of a block: 2 to this power").range(0, 8)},
  }));
}

}  // namespace retensor
