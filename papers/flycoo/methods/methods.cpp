// Registers the methods of FLYCOO; what they share.
#include "papers/flycoo/methods/methods.hpp"

#include <fmt/format.h>

#include "common/measure/registry.hpp"

namespace retensor {
namespace flycoo {

std::vector<ParamSpec> format_params(const std::string& processors) {
  return {
      {"kappa",
       std::int64_t{0},
       "partitions of each mode (the paper: 82, one a multiprocessor); 0: one per " + processors,
       0,
       65536,
       {}},
      {"partition",
       std::string("least_loaded"),
       "how indices reach partitions: least_loaded (Algorithm 1), cyclic (the text of section "
       "3.4), contiguous, random",
       0,
       0,
       {"least_loaded", "cyclic", "contiguous", "random"}},
      {"order",
       std::string("arrival"),
       "nonzeros of a partition: as the pass before meets them, or by output row",
       0,
       0,
       {"arrival", "row"}},
      {"indices",
       std::string("plain"),
       "plain: 32 bits an index, packed: ceil(log2 I) bits (section 3.5.1)",
       0,
       0,
       {"plain", "packed"}},
      {"ids",
       std::string("record"),
       "remap ids in the record (the paper), or a stream per mode",
       0,
       0,
       {"record", "stream"}},
      {"align", std::int64_t{4}, "bytes whose multiple a record takes: 4, 16 or 32", 4, 32, {}},
      {"remap",
       true,
       "remapping in the pass (Algorithm 3); false: a copy per mode in its order (Fig. 5)",
       0,
       0,
       {}}};
}

Support supports_format(const Problem& problem, const Params& params) {
  if (problem.operation() != Operation::mttkrp_all)
    return Support::no("the passes of FLYCOO run over all modes in turn (mttkrp_all)");
  if (problem.x().order() < 2) return Support::no("MTTKRP of a first-order tensor needs no factor");
  const auto align = params.integer("align");
  if (align == 4 || align == 16 || align == 32) return Support::yes();
  return Support::no(fmt::format("found records aligned to {} bytes, expected 4, 16 or 32", align));
}

}  // namespace flycoo

void register_flycoo(Registry& registry);

void register_flycoo(Registry& registry) {
  registry.add(flycoo::make_flycoo_cpu());
  registry.add(flycoo::make_paper_cuda());
  registry.add(flycoo::make_tuned_cuda(true));
  registry.add(flycoo::make_tuned_cuda(false));
}

}  // namespace retensor
