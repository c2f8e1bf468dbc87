// What HLSTO's methods have in common, and their registration.
#include "papers/hlsto/methods/methods.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>
#include <utility>

#include "common/method/registry.hpp"
#include "papers/hlsto/format/options.hpp"
#include "papers/hlsto/methods/cost_model.hpp"

namespace retensor {
namespace hlsto {

namespace {

/// format, threshold, edge and values.
ParamSchema tile_params(bool modelled) {
  const std::string by_model = modelled ? "; -1: by a cost model, whose times are measured" : "";
  return {
      param("format", "hls",
            "hls: tiles are stored dense from the threshold on; hls_s: no tile is; hls_d: every "
            "tile is")
          .words({"hls", "hls_s", "hls_d"}),
      param(
          "threshold", 0,
          "nonzeros from which a tile is dense; 0: the paper's 78 for MTTKRP and 61 for TTM-chain" +
              by_model)
          .range(modelled ? static_cast<double>(kByModel) : 0, kMostThreshold),
      param("edge", 16, "tile edge S: 16 (the paper), 8 or 32; 2 and 4 for worked examples")
          .range(2, 32),
      values_param()};
}

}  // namespace

ParamSchema format_params(bool modelled) {
  return tile_params(modelled).with({precision_param()});
}

ParamSchema half_params(bool modelled) {
  return tile_params(modelled).with(
      {param("precision", "fp16", "type of the operands and of both products; there is no other")
           .words({"fp16"}),
       param("result", "f32",
             "type of the result's elements, to which tiles and nonzeros add (line 26 of "
             "Algorithm 1, which leaves it open)")
           .words({"f32", "f16"})});
}

namespace {

Support supports_format(const Problem& problem, const Params& params) {
  const int order = problem.x().order();
  if (order < kTiledModes || order > kHighestOrder)
    return Support::no(fmt::format("found a tensor of order {}, expected 3 to 5", order));
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  const auto edge = static_cast<std::uint64_t>(params.integer("edge"));
  if (!std::has_single_bit(edge))
    return Support::no(
        fmt::format("found tiles of edge {}, expected a power of two from 2 to 32", edge));
  return Support::yes();
}

}  // namespace

MethodSpec tiles_method(MethodSpec own) {
  if (!own.precision) own.precision = precision_of;
  own.form.published = {{"edge", {"16"}}, {"precision", {"fp16"}}};
  return with_shared({Operation::mttkrp, Operation::ttm_chain}, supports_format, std::move(own));
}

}  // namespace hlsto

void register_hlsto(Registry& registry) {
  using namespace hlsto;
  registry.add_all({make_hlsto_cpu, make_hlsto_cpu_half, make_hlsto_cuda, make_hlsto_cuda_half,
                    make_hlsto_cuda_tuned, make_hlsto_cuda_khatri_rao, make_hlsto_cuda_fibers});
}

}  // namespace retensor
