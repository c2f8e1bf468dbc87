// bcb_sptc.cuda and bcb_sptc.cuda.slabs.
#include <limits>

#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"
#include "papers/bcb_sptc/methods/update.hpp"

namespace retensor::bcb_sptc {

MethodSpec make_bcb_cuda() {
  return blocks_method({
      .id = "bcb_sptc.cuda",
      .summary = "sparse tensor contraction on BCB by tensor cores (Algorithms 1 to 4)",
      .conditions = {[](const Problem& problem, const Params&) {
        constexpr auto most = std::numeric_limits<Index>::max();
        if (problem.nonzeros() <= most && problem.y().nnz() <= most) return Support::yes();
        return Support::no("supports fewer than 2^32 nonzeros");
      }},
      .prepare = RETENSOR_DEVICE_PART([](const Problem& problem, const Params& params) {
        return prepare_contraction(problem, params, prepare_bcb_cuda);
      }),
      .params =
          {param("path", "auto",
                 "blocks on tensor cores or single products with hash tables; auto: by the "
                 "products of a pair of blocks")
               .words({"auto", "blocks", "elements"}),
           param("tasks", "sorted",
                 "blocks: pairs sorted by result block, whose sums a warp keeps, or as they are "
                 "found, each adding its sums to the result")
               .words({"sorted", "unsorted"}),
           param("index", "packed",
                 "blocks: their indices as binary linear indices or as coordinates, a word a mode")
               .words({"packed", "coordinates"}),
           param("cores", "tensor",
                 "blocks: their products on tensor cores or, one by one, on CUDA cores")
               .words({"tensor", "cuda"}),
           prepare_param()},
  });
}

MethodSpec make_bcb_cuda_slabs() {
  MethodSpec slabs = make_bcb_cuda();
  slabs.id = "bcb_sptc.cuda.slabs";
  slabs.summary =
      "bcb_sptc.cuda slab by slab of the result's first mode, for results beyond the device's "
      "memory; each goes to the host";
  slabs.conditions.push_back([](const Problem&, const Params& params) {
    return params.real("beta") == 0 ? Support::yes() : Support::no("supports only beta=0");
  });
  slabs.prepare = RETENSOR_DEVICE_PART([](const Problem& problem, const Params& params) {
    return prepare_slabs(problem, [params](const Problem& slab, const Addend& addend) {
      return prepare_bcb_cuda(slab, params, addend);
    });
  });
  slabs.form = own_form();
  return slabs;
}

}  // namespace retensor::bcb_sptc
