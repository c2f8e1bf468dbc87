// hicoo_chain.cuda: TTM-chain on hierarchical coordinates.
#include "common/baselines/hicoo_chain/chain_method.hpp"
#include "common/baselines/hicoo_chain/hicoo_chain_cuda.hpp"
#include "common/measure/registry.hpp"

namespace retensor {
namespace hicoo_chain {
namespace {

class HicooChain : public chain::ChainMethod {
 public:
  std::string_view id() const override { return "hicoo_chain.cuda"; }
  std::string_view summary() const override {
    return "TTM-chain with a thread block per block of hierarchical coordinates (HiCOO)";
  }
  ParamSchema params() const override {
    return {{"block_bits", std::int64_t{7}, "edge of a block: 2 to this power", 0, 8, {}}};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_cuda(problem, params);
  }
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

}  // namespace hicoo_chain

void register_hicoo_chain(Registry& registry);

void register_hicoo_chain(Registry& registry) {
  registry.add(std::make_unique<hicoo_chain::HicooChain>());
}

}  // namespace retensor
