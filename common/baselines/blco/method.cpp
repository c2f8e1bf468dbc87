// blco.cuda: MTTKRP on blocked linearised coordinates, one copy of the tensor for all modes.
#include "common/baselines/blco/blco_cuda.hpp"
#include "common/baselines/blco/format.hpp"
#include "common/measure/cuda_method.hpp"
#include "common/measure/registry.hpp"

namespace retensor {
namespace blco {
namespace {

class BlcoCuda : public CudaMethod {
 public:
  std::string_view id() const override { return "blco.cuda"; }
  std::string_view summary() const override {
    return "MTTKRP on blocked linearised coordinates, one copy for all modes (BLCO)";
  }
  ParamSchema params() const override {
    return {{"copies",
             std::int64_t{8},
             "partial copies of the output of a mode of at most 100 rows",
             1,
             64,
             {}}};
  }
  bool takes_all_modes() const override { return true; }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_cuda(problem, params);
  }

 private:
  Support supports_problem(const Problem& problem, const Params&) const override {
    const Operation op = problem.operation();
    if (op != Operation::mttkrp && op != Operation::mttkrp_all)
      return Support::no("only MTTKRP is compared");
    return sorted_bits(problem.x()) <= 128
               ? Support::yes()
               : Support::no("the linear index and a position need more than 128 bits");
  }
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

}  // namespace blco

void register_blco(Registry& registry);

void register_blco(Registry& registry) {
  registry.add(std::make_unique<blco::BlcoCuda>());
}

}  // namespace retensor
