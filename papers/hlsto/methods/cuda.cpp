// hlsto.cuda and hlsto.cuda.tuned.
#include "papers/hlsto/format/options.hpp"
#include "papers/hlsto/kernels/hlsto_cuda.hpp"
#include "papers/hlsto/kernels/tuned_cuda.hpp"
#include "papers/hlsto/methods/cost_model.hpp"
#include "papers/hlsto/methods/methods.hpp"

namespace retensor::hlsto {
namespace {

Support supports_paper(const Problem& problem, const Params& params) {
  if (params.word("prepare") == "device" && problem.x().nnz() > kMostOnDevice)
    return Support::no("the device sorts fewer than 2^31 - 1 nonzeros: prepare=host");
  return supports_format(problem, params);
}

Support supports_tuned(const Problem& problem, const Params& params) {
  if (const auto format = supports_paper(problem, params); !format.ok) return format;
  if (problem.x().nnz() >> 32 != 0) return Support::no("positions of nonzeros have 32 bits");
  if (params.integer("edge") != 16) return Support::no("tiles of edge 16 alone");
  if (arithmetic_of(params) == Arithmetic::tf32)
    return Support::no("operands of 16 bits alone: fp16, bf16 and split_fp16");
  if (format_options(problem, params).values != storage_of(arithmetic_of(params)))
    return Support::no("values as the precision takes them alone: f16, bf16, and f32 if split");
  return Support::yes();
}

ParamSchema paper_params() {
  return format_params(true).with(
      {param("warps", 4,
             "warps of a thread block, the N_w of section VI.A, which the paper leaves open")
           .range(1, 32),
       param("load", "fused",
             "dense and sparse part in one grid or one after the other (section VI.C)")
           .words({"fused", "sequential"}),
       prepare_param()});
}

ParamSchema tuned_params() {
  return format_params(true).with({prepare_param()});
}

}  // namespace

MethodSpec make_hlsto_cuda() {
  return {.id = "hlsto.cuda",
          .summary = "MTTKRP and TTM-chain on HLS, dense tiles by WMMA (Algorithms 1 and 2)",
          .operations = {Operation::mttkrp, Operation::ttm_chain},
          .supports = supports_paper,
          .prepare = RETENSOR_DEVICE_PART([](const Problem& problem, const Params& params) {
            return prepare_with_threshold(problem, params, paper_params(), prepare_paper_cuda);
          }),
          .precision = format_precision,
          .params = paper_params()};
}

MethodSpec make_hlsto_cuda_tuned() {
  return {
      .id = "hlsto.cuda.tuned",
      .summary =
          "MTTKRP on HLS: the diagonal of the second product by multiply-adds, rows in registers",
      .operations = {Operation::mttkrp},
      .supports = supports_tuned,
      .prepare = RETENSOR_DEVICE_PART([](const Problem& problem, const Params& params) {
        return prepare_with_threshold(problem, params, tuned_params(), prepare_tuned_cuda);
      }),
      .precision = format_precision,
      .params = tuned_params()};
}

}  // namespace retensor::hlsto
