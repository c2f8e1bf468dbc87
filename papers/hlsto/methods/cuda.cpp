// hlsto.cuda, hlsto.cuda.half and hlsto.cuda.tuned.
#include <utility>

#include "common/device/device.hpp"
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

}  // namespace retensor::hlsto
