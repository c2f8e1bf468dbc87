// sputnik.cuda: sparse times dense matrix by rows on CUDA cores.
#include "common/method/registry.hpp"
#include "papers/tca_spmm/baselines/competitor_method.hpp"

namespace retensor {
namespace sputnik {
/// Parameters `types`, `order` and `walk`.
std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params);
}  // namespace sputnik

void register_sputnik(Registry& registry) {
  registry.add(tca_spmm::competitor_method({
      .id = "sputnik.cuda",
      .summary =
          "sparse times dense matrix on CUDA cores, eight threads per row (Gale et al., SC 2020)",
      .conditions = {[](const Problem& problem, const Params& params) {
        if (problem.x().dims[0] >> 31 != 0)
          return Support::no("supports fewer than 2^31 rows of S");
        if (problem.nonzeros() >> 31 != 0) return Support::no("supports fewer than 2^31 nonzeros");
        const Count vectors = (problem.rank() + 3) / 4;  // of a row of D in single precision
        if (problem.x().dims[1] * vectors >> 32 != 0)
          return Support::no("supports at most 64 GiB of D");
        // Of a warp; auto tries all walks.
        return tca_spmm::supports_grid(problem, params.word("walk") == "shuffled" ? 128 : 64);
      }},
      .prepare = RETENSOR_DEVICE_PART(sputnik::prepare_cuda),
      .params =
          {tca_spmm::types_param(),
           param("order", "by_length",
                 "how rows are assigned to warps: by_length (the longest first) or in_order")
               .words({"by_length", "in_order"}),
           param("walk", "auto",
                 "how the nonzeros of a row are read: staged in shared memory (rows of D loaded "
                 "in_turn, or ahead of the products) or shuffled between lanes; auto: the "
                 "fastest of them in a trial during preparation")
               .words({"auto", "in_turn", "ahead", "shuffled"})},
  }));
}

}  // namespace retensor
