#include "papers/hlsto/format/options.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

namespace retensor::hlsto {
namespace {

/// The thresholds that section VII.A.3 found on the A100.
constexpr Count kMttkrpThreshold = 78, kChainThreshold = 61;

}  // namespace

Arithmetic arithmetic_of(const Params& params) {
  return arithmetic_from_name(params.word("precision"));
}

Options format_options(const Problem& problem, const Params& params) {
  Options options;
  options.edge_bits = std::countr_zero(static_cast<std::uint64_t>(params.integer("edge")));
  options.threshold = static_cast<Count>(params.integer("threshold"));
  if (options.threshold == 0)
    options.threshold =
        problem.operation() == Operation::mttkrp ? kMttkrpThreshold : kChainThreshold;
  if (params.word("format") == "hls_d") options.threshold = 1;
  if (params.word("format") == "hls_s") options.threshold = kNoTileIsDense;
  options.values = params.word("values") == "auto" ? storage_of(arithmetic_of(params))
                                                   : value_type_from_name(params.word("values"));
  return options;
}

Executed format_facts(const HlsShape& hls) {
  const auto bits = storage_bits(hls.grid, hls.options.values, hls.nnz(), hls.sparse_nonzeros(),
                                 hls.dense_tiles());
  const bool all_sparse = hls.options.threshold == kNoTileIsDense;
  return {{"threshold", all_sparse ? "none" : std::to_string(hls.options.threshold)},
          {"tiles", std::to_string(hls.tiles)},
          {"dense_tiles", std::to_string(hls.dense_tiles())},
          {"sparse_nonzeros", std::to_string(hls.sparse_nonzeros())},
          {"index_bits", std::to_string(hls.grid.nonzero_index().bits())},
          {"tile_index_bits", std::to_string(hls.grid.tile_index().bits())},
          {"formula_bytes", fmt::format("{:.1f}", static_cast<double>(bits.total()) / 8)},
          {"format_bytes", std::to_string(hls.bytes())},
          {"index_bytes", std::to_string(hls.index_bytes())},
          {"values", std::string(name(hls.options.values))}};
}

}  // namespace retensor::hlsto
