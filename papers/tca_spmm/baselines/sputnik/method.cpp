// sputnik.cuda: sparse times dense matrix by rows on CUDA cores.
#include "common/measure/registry.hpp"
#include "papers/tca_spmm/baselines/competitor_method.hpp"
#include "papers/tca_spmm/baselines/sputnik/sputnik_cuda.hpp"

namespace retensor {
namespace sputnik {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

namespace {

class Sputnik : public tca_spmm::Competitor {
 public:
  std::string_view id() const override { return "sputnik.cuda"; }
  std::string_view summary() const override {
    return "sparse times dense matrix on CUDA cores, eight threads a row (Gale et al., SC 2020)";
  }
  ParamSchema params() const override {
    return {tca_spmm::types_param(),
            {"order",
             std::string("by_length"),
             "rows of a warp: of similar length, the longest first, or in their order",
             0,
             0,
             {"by_length", "in_order"}},
            {"walk",
             std::string("auto"),
             "over the nonzeros of a row: staged in shared memory, rows of D loaded in_turn or "
             "ahead of the products before, or shuffled between lanes; auto: the fastest, by trial "
             "when it prepares",
             0,
             0,
             {"auto", "in_turn", "ahead", "shuffled"}}};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_cuda(problem, params);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (const auto own = Competitor::supports_problem(problem, params); !own.ok) return own;
    if (problem.x().dims[0] >> 31 != 0) return Support::no("numbers of rows of S have 31 bits");
    if (problem.x().nnz() >> 31 != 0) return Support::no("lengths of rows of S have 31 bits");
    const Count vectors = (problem.rank() + 3) / 4;  // of a row of D in single precision
    if (problem.x().dims[1] * vectors >> 32 != 0)
      return Support::no("places in D have 32 bits, in units of 16 bytes");
    return Support::yes();
  }
};

}  // namespace
}  // namespace sputnik

void register_sputnik(Registry& registry);

void register_sputnik(Registry& registry) {
  registry.add(std::make_unique<sputnik::Sputnik>());
}

}  // namespace retensor
