// f_coo.cuda: MTTKRP on coordinates with flags, a copy of the tensor per output mode.
#include <fmt/format.h>

#include "common/baselines/f_coo/f_coo_cuda.hpp"
#include "common/measure/cuda_method.hpp"
#include "common/measure/registry.hpp"

namespace retensor {
namespace f_coo {
namespace {

class FCooCuda : public CudaMethod {
 public:
  std::string_view id() const override { return "f_coo.cuda"; }
  std::string_view summary() const override {
    return "MTTKRP on coordinates sorted by the output mode, with flags and segmented scans "
           "(F-COO)";
  }
  ParamSchema params() const override {
    return {{"part_length",
             std::int64_t{0},
             "nonzeros of a thread, a multiple of 4; 0: 32, or down to 8 to fill the device",
             0,
             1 << 20,
             {}}};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_cuda(problem, params);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (problem.operation() != Operation::mttkrp) return Support::no("only MTTKRP is compared");
    if (problem.x().order() < 2) return Support::no("a tensor of order 1 has no product modes");
    if (const auto length = params.integer("part_length"); length % kQuad != 0)
      return Support::no(
          fmt::format("found parts of {} nonzeros, expected a multiple of {}", length, kQuad));
    return Support::yes();
  }
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

}  // namespace f_coo

void register_f_coo(Registry& registry);

void register_f_coo(Registry& registry) {
  registry.add(std::make_unique<f_coo::FCooCuda>());
}

}  // namespace retensor
