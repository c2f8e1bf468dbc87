// mm_csf_chain.cuda: TTM-chain on mixed-mode compressed sparse fibers.
#include "common/baselines/hicoo_chain/chain_method.hpp"
#include "common/baselines/mm_csf/format.hpp"
#include "common/measure/registry.hpp"
#include "papers/hlsto/baselines/mm_csf_chain/mm_csf_chain_cuda.hpp"

namespace retensor {
namespace mm_csf_chain {
namespace {

class MmCsfChain : public chain::ChainMethod {
 public:
  std::string_view id() const override { return "mm_csf_chain.cuda"; }
  std::string_view summary() const override {
    return "TTM-chain on compressed sparse fibers of mixed modes, fibers summed first (MM-CSF)";
  }
  ParamSchema params() const override {
    return {{"fiber_limit",
             static_cast<std::int64_t>(kFiberLimit),
             "nonzeros at which a fiber is cut",
             1,
             1 << 30,
             {}}};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_cuda(problem, params);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (const auto own = ChainMethod::supports_problem(problem, params); !own.ok) return own;
    return mm_csf::key_bits(problem.x()) <= 128
               ? Support::yes()
               : Support::no("a nonzero's coordinate and position need more than 128 bits");
  }
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

}  // namespace mm_csf_chain

void register_mm_csf_chain(Registry& registry);

void register_mm_csf_chain(Registry& registry) {
  registry.add(std::make_unique<mm_csf_chain::MmCsfChain>());
}

}  // namespace retensor
