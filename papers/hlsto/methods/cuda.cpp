// hlsto.cuda with .half, .tuned, .khatri_rao and .fibers.
#include <utility>

#include "common/device/device.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/hlsto/format/options.hpp"
#include "papers/hlsto/kernels/hlsto_cuda.hpp"
#include "papers/hlsto/methods/cost_model.hpp"
#include "papers/hlsto/methods/methods.hpp"

namespace retensor::hlsto {
namespace {

Support supports_preparation(const Problem& problem, const Params& params) {
  if (params.word("prepare") == "device" && problem.nonzeros() > kMostOnDevice)
    return Support::no(
        "prepare=device supports fewer than 2^31 - 1 nonzeros; prepare=host takes more");
  return Support::yes();
}

Support supports_tuned(const Problem& problem, const Params& params) {
  if (problem.nonzeros() >> 32 != 0) return Support::no("supports fewer than 2^32 nonzeros");
  if (params.integer("edge") != 16) return Support::no("supports only tiles of edge 16");
  if (arithmetic_of(params) == Arithmetic::tf32)
    return Support::no("supports only operands of 16 bits: fp16, bf16 and split_fp16");
  if (format_options(problem, params).values != storage_of(arithmetic_of(params)))
    return Support::no(
        "supports only values stored as the precision needs them: f16 for fp16, bf16 for bf16, "
        "f32 for split_fp16");
  return Support::yes();
}

/// `own` with a threshold that may be the cost model's, which runs the method to find it.
MethodSpec modelled_method(MethodSpec own) {
  if (own.prepare)
    own.prepare = [make = own.prepare, schema = own.params](const Problem& problem,
                                                            const Params& params) {
      const auto run_with = [&](const Params& p) { return make(problem, p); };
      if (params.integer("threshold") != kByModel || params.word("format") != "hls")
        return run_with(params);
      return run_with(with_model_threshold(schema, params, run_with, *device::make_event_timer()));
    };
  return tiles_method(std::move(own));
}

bool is_chain(const Problem& problem) {
  return problem.operation() == Operation::ttm_chain;
}

Support supports_fibers(const Problem& problem, const Params& params) {
  if (problem.x().order() < 2) return Support::no("a tensor of order 1 has no fibers");
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  if (problem.nonzeros() >> 32 != 0) return Support::no("supports fewer than 2^32 nonzeros");
  if (!is_chain(problem)) return Support::yes();
  if (problem.x().order() != 3) return Support::no("supports TTM-chain only of order 3");
  if (params.word("precision") == "f32")
    return Support::no("supports TTM-chain only with precision fp16 or split_fp16");
  return Support::yes();
}

/// A value and a row of the leaves' factor are rounded, and in a chain the sum of a fiber and a row
/// of the other factor; where that sum underflows, the leaves' row does not make less of what is
/// lost. Split ones leave remainders of these, and products of second halves. Tensor
/// cores cut off sums instead of rounding them.
reference::Precision precision_of_fibers(const Problem& problem, const Params& params) {
  const std::string& precision = params.word("precision");
  if (precision == "f32") return reference::Precision::of(DType::f32);
  const bool split = precision == "split_fp16", chain = is_chain(problem);
  return {.operand_eps = split ? kUnitRoundoffFp16 * kUnitRoundoffFp16 : kUnitRoundoffFp16,
          .roundings = (split ? 3 : 2) + (chain ? (split ? 3 : 2) : 0),
          .accumulate_eps = 2 * kUnitRoundoffF32,
          .underflow = kUnderflowFp16 / (chain ? least_of_factors(problem) : 1)};
}

/// Those of a run of Algorithm 1.
std::vector<ParamSpec> launch_params() {
  return {param("warps", 4,
                "warps of a thread block, the N_w of section VI.A, which the paper leaves open")
              .range(1, 32),
          param("load", "fused",
                "dense and sparse part in one grid or one after the other (section VI.C)")
              .words({"fused", "sequential"}),
          prepare_param()};
}

}  // namespace

MethodSpec make_hlsto_cuda() {
  return modelled_method({
      .id = "hlsto.cuda",
      .summary = "MTTKRP and TTM-chain on HLS, dense tiles by WMMA (Algorithms 1 and 2)",
      .conditions = {supports_preparation},
      .prepare = RETENSOR_DEVICE_PART(prepare_paper_cuda),
      .params = format_params(true).with(launch_params()),
  });
}

MethodSpec make_hlsto_cuda_half() {
  return modelled_method({
      .id = "hlsto.cuda.half",
      .summary = "hlsto.cuda with both products as sums in half precision (Algorithm 1, line 23)",
      .conditions = {supports_preparation},
      .precision = precision_of_halves,
      .prepare = RETENSOR_DEVICE_PART(prepare_half_cuda),
      .params = half_params(true).with(launch_params()),
  });
}

MethodSpec make_hlsto_cuda_tuned() {
  return modelled_method({
      .id = "hlsto.cuda.tuned",
      .summary =
          "MTTKRP on HLS: the diagonal of the second product by multiply-adds, rows in registers",
      .operations = {Operation::mttkrp},
      .conditions = {supports_preparation, supports_tuned},
      .prepare = RETENSOR_DEVICE_PART(prepare_tuned_cuda),
      .params = format_params(true).with({prepare_param()}),
      .form = own_form(),
  });
}

MethodSpec make_hlsto_cuda_khatri_rao() {
  const auto of_order3 = [](const Problem& problem, const Params& params) {
    if (problem.x().order() != 3) return Support::no("supports only order 3");
    if (arithmetic_of(params) != Arithmetic::fp16)
      return Support::no("supports only operands in halves (fp16)");
    return Support::yes();
  };
  return modelled_method({
      .id = "hlsto.cuda.khatri_rao",
      .summary = "MTTKRP on HLS of order 3: the Khatri-Rao product of two tiles as an operand",
      .operations = {Operation::mttkrp},
      .conditions = {supports_preparation, supports_tuned, of_order3},
      .prepare = RETENSOR_DEVICE_PART(prepare_khatri_rao_cuda),
      .params = format_params(true).with({prepare_param()}),
      .form = own_form(),
  });
}

MethodSpec make_hlsto_cuda_fibers() {
  return {
      .id = "hlsto.cuda.fibers",
      .summary =
          "MTTKRP and TTM-chain by groups of fibers that tensor cores sum, with leaf rows in "
          "shared memory",
      .operations = {Operation::mttkrp, Operation::mttkrp_all, Operation::ttm_chain},
      .conditions = {supports_fibers},
      .precision = precision_of_fibers,
      .prepare = RETENSOR_DEVICE_PART(prepare_fibers_cuda),
      .params = {param("precision", "fp16",
                       "operands of the tensor core: fp16, split_fp16 (sums of two fp16 numbers); "
                       "f32: multiply-adds in single precision, MTTKRP alone")
                     .words({"fp16", "split_fp16", "f32"})},
      .form = own_form(),
      .bytes_per_nonzero = 80,
  };
}

}  // namespace retensor::hlsto
