// bcb_sptc.cuda.coo.
#include "papers/bcb_sptc/kernels/coo_cuda.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "papers/bcb_sptc/baselines/matrix_method.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"

namespace retensor::bcb_sptc {

MethodSpec make_bcb_cuda_coo() {
  MethodSpec coo = make_bcb_cuda();
  coo.id = "bcb_sptc.cuda.coo";
  coo.summary =
      "contraction of tensors in coordinates that lie on the device: a run chooses a path, "
      "converts and multiplies";
  coo.conditions.push_back([](const Problem&, const Params& params) {
    return params.real("beta") == 0 && params.word("output") == "blocks" &&
                   params.word("zeros") == "keep"
               ? Support::yes()
               : Support::no("supports only beta=0, output=blocks and zeros=keep");
  });
  coo.conditions.push_back([](const Problem& problem, const Params& params) {
    return params.word("path") == "dense" ? supports_few_cells(problem, params)
                                          : supports_matrix(problem, params);
  });
  coo.prepare = RETENSOR_DEVICE_PART(prepare_coo_cuda);
  std::vector<ParamSpec> params = coo.params.specs();
  std::erase_if(params, [](const ParamSpec& p) { return p.name == "path" || p.name == "prepare"; });
  coo.params =
      ParamSchema(std::move(params))
          .with(
              {param(
                   "path", "auto",
                   "auto: a sum a cell where the result has few, else blocks where a pair has the "
                   "products that its MMAs take, else rows with hash tables; paper: blocks or "
                   "elements "
                   "as bcb_sptc.cuda chooses")
                   .words({"auto", "paper", "blocks", "elements", "rows", "dense"}),
               param("choice", "sample",
                     "what auto and paper count: a sample of the contracted coordinates, or all "
                     "nonzeros "
                     "in the orders of both paths")
                   .words({"sample", "sorts"})});
  coo.form = own_form();
  return coo;
}

}  // namespace retensor::bcb_sptc
