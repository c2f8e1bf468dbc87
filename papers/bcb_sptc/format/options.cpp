#include "papers/bcb_sptc/format/options.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

namespace retensor::bcb_sptc {

bool sorts_output(const Params& params) {
  return params.word("output") == "sorted";
}

Arithmetic arithmetic_of(const Params& params) {
  return arithmetic_from_name(params.word("precision"));
}

Blocking blocking_of(const Params& params) {
  Blocking blocking;
  blocking.edge_bits = std::countr_zero(static_cast<std::uint64_t>(params.integer("edge")));
  blocking.block_bits = static_cast<int>(params.integer("block_bits"));
  blocking.values = params.word("values") == "auto" ? storage_of(arithmetic_of(params))
                                                    : value_type_from_name(params.word("values"));
  return blocking;
}

Contraction contraction_of(const Problem& problem) {
  return {problem.spec().variant, problem.x().dims, problem.y().dims};
}

Operands operands_of(const Problem& problem, const Params& params) {
  return {contraction_of(problem), blocking_of(params), problem.x(), problem.y()};
}

namespace {

std::string edges_text(const Grid& grid) {
  std::string text;
  for (const int bits : grid.edge_bits())
    text += fmt::format("{}{}", text.empty() ? "" : "x", 1 << bits);
  return text;
}

void add_format_facts(const std::string& operand, const StoredFormat& stored, Executed& facts) {
  const auto bits = storage_bits(stored.grid, stored.values, stored.blocks, stored.nnz);
  facts[operand + "_edges"] = edges_text(stored.grid);
  facts[operand + "_blocks"] = std::to_string(stored.blocks);
  facts[operand + "_index_bits"] = std::to_string(bits.block_index);
  facts[operand + "_bitmap_bits"] = std::to_string(bits.bitmap);
  facts[operand + "_index_total_bits"] = std::to_string(bits.indices);
  facts[operand + "_bitmap_total_bits"] = std::to_string(bits.bitmaps);
  facts[operand + "_value_total_bits"] = std::to_string(bits.values);
  facts[operand + "_formula_bytes"] = fmt::format("{:.1f}", static_cast<double>(bits.total()) / 8);
  facts[operand + "_coo_bytes"] = std::to_string(bits.coo / 8);
  facts[operand + "_format_bytes"] = std::to_string(stored.bytes);
}

constexpr Index kEdge = kFragmentEdge;

Count fragments(Count cells) {
  return (cells + kEdge - 1) / kEdge;
}

/// Products that the tasks take when no fragment is left out, of the operands' grids.
Count dense_mmas(const Grid& x, const Grid& y, Count tasks) {
  return tasks * fragments(Count{1} << x.leading_bits()) *
         fragments(Count{1} << x.trailing_bits()) * fragments(Count{1} << y.trailing_bits());
}

/// Products that section IV.B counts: slices of 64 cells, two at a time with one contracted mode,
/// four with more. It does not cover all pairs of free cells, see the README.
Count published_mmas(const Grid& x, const Contraction& modes, Count tasks) {
  const Count slices = (x.cells() + 63) / 64;
  const Count at_once = modes.contracted_x.size() == 1 ? 2 : 4;
  return tasks * ((slices + at_once - 1) / at_once);
}

}  // namespace

Executed shared_facts(const StoredFormat& x, const StoredFormat& y, const Contraction& modes,
                      TaskCounts counts, Arithmetic arithmetic) {
  const auto products = static_cast<Count>(products_of(arithmetic));
  const Count published = published_mmas(x.grid, modes, counts.tasks);
  Executed facts = {
      {"precision", std::string(name(arithmetic))},
      {"values", std::string(name(x.values))},
      {"pairs", std::to_string(counts.pairs)},
      {"tasks", std::to_string(counts.tasks)},
      {"result_blocks", std::to_string(counts.results)},
      {"mma_dense", std::to_string(products * dense_mmas(x.grid, y.grid, counts.tasks))},
      {"mma_published", std::to_string(published)}};
  add_format_facts("x", x, facts);
  add_format_facts("y", y, facts);
  return facts;
}

}  // namespace retensor::bcb_sptc
