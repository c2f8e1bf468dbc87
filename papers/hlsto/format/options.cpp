#include "papers/hlsto/format/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
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

namespace {

/// The largest magnitude in a factor, at most 1; 1 where all are zero.
double largest_below_one(const Matrix& factor) {
  double largest = 0;
  factor.values().visit([&](const auto& values) {
    for (const auto v : values) largest = std::max(largest, std::abs(static_cast<double>(v)));
  });
  return largest > 0 ? std::min(1.0, largest) : 1;
}

/// The same of the factor C, which is multiplied first: that of a slice's columns, as roles_of and
/// Grid have them.
double largest_in_c(const Problem& problem) {
  auto tiled = longest_first(problem.x().dims);
  if (tiled.size() < kTiledModes) return 1;
  tiled.resize(kTiledModes);
  std::ranges::sort(tiled);
  const int column = tiled[2] == problem.mode() ? tiled[1] : tiled[2];
  return largest_below_one(problem.dense()[static_cast<std::size_t>(column)]);
}

/// What is lost where operands underflow, their sums left out.
reference::Precision precision_of_operands(const Problem& problem, const Params& params) {
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

}  // namespace

double least_of_factors(const Problem& problem) {
  double least = 1;
  const auto& factors = problem.dense();
  for (std::size_t m = 0; m < factors.size(); ++m)
    if (static_cast<int>(m) != problem.mode())
      least = std::min(least, largest_below_one(factors[m]));
  return least;
}

reference::Precision precision_of(const Problem& problem, const Params& params) {
  auto p = precision_of_operands(problem, params);
  const Arithmetic arithmetic = arithmetic_of(params);
  // A sum that underflows loses as much whatever the row of C was, which the check counts among
  // what makes less of a loss; so does a product of rows of B and C. Types with the range of single
  // precision lose nothing there.
  if (arithmetic == Arithmetic::fp16 || arithmetic == Arithmetic::split_fp16)
    p.underflow /= largest_in_c(problem);
  return p;
}

bool half_result(const Params& params) {
  return params.word("result") == "f16";
}

Executed half_facts(const Params& params) {
  return {{"sums", half_result(params) ? "f16, in the result too" : "f16"}};
}

reference::Precision precision_of_halves(const Problem& problem, const Params& params) {
  // Beside the four roundings above, each sum of 16 products is rounded, of which the first
  // product's last one is that of the operand: with n fragments along an edge 2 n - 1 more. A
  // hundredth covers the products of roundings.
  const auto edge = static_cast<int>(params.integer("edge"));
  auto p = precision_of_operands(problem, params);
  p.operand_eps *= 1.01;
  p.roundings += 2 * std::max(1, edge / static_cast<int>(kFragmentEdge)) - 1;
  if (half_result(params)) {
    // What is added is rounded once; so is each sum, of which there are as many as terms. Sums that
    // are rounded to nearest have no products of roundings (Jeannerod and Rump 2013).
    ++p.roundings;
    p.accumulate_eps = p.operand_eps;
  }
  // Where a sum underflows, operands below 1 do not make less of what is lost.
  for (const auto& matrix : problem.dense()) p.underflow /= largest_below_one(matrix);
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
