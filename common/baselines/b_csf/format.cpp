// COO -> B-CSF; see format.hpp.
#include "common/baselines/b_csf/format.hpp"

#include <algorithm>
#include <bit>

#include "common/core/message.hpp"

namespace retensor::b_csf {
namespace {

// The slices as shares of a single warp, then their number of warps by size.
std::vector<Share> slices_of(const Csf& csf, Count warp_nonzeros) {
  const std::vector<Index> row = csf.ancestors(0, csf.order() - 2);
  std::vector<Share> slices;
  for (Count f = 0; f < row.size(); ++f) {
    if (slices.empty() || row[f] != slices.back().row) slices.push_back({f, f, row[f], 0, 1});
    slices.back().end = f + 1;
  }
  const auto& start = csf.start.back();
  for (auto& s : slices) {
    const Count nonzeros = start[s.end] - start[s.begin];
    const Count wanted = (nonzeros + warp_nonzeros - 1) / warp_nonzeros;
    // More warps than fibers would idle.
    const Count warps = std::min(std::bit_ceil(wanted), std::bit_floor(s.end - s.begin));
    s.warps = static_cast<std::uint16_t>(std::min(warps, kMaxWarps));
  }
  return slices;
}

// Whether `b` may follow `a`, which may be null for the first share.
bool continues(const Share* a, const Share& b) {
  if (b.number > 0)
    return a != nullptr && a->begin == b.begin && a->end == b.end && a->row == b.row &&
           a->warps == b.warps && a->number + 1 == b.number;
  return a == nullptr || (a->number + 1 == a->warps && b.warps <= a->warps);
}

void check_shares(const BCsf& f) {
  for (Count i = 0; i < f.shares.size(); ++i) {
    const Share& s = f.shares[i];
    const bool sane = std::has_single_bit(s.warps) && s.number < s.warps && s.begin < s.end &&
                      s.end <= f.csf.fibers();
    if (!sane || !continues(i == 0 ? nullptr : &f.shares[i - 1], s))
      throw input_error("B-CSF: share {} does not continue the one before", i);
  }
  if (!f.shares.empty() && f.shares.back().number + 1 != f.shares.back().warps)
    throw input_error("B-CSF: the last slice lacks shares");
}

void check_cover(const BCsf& f) {
  const std::vector<Index> row = f.csf.ancestors(0, f.order() - 2);
  std::vector<Count> taken(row.size(), 0);
  for (const Share& s : f.shares)
    for (Count fiber = s.begin; s.number == 0 && fiber < s.end; ++fiber) {
      ++taken[fiber];
      if (row[fiber] != s.row)
        throw input_error("B-CSF: fiber {} of row {} is in the slice of row {}", fiber, row[fiber],
                          s.row);
    }
  for (Count fiber = 0; fiber < taken.size(); ++fiber)
    if (taken[fiber] != 1)
      throw input_error("B-CSF: fiber {} is in {} slices, expected 1", fiber, taken[fiber]);
}

}  // namespace

BCsf to_b_csf(const Coo& tensor, int root, const BCsfOptions& options) {
  const int order = tensor.order();
  if (order < 2) throw input_error("B-CSF: found order {}, expected at least 2", order);
  if (root < 0 || root >= order)
    throw input_error("B-CSF: root {} is not a mode of order {}", root + 1, order);
  BCsf f{to_csf(tensor, {levels_below(root, tensor.dims), options.fiber_limit}), {}};
  std::vector<Share> slices = slices_of(f.csf, options.warp_nonzeros);
  std::stable_sort(slices.begin(), slices.end(),
                   [](const Share& a, const Share& b) { return a.warps > b.warps; });
  for (Share s : slices)
    for (s.number = 0; s.number < s.warps; ++s.number) f.shares.push_back(s);
  return f;
}

void BCsf::check() const {
  csf.check();
  check_shares(*this);
  check_cover(*this);
}

}  // namespace retensor::b_csf
