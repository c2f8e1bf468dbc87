// What the methods of BCB-SpTC have in common, and their registration.
#include "papers/bcb_sptc/methods.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

#include "common/core/error.hpp"
#include "common/measure/registry.hpp"
#include "papers/bcb_sptc/kernels_cpu.hpp"

namespace retensor {
namespace bcb_sptc {

std::vector<ParamSpec> shared_params() {
  return {{"edge",
           std::int64_t{1 << kEdgeBits},
           "edge of a block in every mode, a power of two; the paper's is 8",
           2,
           16,
           {}},
          {"block_bits",
           std::int64_t{kBlockBits},
           "log2 of the most cells of a block; edges are halved, the last first, until it fits",
           6,
           15,
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
           {"fp16", "bf16", "tf32", "split_fp16"}},
          {"intersect",
           true,
           "leave out pairs of blocks without a common contracted cell, by their bitmaps",
           0,
           0,
           {}},
          {"zeros",
           std::string("keep"),
           "entries of the result whose value is zero; drop: as Algorithm 1, line 11",
           0,
           0,
           {"keep", "drop"}},
          {"output",
           std::string("blocks"),
           "order of the result's entries; blocks: as its blocks (single products: its rows) come; "
           "sorted: by coordinate, in a stage of its own",
           0,
           0,
           {"blocks", "sorted"}},
          {"beta",
           0.0,
           "other than 0: an update by equation 1, Z = alpha X1 Y + beta Z, where X1 is the first "
           "half of X's nonzeros and Z holds what the others contribute, over beta",
           0,
           0,
           {}},
          {"memory",
           0.0,
           "GiB that each list and the result may take, 0: what is free; more is refused",
           0,
           1e6,
           {}}};
}

std::unique_ptr<Prepared> prepare_contraction(const Problem& problem, const Params& params,
                                              PrepareRun prepare) {
  const double beta = params.real("beta");
  if (beta == 0) return prepare(problem, params, Addend{});
  return prepare_update(problem, beta, [&](const Problem& part, const Addend& addend) {
    return prepare(part, params, addend);
  });
}

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

namespace {

/// Why the format cannot hold an operand; empty if it can.
std::string refusal(const Problem& problem, const Params& params) {
  const OperandOptions options(contraction_of(problem), blocking_of(params));
  try {
    check_keys(problem.x(), options.x);
    check_keys(problem.y(), options.y);
    if (params.real("beta") != 0 || sorts_output(params))
      sum_index(contraction_of(problem).result_dims(problem.x().dims, problem.y().dims));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

Support supports_contraction(const Problem& problem, const Params& params) {
  if (problem.operation() != Operation::contraction) return Support::no("contraction alone");
  if (problem.dtype() != DType::f32)
    return Support::no("tensor cores take operands of at most single precision");
  if (problem.spec().beta != 0)
    return Support::no(fmt::format(
        "found beta {}, expected 0: the operation has no tensor Z to add; see the parameter beta",
        problem.spec().beta));
  const auto edge = static_cast<std::uint64_t>(params.integer("edge"));
  if (!std::has_single_bit(edge))
    return Support::no(
        fmt::format("found blocks of edge {}, expected a power of two from 2 to 16", edge));
  const auto why = refusal(problem, params);
  return why.empty() ? Support::yes() : Support::no(why);
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

}  // namespace bcb_sptc

void register_bcb_sptc(Registry& registry);

void register_bcb_sptc(Registry& registry) {
  registry.add(bcb_sptc::make_bcb_cpu());
  registry.add(bcb_sptc::make_bcb_cuda());
}

}  // namespace retensor
