#include "papers/tca_spmm/format/options.hpp"

#include <fmt/format.h>

#include <string>

namespace retensor::tca_spmm {

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

Element output_of(const Params& params) {
  return params.word("output") == "f16" ? Element::half : Element::single;
}

Types types_of(const Params& params) {
  const std::string& word = params.word("types");
  return {word == "f32" ? Element::single : Element::half,
          word == "f16" ? Element::half : Element::single};
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

}  // namespace retensor::tca_spmm
