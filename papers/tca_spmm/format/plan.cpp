#include "papers/tca_spmm/format/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "common/core/message.hpp"

namespace retensor::tca_spmm {
namespace {

Count ceil_div(Count a, Count b) {
  return (a + b - 1) / b;
}

Count nonzeros_of(std::span<const Count> row_start, Count row) {
  return row_start[row + 1] - row_start[row];
}

/// Columns of the right fragment that `nonzeros` > 0 fill, a power of two.
int columns_of(Count nonzeros, const PlanOptions& options) {
  const Count columns = std::bit_ceil(ceil_div(nonzeros, static_cast<Count>(options.depth)));
  return static_cast<int>(std::min<Count>(columns, kFragmentColumns));
}

Count warps_of(Count nonzeros, const RowShape& shape, const PlanOptions& options) {
  if (options.one_warp) return 1;
  if (shape.chunks == 1) return static_cast<Count>(columns_of(nonzeros, options));
  const Count useful = options.long_rows == LongRows::nonzeros
                           ? shape.chunks
                           : std::min(shape.chunks, ceil_div(shape.tiles, kWarpsPerBlock));
  return kWarpsPerBlock * useful;
}

/// Part `part` of `parts` of n things, the first ceil or floor of n / parts.
void divide(Count n, Count part, Count parts, Count& first, Count& end) {
  first = n * part / parts;
  end = n * (part + 1) / parts;
}

/// Rows in the order in which they take warps.
std::vector<Index> packed_order(const std::vector<Index>& warps, Packing packing) {
  std::vector<Index> order(warps.size());
  std::iota(order.begin(), order.end(), Index{0});
  if (packing == Packing::by_class)
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return warps[a] > warps[b]; });
  return order;
}

void end_block(Plan& plan) {
  const Count end = ceil_div(plan.warps(), kWarpsPerBlock) * kWarpsPerBlock;
  plan.row_id_for_each_warp.resize(end, kNoRow);
  plan.warpid_within_row.resize(end, 0);
}

void add_row(Plan& plan, Index row) {
  const Index warps = plan.num_warps_per_row[row];
  const Count used = plan.warps() % kWarpsPerBlock;
  if (used + warps > kWarpsPerBlock) end_block(plan);
  for (Index w = 0; w < warps; ++w) {
    plan.row_id_for_each_warp.push_back(row);
    plan.warpid_within_row.push_back(w);
  }
}

}  // namespace

int row_class(Count nonzeros, const PlanOptions& options) {
  if (nonzeros > options.capacity()) return kClasses - 1;
  return std::countr_zero(static_cast<unsigned>(columns_of(nonzeros, options)));
}

RowShape row_shape(Count nonzeros, std::uint64_t width, const PlanOptions& options) {
  RowShape shape;
  if (nonzeros == 0) return shape;
  shape.columns = options.one_class ? kFragmentColumns : columns_of(nonzeros, options);
  shape.outputs = kFragmentRows / shape.columns;
  shape.chunks = ceil_div(nonzeros, options.capacity());
  shape.tiles = ceil_div(width, static_cast<Count>(shape.outputs));
  shape.warps = warps_of(nonzeros, shape, options);
  return shape;
}

Count Plan::bytes() const {
  return sizeof(Index) *
         (row_id_for_each_warp.size() + warpid_within_row.size() + num_warps_per_row.size());
}

Share Plan::share(Count warp, Count nonzeros) const {
  const RowShape shape = row_shape(nonzeros, width, options);
  const Count id = warpid_within_row[warp];
  Share share{0, 0, 0, shape.chunks};
  if (shape.chunks == 1 || options.long_rows == LongRows::outputs) {
    divide(shape.tiles, id, shape.warps, share.first_tile, share.end_tile);
  } else {
    share.first_chunk = id / kWarpsPerBlock;
    share.end_chunk = share.first_chunk + 1;
    divide(shape.tiles, id % kWarpsPerBlock, kWarpsPerBlock, share.first_tile, share.end_tile);
  }
  return share;
}

void Plan::check(std::span<const Count> row_start) const {
  if (row_id_for_each_warp.size() != warpid_within_row.size() || warps() % kWarpsPerBlock != 0)
    throw input_error("found {} rows and {} ids of warps, expected a multiple of {}",
                      row_id_for_each_warp.size(), warpid_within_row.size(), kWarpsPerBlock);
  if (num_warps_per_row.size() + 1 != row_start.size())
    throw input_error("found numbers of warps of {} rows, expected {}", num_warps_per_row.size(),
                      row_start.size() - 1);
  std::vector<Index> found(num_warps_per_row.size(), 0);
  for (Count w = 0; w < warps(); ++w) {
    const Index row = row_id_for_each_warp[w];
    if (row == kNoRow && warpid_within_row[w] != 0)
      throw input_error("warp {}: found id {} in no row", w, warpid_within_row[w]);
    if (row == kNoRow) continue;
    if (row >= found.size())
      throw input_error("warp {}: found row {}, expected one below {}", w, row, found.size());
    if (warpid_within_row[w] != found[row])
      throw input_error("warp {}: found id {} in row {}, expected {}", w, warpid_within_row[w], row,
                        found[row]);
    if (found[row]++ > 0 && row_id_for_each_warp[w - 1] != row)
      throw input_error("warp {}: row {} does not continue in it", w, row);
    const Count place = w % kWarpsPerBlock + num_warps_per_row[row] - found[row] + 1;
    if (num_warps_per_row[row] < kWarpsPerBlock && place > kWarpsPerBlock)
      throw input_error("warp {}: row {} lies in two blocks", w, row);
    if (num_warps_per_row[row] >= kWarpsPerBlock && found[row] == 1 && w % kWarpsPerBlock != 0)
      throw input_error("warp {}: row {} does not begin with its block", w, row);
  }
  for (Count row = 0; row < found.size(); ++row) {
    const Count expected = row_shape(nonzeros_of(row_start, row), width, options).warps;
    if (num_warps_per_row[row] != expected || found[row] != expected)
      throw input_error("row {}: found {} warps and number {}, expected {}", row, found[row],
                        num_warps_per_row[row], expected);
  }
}

Plan make_plan(std::span<const Count> row_start, std::uint64_t width, const PlanOptions& options) {
  if (options.depth != 8 && options.depth != 16)
    throw input_error("found an MMA of depth {}, expected 8 or 16", options.depth);
  if (options.one_warp && options.long_rows == LongRows::nonzeros)
    throw input_error("found one warp a row that divides nonzeros, expected it to take them all");
  Plan plan;
  plan.options = options;
  plan.width = width;
  plan.num_warps_per_row.resize(row_start.size() - 1);
  for (Count row = 0; row + 1 < row_start.size(); ++row)
    plan.num_warps_per_row[row] =
        static_cast<Index>(row_shape(nonzeros_of(row_start, row), width, options).warps);
  for (const Index row : packed_order(plan.num_warps_per_row, options.packing)) add_row(plan, row);
  end_block(plan);
  return plan;
}

PlanCounts count(const Plan& plan, std::span<const Count> row_start) {
  PlanCounts counts;
  PlanOptions one_class = plan.options;
  one_class.one_class = true;
  for (Count row = 0; row + 1 < row_start.size(); ++row) {
    const Count nonzeros = nonzeros_of(row_start, row);
    if (nonzeros == 0) continue;
    ++counts.rows[static_cast<std::size_t>(row_class(nonzeros, plan.options))];
    counts.mma += row_shape(nonzeros, plan.width, plan.options).mma();
    counts.mma_one_class += row_shape(nonzeros, plan.width, one_class).mma();
  }
  for (Count w = 0; w < plan.warps(); ++w) {
    const Index row = plan.row_id_for_each_warp[w];
    const Count mma = row == kNoRow ? 0 : plan.share(w, nonzeros_of(row_start, row)).mma();
    counts.without_row += row == kNoRow ? 1 : 0;
    counts.without_outputs += row != kNoRow && mma == 0 ? 1 : 0;
    counts.most_mma = std::max(counts.most_mma, mma);
  }
  return counts;
}

std::string layout_text(const Plan& plan, std::span<const Count> row_start) {
  std::string text;
  for (Count b = 0; b < plan.blocks(); ++b) {
    text += fmt::format("block {}:", b);
    for (Count w = b * kWarpsPerBlock; w < (b + 1) * kWarpsPerBlock; ++w) {
      const Index row = plan.row_id_for_each_warp[w];
      text += row == kNoRow ? " -" : fmt::format(" {}", row);
    }
    text += "; ";
  }
  for (Count row = 0; row + 1 < row_start.size(); ++row) {
    const Count nonzeros = nonzeros_of(row_start, row);
    const RowShape shape = row_shape(nonzeros, plan.width, plan.options);
    text += fmt::format("{}row {}: {} nonzeros, {} warps", row == 0 ? "" : "; ", row, nonzeros,
                        shape.warps);
    if (nonzeros > 0) text += ", ";
    for (int a = 0; nonzeros > 0 && a < kFragmentRows; ++a)
      text += fmt::format("{:x}", a / shape.columns);
  }
  return text;
}

}  // namespace retensor::tca_spmm
