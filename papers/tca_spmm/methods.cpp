// What TCA-SpMM's methods have in common, and their registration.
#include "papers/tca_spmm/methods.hpp"

#include <fmt/format.h>

#include <string>

#include "common/measure/registry.hpp"
#include "common/numeric/rounding.hpp"

namespace retensor {
namespace tca_spmm {

std::vector<ParamSpec> kernel_params() {
  return {{"depth", std::int64_t{8}, "k of the MMA m16n8k: 8 (the paper) or 16", 8, 16, {}},
          {"classes",
           std::string("five"),
           "outputs an MMA by the row's length (eq. 2), or two for all rows (eq. 1)",
           0,
           0,
           {"five", "one"}},
          {"warps",
           std::string("balanced"),
           "balanced: as many as the row's class says; one: a warp a row",
           0,
           0,
           {"balanced", "one"}},
          {"long_rows",
           std::string("outputs"),
           "what the warps of a row above 64 nonzeros divide (outputs: Algorithm 2)",
           0,
           0,
           {"outputs", "nonzeros"}},
          {"packing",
           std::string("in_order"),
           "in_order: rows take warps as in Fig. 4; by_class: those of most warps first",
           0,
           0,
           {"in_order", "by_class"}},
          {"dense",
           std::string("row_major"),
           "order of the elements of D",
           0,
           0,
           {"row_major", "column_major"}},
          {"output", std::string("f32"), "type of O; sums are f32", 0, 0, {"f32", "f16"}}};
}

Support supports_kernel(const Problem& problem, const Params& params) {
  if (problem.operation() != Operation::spmm) return Support::no("sparse times dense matrix alone");
  if (problem.dtype() != DType::f32)
    return Support::no("tensor cores take operands of at most single precision");
  const auto depth = params.integer("depth");
  if (depth != 8 && depth != 16)
    return Support::no(fmt::format("found an MMA of depth {}, expected 8 or 16", depth));
  if (params.word("warps") == "one" && params.word("long_rows") == "nonzeros")
    return Support::no("one warp a row takes all its nonzeros");
  return Support::yes();
}

PlanOptions plan_options(const Params& params) {
  PlanOptions options;
  options.depth = static_cast<int>(params.integer("depth"));
  options.one_class = params.word("classes") == "one";
  options.one_warp = params.word("warps") == "one";
  if (params.word("long_rows") == "nonzeros") options.long_rows = LongRows::nonzeros;
  if (params.word("packing") == "by_class") options.packing = Packing::by_class;
  return options;
}

DenseOrder dense_order(const Params& params) {
  return params.word("dense") == "row_major" ? DenseOrder::row_major : DenseOrder::column_major;
}

reference::Precision half_precision(Element output) {
  // Tensor cores cut off sums instead of rounding them.
  reference::Precision p{.operand_eps = kUnitRoundoffFp16,
                         .roundings = 2,
                         .accumulate_eps = 2 * kUnitRoundoffF32,
                         .underflow = kUnderflowFp16};
  if (output == Element::half) p.roundings = 3;
  return p;
}

reference::Precision kernel_precision(const Params& params) {
  return half_precision(params.word("output") == "f16" ? Element::half : Element::single);
}

Executed plan_facts(const Plan& plan, std::span<const Count> row_start) {
  const PlanCounts counts = count(plan, row_start);
  const Count working = plan.warps() - counts.idle();
  const auto ratio = [](Count a, Count b) {
    return fmt::format("{:.6g}", b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b));
  };
  Executed facts = {{"blocks", std::to_string(plan.blocks())},
                    {"warps", std::to_string(plan.warps())},
                    {"warps_without_row", std::to_string(counts.without_row)},
                    {"warps_without_outputs", std::to_string(counts.without_outputs)},
                    {"idle_share", ratio(counts.idle(), plan.warps())},
                    {"mma_equation_1", std::to_string(counts.mma_one_class)},
                    {"mma_equation_2", std::to_string(counts.mma)},
                    {"mma_per_warp_most", std::to_string(counts.most_mma)},
                    {"mma_per_warp_mean", ratio(counts.mma, working)},
                    {"plan_bytes", std::to_string(plan.bytes())}};
  for (std::size_t c = 0; c < counts.rows.size(); ++c)
    facts[fmt::format("rows_of_class_{}", c)] = std::to_string(counts.rows[c]);
  return facts;
}

}  // namespace tca_spmm

void register_tca_spmm(Registry& registry);

void register_tca_spmm(Registry& registry) {
  registry.add(tca_spmm::make_tca_spmm_cpu());
  registry.add(tca_spmm::make_tca_spmm_cuda());
  registry.add(tca_spmm::make_tca_spmm_cuda_tiles());
  registry.add(tca_spmm::make_tca_spmm_cuda_tuned());
}

}  // namespace retensor
