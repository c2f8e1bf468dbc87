#include "papers/flycoo/format/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace retensor::flycoo {

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

}  // namespace retensor::flycoo
