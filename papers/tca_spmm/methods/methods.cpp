// What TCA-SpMM's methods have in common, and their registration.
#include "papers/tca_spmm/methods/methods.hpp"

#include <utility>

#include <fmt/format.h>

#include "common/method/registry.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/format/options.hpp"

namespace retensor {
namespace tca_spmm {
namespace {

Support supports_single(const Problem& problem, const Params&) {
  if (problem.dtype() == DType::f32) return Support::yes();
  return Support::no("supports only single precision (f32)");
}

}  // namespace

ParamSchema kernel_params() {
  return {
      param("depth", 8, "k of the MMA m16n8k: 8 (the paper) or 16").range(8, 16),
      param("classes", "five",
            "outputs per MMA by the row's length (equation 2), or two for all rows (equation 1)")
          .words({"five", "one"}),
      param("warps", "balanced", "balanced: as many as the row's class says; one: a warp a row")
          .words({"balanced", "one"}),
      param("long_rows", "outputs",
            "what the warps of a row above 64 nonzeros divide (outputs: Algorithm 2)")
          .words({"outputs", "nonzeros"}),
      param("packing", "in_order",
            "in_order: rows take warps as in Fig. 4; by_class: rows with most warps first")
          .words({"in_order", "by_class"}),
      dense_param(),
      output_param()};
}

ParamSpec dense_param() {
  return param("dense", "row_major", "order of the elements of D")
      .words({"row_major", "column_major"});
}

ParamSpec output_param() {
  return param("output", "f32", "type of O; sums are f32").words({"f32", "f16"});
}

Support supports_kernel(const Problem&, const Params& params) {
  const auto depth = params.integer("depth");
  if (depth != 8 && depth != 16)
    return Support::no(fmt::format("found an MMA of depth {}, expected 8 or 16", depth));
  if (params.word("warps") == "one" && params.word("long_rows") == "nonzeros")
    return Support::no("long_rows=nonzeros divides rows between warps and needs warps=balanced");
  return Support::yes();
}

Support supports_grid(const Problem& problem, Count columns) {
  constexpr Count kMostBlocks = 65535;  // CUDA's, of the second dimension
  if ((problem.rank() + columns - 1) / columns <= kMostBlocks) return Support::yes();
  return Support::no(fmt::format("supports at most {} columns of D, {} thread blocks of {}",
                                 kMostBlocks * columns, kMostBlocks, columns));
}

reference::Precision half_precision(Element output) {
  // Tensor cores cut off sums instead of rounding them.
  reference::Precision p{.operand_eps = kUnitRoundoffFp16,
                         .roundings = 2,
                         .accumulate_eps = 2 * kUnitRoundoffF32,
                         .underflow = kUnderflowFp16};
  if (output == Element::half) p.roundings = 3;
  return p;
}

MethodSpec kernel_method(MethodSpec own) {
  own.precision = [](const Problem&, const Params& params) {
    return half_precision(output_of(params));
  };
  own.form.published = {{"depth", {"8"}}, {"long_rows", {"outputs"}}, {"packing", {"in_order"}}};
  return with_shared({Operation::spmm}, supports_single, std::move(own));
}

}  // namespace tca_spmm

void register_tca_spmm(Registry& registry) {
  using namespace tca_spmm;
  registry.add_all({make_tca_spmm_cpu, make_tca_spmm_cuda, make_tca_spmm_cuda_tiles,
                    make_tca_spmm_cuda_tuned, make_tca_spmm_cuda_gather});
}

}  // namespace retensor
