#include "papers/hlsto/format/options.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

#include "common/numeric/rounding.hpp"

namespace retensor::hlsto {
Arithmetic arithmetic_of(const Params& params) {
  return arithmetic_from_name(params.word("precision"));
}

Options format_options(const Problem& problem, const Params& params) {
  Options options;
  options.edge_bits = std::countr_zero(static_cast<std::uint64_t>(params.integer("edge")));
  options.threshold = static_cast<Count>(params.integer("threshold"));
  if (options.threshold == 0)  // those that section VII.A.3 found on the A100
    options.threshold = problem.operation() == Operation::mttkrp ? 78 : 61;
  if (params.word("format") == "hls_d") options.threshold = 1;
  if (params.word("format") == "hls_s") options.threshold = kNoTileIsDense;
  options.values = params.word("values") == "auto" ? storage_of(arithmetic_of(params))
                                                   : value_type_from_name(params.word("values"));
  return options;
}

reference::Precision precision_of(const Problem& problem, const Params& params) {
  const Arithmetic arithmetic = arithmetic_of(params);
  const ValueType values = format_options(problem, params).values;
  // Four operands are rounded: a value, a row of C, their sum, a row of B. Tensor cores cut off
  // sums instead of rounding them.
  reference::Precision p{.operand_eps = kUnitRoundoffFp16,
                         .roundings = 4,
                         .accumulate_eps = 2 * kUnitRoundoffF32,
                         .underflow = kUnderflowFp16};
  if (arithmetic == Arithmetic::bf16 || values == ValueType::bf16)
    p.operand_eps = kUnitRoundoffBf16;
  if (arithmetic == Arithmetic::split_fp16 && values == ValueType::f32) {
    // Four remainders of the second halves and two products of second halves that are left out.
    p.operand_eps = kUnitRoundoffFp16 * kUnitRoundoffFp16;
    p.roundings = 6;
  }
  return p;
}

Executed format_facts(const HlsShape& hls) {
  const auto bits =
      storage_bits(hls.grid, hls.options.values, hls.nnz(), hls.sparse_nonzeros, hls.dense_tiles);
  const bool all_sparse = hls.options.threshold == kNoTileIsDense;
  return {{"threshold", all_sparse ? "none" : std::to_string(hls.options.threshold)},
          {"tiles", std::to_string(hls.tiles)},
          {"dense_tiles", std::to_string(hls.dense_tiles)},
          {"sparse_nonzeros", std::to_string(hls.sparse_nonzeros)},
          {"index_bits", std::to_string(hls.grid.nonzero_index().bits())},
          {"tile_index_bits", std::to_string(hls.grid.tile_index().bits())},
          {"formula_bytes", fmt::format("{:.1f}", static_cast<double>(bits.total()) / 8)},
          {"format_bytes", std::to_string(hls.bytes())},
          {"index_bytes", std::to_string(hls.index_bytes())},
          {"values", std::string(name(hls.options.values))}};
}

}  // namespace retensor::hlsto
