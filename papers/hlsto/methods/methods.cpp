// What HLSTO's methods have in common, and their registration.
#include "papers/hlsto/methods/methods.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

#include "common/measure/registry.hpp"
#include "papers/hlsto/format/hls.hpp"
#include "papers/hlsto/methods/cost_model.hpp"

namespace retensor {
namespace hlsto {

std::vector<ParamSpec> format_params(bool modelled) {
  return {{"format",
           std::string("hls"),
           "hls: tiles are dense from the threshold on; hls_s: none is; hls_d: all are",
           0,
           0,
           {"hls", "hls_s", "hls_d"}},
          {"threshold",
           std::int64_t{0},
           std::string("nonzeros from which a tile is dense; 0: the paper's, 78 for MTTKRP, 61 for "
                       "TTM-chain") +
               (modelled ? "; -1: by a cost model, whose times are measured" : ""),
           modelled ? static_cast<double>(kByModel) : 0,
           static_cast<double>(kMostThreshold),
           {}},
          {"edge",
           std::int64_t{16},
           "tile edge S: 16 (the paper), 8 or 32; 2 and 4 for worked examples",
           2,
           32,
           {}},
          {"values",
           std::string("auto"),
           "storage of values; auto: the narrowest that the precision loses nothing by",
           0,
           0,
           {"auto", "f16", "bf16", "f32"}},
          {"precision",
           std::string("fp16"),
           "operands of the tensor core; split_fp16: each the sum of two halves, three products",
           0,
           0,
           {"fp16", "bf16", "tf32", "split_fp16"}}};
}

Support supports_format(const Problem& problem, const Params& params) {
  if (problem.operation() != Operation::mttkrp && problem.operation() != Operation::ttm_chain)
    return Support::no("MTTKRP and TTM-chain alone");
  const int order = problem.x().order();
  if (order < kTiledModes || order > kHighestOrder)
    return Support::no(
        fmt::format("found order {}, expected 3 to 5: three modes are tiled", order));
  if (problem.dtype() != DType::f32)
    return Support::no("tensor cores take operands of at most single precision");
  const auto edge = static_cast<std::uint64_t>(params.integer("edge"));
  if (!std::has_single_bit(edge))
    return Support::no(
        fmt::format("found tiles of edge {}, expected a power of two from 2 to 32", edge));
  return Support::yes();
}

}  // namespace hlsto

void register_hlsto(Registry& registry);

void register_hlsto(Registry& registry) {
  registry.add(hlsto::make_hlsto_cpu());
  registry.add(hlsto::make_hlsto_cuda());
  registry.add(hlsto::make_hlsto_cuda_tuned());
}

}  // namespace retensor
