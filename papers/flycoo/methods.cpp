// Registers the methods of FLYCOO; what they share.
#include "papers/flycoo/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

Options format_options(const Params& params, int processors, std::uint64_t seed) {
  const auto kappa = params.integer("kappa");
  Options options;
  options.kappa = static_cast<std::uint32_t>(kappa > 0 ? kappa : processors);
  options.assignment = assignment_from_name(params.word("partition"));
  options.arrangement = arrangement_from_name(params.word("order"));
  options.indices = indices_from_name(params.word("indices"));
  options.ids = ids_from_name(params.word("ids"));
  options.align = static_cast<int>(params.integer("align"));
  options.seed = seed;
  return options;
}

Executed format_facts(const FlycooShape& tensor) {
  const Options& o = tensor.options;
  const bool ids_apart = o.ids == Ids::stream;
  Count stored = 8 * tensor.record_bytes();
  if (ids_apart) stored += 32 * static_cast<Count>(tensor.order() * tensor.layout.id_words);
  Executed facts = {
      {"kappa", std::to_string(o.kappa)},
      {"partition", std::string(name(o.assignment))},
      {"order", o.arrangement == Arrangement::row ? "row" : "arrival"},
      {"indices", o.indices == Indices::packed ? "packed" : "plain"},
      {"ids", ids_apart ? "stream" : "record"},
      {"record_bytes", std::to_string(tensor.record_bytes())},
      {"nonzero_bits", std::to_string(stored)},
      {"nonzero_bits_formula",
       fmt::format("{:.1f}", bits_per_nonzero(tensor.dims, tensor.nnz, tensor.dtype))},
      {"nonzero_bits_whole",
       std::to_string(whole_bits_per_nonzero(tensor.dims, tensor.nnz, tensor.dtype))}};
  double largest = 1;
  for (std::size_t m = 0; m < tensor.modes.size(); ++m) {
    const double ratio = tensor.modes[m].load_ratio();
    largest = std::max(largest, ratio);
    facts[fmt::format("load_ratio_{}", m)] = fmt::format("{:.4f}", ratio);
  }
  facts["load_ratio"] = fmt::format("{:.4f}", largest);
  return facts;
}

std::uint64_t total_rows(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::uint64_t{0});
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
