// COO -> groups of fibers: nonzeros sorted by output row and fiber, cut into segments of leaves,
// and packed group by group.
#include "papers/hlsto/format/fiber_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "common/core/error.hpp"
#include "common/numeric/rounding.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::hlsto {
namespace {

constexpr unsigned kBanks = 8;  // of 16 bytes each

using Fiber = std::span<const Count>;  // nonzeros

std::size_t at(int mode) {
  return static_cast<std::size_t>(mode);
}

std::vector<int> modes_between(int order, int mode, int leaf) {
  std::vector<int> modes;
  for (int m = 0; m < order; ++m)
    if (m != mode && m != leaf) modes.push_back(m);
  return modes;
}

void check(const Coo& tensor, const GroupOptions& options) {
  const int order = tensor.order();
  if (order < 2)
    throw InputError(fmt::format("fiber groups: found order {}, expected at least 2", order));
  if (tensor.dtype() != DType::f32)
    throw InputError("fiber groups: found values in double precision, expected single");
  if (options.mode == options.leaf || options.segment_rows == 0)
    throw InputError(
        fmt::format("fiber groups: found mode {}, leaves' mode {} and segments of {} "
                    "rows",
                    options.mode + 1, options.leaf + 1, options.segment_rows));
}

/// Where slot `s` of a step has its value and its fiber: among the four slots that lane t of a
/// fragment holds, in the order 2 t, 2 t + 1, 2 t + 8, 2 t + 9.
struct Place {
  unsigned lane, number;
};
constexpr Place place_of_slot(unsigned s) {
  return {s % 8 / 2, s / 8 * 2 + s % 2};
}
/// Of a nonzero's first half among the halves of all slots; the half that it leaves is 4 further.
constexpr Count half_at(Count step, unsigned slot) {
  const Place p = place_of_slot(slot);
  return (step * 4 + p.lane) * 8 + p.number;
}

class Builder {
 public:
  Builder(const Coo& tensor, FiberGroups& made)
      : x_(tensor),
        out_(made),
        values_(tensor.values.as<float>()),
        uppers_(made.uppers()),
        fibers_(fibers_of(made.options.form)) {}

  void build() {
    const auto& o = out_.options;
    std::vector<int> order{o.mode};
    order.insert(order.end(), uppers_.begin(), uppers_.end());
    order.push_back(o.leaf);
    std::vector<std::vector<Count>> segments((x_.dims[at(o.leaf)] + o.segment_rows - 1) /
                                             o.segment_rows);
    for (const Count p : sort_permutation(x_, order))
      segments[index(o.leaf, p) / o.segment_rows].push_back(p);
    for (const auto& nonzeros : segments) {
      out_.segment.push_back(static_cast<std::uint32_t>(out_.groups()));
      add_segment(nonzeros);
    }
    out_.segment.push_back(static_cast<std::uint32_t>(out_.groups()));
    out_.first.push_back(steps_);
  }

 private:
  Index index(int mode, Count p) const { return x_.indices[at(mode)][p]; }
  std::uint32_t leaf(Count p) const {
    return static_cast<std::uint32_t>(index(out_.options.leaf, p) % out_.options.segment_rows);
  }
  bool same_fiber(Count p, Count q) const {
    return std::ranges::all_of(uppers_, [&](int m) { return index(m, p) == index(m, q); });
  }

  void add_segment(std::span<const Count> nonzeros) {
    std::vector<Fiber> of_row;
    for (std::size_t p = 0; p < nonzeros.size();) {
      const Index row = index(out_.options.mode, nonzeros[p]);
      of_row.clear();
      while (p < nonzeros.size() && index(out_.options.mode, nonzeros[p]) == row) {
        std::size_t end = p + 1;
        while (end < nonzeros.size() && end - p < kLongestFiber &&
               index(out_.options.mode, nonzeros[end]) == row &&
               same_fiber(nonzeros[p], nonzeros[end]))
          ++end;
        of_row.push_back(nonzeros.subspan(p, end - p));
        p = end;
      }
      add_row(row, of_row);
    }
  }

  void add_row(Index row, std::vector<Fiber>& fibers) {
    if (out_.options.form == GroupForm::side_by_side)
      std::ranges::stable_sort(fibers, std::greater(), &Fiber::size);
    for (std::size_t f = 0; f < fibers.size(); f += fibers_) {
      const std::span group(&fibers[f], std::min<std::size_t>(fibers_, fibers.size() - f));
      out_.first.push_back(steps_);
      out_.row.push_back(row);
      for (const int m : uppers_)
        for (unsigned k = 0; k < fibers_; ++k)
          out_.upper.push_back(k < group.size() ? index(m, group[k][0]) : 0);
      out_.options.form == GroupForm::summed ? add_summed(group) : add_side_by_side(group);
    }
  }

  void make_steps(Count steps) {
    steps_ += static_cast<std::uint32_t>(steps);
    out_.code.resize(Count{steps_} * kStepSlots);
    out_.value.resize(Count{steps_} * kStepSlots);
    if (out_.options.form == GroupForm::summed) out_.selector.resize(Count{steps_} * 4);
  }

  void add_side_by_side(std::span<const Fiber> group) {
    constexpr Count kOfFiber = kStepSlots / kSideFibers;
    const Count begin = steps_;
    make_steps((group[0].size() + kOfFiber - 1) / kOfFiber);
    for (std::size_t f = 0; f < group.size(); ++f)
      for (std::size_t n = 0; n < group[f].size(); ++n) {
        const Count slot = (begin + n / kOfFiber) * kStepSlots + f * kOfFiber + n % kOfFiber;
        out_.code[slot] = static_cast<std::uint16_t>(leaf(group[f][n]));
        out_.value[slot] = std::bit_cast<std::uint32_t>(values_[group[f][n]]);
      }
  }

  /// The n-th nonzero of each bank takes a slot before the next of any.
  void add_summed(std::span<const Fiber> group) {
    std::array<std::vector<std::pair<Count, unsigned>>, kBanks> banks;
    Count count = 0;
    for (unsigned f = 0; f < group.size(); ++f)
      for (const Count p : group[f]) banks[leaf(p) % kBanks].emplace_back(p, f), ++count;
    const Count begin = steps_;
    make_steps((count + kStepSlots - 1) / kStepSlots);
    Count slot = begin * kStepSlots;
    for (std::size_t n = 0; slot < begin * kStepSlots + count; ++n)
      for (const auto& bank : banks)
        if (n < bank.size()) put(slot++, bank[n].first, bank[n].second);
    for (; slot < Count{steps_} * kStepSlots; ++slot) out_.code[slot] = out_.code[slot - 1];
  }

  void put(Count slot, Count p, unsigned fiber) {
    const Count step = slot / kStepSlots;
    const auto in_step = static_cast<unsigned>(slot % kStepSlots);
    const Place place = place_of_slot(in_step);
    const float value = values_[p];
    out_.code[slot] = code(leaf(p));
    set_half(half_at(step, in_step), to_fp16_bits(value));
    set_half(half_at(step, in_step) + 4, to_fp16_bits(value - round_fp16(value)));
    out_.selector[step * 4 + place.lane] |= static_cast<std::uint16_t>(fiber << 4 * place.number);
  }
  void set_half(Count number, std::uint16_t bits) {
    out_.value[number / 2] |= std::uint32_t{bits} << 16 * (number % 2);
  }
  std::uint16_t code(std::uint32_t row) const {
    return static_cast<std::uint16_t>(table_code(row, out_.options.row_vectors));
  }

  const Coo& x_;
  FiberGroups& out_;
  const std::span<const float> values_;
  const std::vector<int> uppers_;
  const unsigned fibers_;
  std::uint32_t steps_ = 0;
};

}  // namespace

std::vector<int> FiberGroups::uppers() const {
  return modes_between(order(), options.mode, options.leaf);
}

Coo FiberGroups::to_coo() const {
  Coo x(dims, DType::f32);
  std::vector<float> values;
  const auto modes = uppers();
  const bool summed = options.form == GroupForm::summed;
  const unsigned fibers = fibers_of(options.form);
  const auto half = [&](Count number) {
    return from_fp16_bits(static_cast<std::uint16_t>(value[number / 2] >> 16 * (number % 2)));
  };
  for (std::size_t s = 0; s + 1 < segment.size(); ++s)
    for (Count g = segment[s]; g < segment[s + 1]; ++g)
      for (Count slot = Count{first[g]} * kStepSlots; slot < Count{first[g + 1]} * kStepSlots;
           ++slot) {
        const Count step = slot / kStepSlots;
        const auto in_step = static_cast<unsigned>(slot % kStepSlots);
        const Place place = place_of_slot(in_step);
        const Count h = half_at(step, in_step);
        const float v =
            summed ? half(h) + half(h + 4) : std::bit_cast<float>(std::uint32_t{value[slot]});
        if (v == 0) continue;
        const Count fiber = summed ? selector[step * 4 + place.lane] >> 4 * place.number & 15u
                                   : in_step / (kStepSlots / kSideFibers);
        x.indices[at(options.mode)].push_back(row[g]);
        x.indices[at(options.leaf)].push_back(static_cast<Index>(
            code[slot] / (summed ? options.row_vectors : 1) + s * options.segment_rows));
        for (std::size_t m = 0; m < modes.size(); ++m)
          x.indices[at(modes[m])].push_back(upper[(g * modes.size() + m) * fibers + fiber]);
        values.push_back(v);
      }
  x.values = values;
  return x;
}

std::vector<int> longest_fibers(const Coo& tensor) {
  const int order = tensor.order();
  std::vector<Count> fibers;
  for (int leaf = 0; leaf < order; ++leaf) {
    Coo sorted = tensor;
    sort_nonzeros(sorted, fiber_order(order, leaf));
    fibers.push_back(fiber_starts(sorted, leaf).size());
  }
  std::vector<int> leaves;
  for (int mode = 0; mode < order; ++mode) {
    int best = mode == 0 ? 1 : 0;
    for (int leaf = 0; leaf < order; ++leaf)
      if (leaf != mode && fibers[at(leaf)] < fibers[at(best)]) best = leaf;
    leaves.push_back(best);
  }
  return leaves;
}

FiberGroups to_fiber_groups(const Coo& tensor, const GroupOptions& options) {
  check(tensor, options);
  FiberGroups made;
  made.dims = tensor.dims, made.options = options, made.nnz = tensor.nnz();
  Builder(tensor, made).build();
  return made;
}

}  // namespace retensor::hlsto
