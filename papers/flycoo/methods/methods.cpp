// Registers the methods of FLYCOO; what they share.
#include "papers/flycoo/methods/methods.hpp"

#include <utility>

#include <fmt/format.h>

#include "common/method/registry.hpp"
#include "papers/flycoo/format/options.hpp"

namespace retensor {
namespace flycoo {

ParamSchema format_params(const std::string& processors) {
  return {
      param(
          "kappa", 0,
          "partitions of each mode (the paper: 82, one a multiprocessor); 0: one per " + processors)
          .range(0, 65536),
      param("partition", "least_loaded",
            "how indices reach partitions: least_loaded (Algorithm 1), cyclic (the text of section "
            "3.4), contiguous, random")
          .words(kWords<Assignment>),
      param("order", "arrival",
            "nonzeros of a partition: as the pass before meets them, or by output row")
          .words(kWords<Arrangement>),
      param("indices", "plain",
            "plain: 32 bits an index, packed: ceil(log2 I) bits (section 3.5.1)")
          .words(kWords<Indices>),
      param("ids", "record", "remap ids in the record (the paper), or a stream per mode")
          .words(kWords<Ids>),
      param("align", 4, "alignment of a record in bytes: 4, 16 or 32").range(4, 32),
      param("remap", true,
            "remapping in the pass (Algorithm 3); false: a copy per mode in its order (Fig. 5)")};
}

Support supports_format(const Problem&, const Params& params) {
  const auto align = params.integer("align");
  if (align == 4 || align == 16 || align == 32) return Support::yes();
  return Support::no(fmt::format("found records aligned to {} bytes, expected 4, 16 or 32", align));
}

MethodSpec passes_method(MethodSpec own) {
  const auto has_factors = [](const Problem& problem, const Params&) {
    if (problem.x().order() >= 2) return Support::yes();
    return Support::no("a tensor of order 1 has no other mode whose factor MTTKRP could use");
  };
  own.form.published = {
      {"partition", {"least_loaded", "cyclic"}}, {"ids", {"record"}}, {"atomics", {"block"}}};
  return with_shared({Operation::mttkrp_all}, has_factors, std::move(own));
}

}  // namespace flycoo

void register_flycoo(Registry& registry) {
  using namespace flycoo;
  registry.add_all({make_flycoo_cpu, make_flycoo_cuda, make_flycoo_cuda_tuned,
                    make_flycoo_cuda_copies, make_flycoo_cuda_wide, make_flycoo_cuda_memoised,
                    make_flycoo_cuda_chunks});
}

}  // namespace retensor
