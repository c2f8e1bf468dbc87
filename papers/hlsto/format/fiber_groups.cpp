// COO -> groups of fibers: nonzeros sorted by output row and fiber, cut into segments of leaves,
// and packed group by group.
#include "papers/hlsto/format/fiber_groups.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <span>
#include <utility>

#include "common/core/message.hpp"
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
  if (order < 2) throw input_error("fiber groups: found order {}, expected at least 2", order);
  if (tensor.dtype() != DType::f32)
    throw input_error("fiber groups: found values in double precision, expected single");
  if (options.mode == options.leaf || options.segment_rows == 0)
    throw input_error("fiber groups: found mode {}, leaves' mode {} and segments of {} rows",
                      options.mode + 1, options.leaf + 1, options.segment_rows);
}

/// Where slot `s` of a summed step lies in the arrays of a half's lanes.
struct Place {
  unsigned half, lane, number;  // of a lane's four slots

  explicit Place(Count s)
      : half(static_cast<unsigned>(s / 16 % 2)),
        lane(static_cast<unsigned>(s % 8 / 2)),
        number(static_cast<unsigned>(s / 8 % 2 * 2 + s % 2)) {}
  static Count code(Count s) { return s / 32 * 32 + s % 16 * 2 + s / 16 % 2; }
  Count of_lane(Count s) const { return s / 32 * 8 + lane * 2 + half; }
  /// In halves of words.
  Count value(Count s) const { return of_lane(s) * 4 + number; }
};

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
    const bool summed = out_.options.form == GroupForm::summed;
    const Count slots = Count{steps_} * slots_of(out_.options.form);
    out_.code.resize(slots);
    out_.value.resize(summed ? slots / 2 : slots);
    out_.rest.resize(summed ? slots / 2 : 0);
    out_.selector.resize(summed ? slots / 4 : 0);
  }

  void add_side_by_side(std::span<const Fiber> group) {
    constexpr Count kOfFiber = kSideSlots / kSideFibers;
    const Count begin = steps_;
    make_steps((group[0].size() + kOfFiber - 1) / kOfFiber);
    for (std::size_t f = 0; f < group.size(); ++f)
      for (std::size_t n = 0; n < group[f].size(); ++n) {
        const Count slot = (begin + n / kOfFiber) * kSideSlots + f * kOfFiber + n % kOfFiber;
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
    make_steps((count + kSumSlots - 1) / kSumSlots);
    Count slot = begin * kSumSlots;
    const Count filled = slot + count;
    for (std::size_t n = 0; slot < filled; ++n)
      for (const auto& bank : banks)
        if (n < bank.size()) put(slot++, bank[n].first, bank[n].second);
    for (; slot < Count{steps_} * kSumSlots; ++slot)
      out_.code[Place::code(slot)] = out_.code[Place::code(filled - 1)];
  }

  void put(Count slot, Count p, unsigned fiber) {
    const Place place(slot);
    const float value = values_[p];
    out_.code[Place::code(slot)] = code(leaf(p));
    set_half(out_.value, place.value(slot), to_fp16_bits(value));
    set_half(out_.rest, place.value(slot), to_fp16_bits(value - round_fp16(value)));
    out_.selector[place.of_lane(slot)] |= static_cast<std::uint16_t>(fiber << 4 * place.number);
  }
  static void set_half(Array<std::uint32_t>& words, Count number, std::uint16_t bits) {
    words[number / 2] |= std::uint32_t{bits} << 16 * (number % 2);
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
  const unsigned fibers = fibers_of(options.form), slots = slots_of(options.form);
  const auto half = [](const Array<std::uint32_t>& words, Count number) {
    return from_fp16_bits(static_cast<std::uint16_t>(words[number / 2] >> 16 * (number % 2)));
  };
  const auto value_at = [&](Count slot) {
    if (!summed) return std::bit_cast<float>(std::uint32_t{value[slot]});
    const Count number = Place(slot).value(slot);
    return half(value, number) + half(rest, number);
  };
  const auto fiber_at = [&](Count slot) {
    if (!summed) return static_cast<unsigned>(slot % slots / (kSideSlots / kSideFibers));
    const Place place(slot);
    return selector[place.of_lane(slot)] >> 4 * place.number & 15u;
  };
  for (std::size_t s = 0; s + 1 < segment.size(); ++s)
    for (Count g = segment[s]; g < segment[s + 1]; ++g)
      for (Count slot = Count{first[g]} * slots; slot < Count{first[g + 1]} * slots; ++slot) {
        if (value_at(slot) == 0) continue;
        const Count leaf =
            summed ? code[Place::code(slot)] / options.row_vectors : Count{code[slot]};
        x.indices[at(options.mode)].push_back(row[g]);
        x.indices[at(options.leaf)].push_back(static_cast<Index>(leaf + s * options.segment_rows));
        for (std::size_t m = 0; m < modes.size(); ++m)
          x.indices[at(modes[m])].push_back(
              upper[(g * modes.size() + m) * fibers + fiber_at(slot)]);
        values.push_back(value_at(slot));
      }
  x.values = values;
  return x;
}

std::vector<int> leaves_of_fewest(std::span<const Count> fibers) {
  const int order = static_cast<int>(fibers.size());
  std::vector<int> leaves;
  for (int mode = 0; mode < order; ++mode) {
    int best = mode == 0 ? 1 : 0;
    for (int leaf = 0; leaf < order; ++leaf)
      if (leaf != mode && fibers[at(leaf)] < fibers[at(best)]) best = leaf;
    leaves.push_back(best);
  }
  return leaves;
}

std::vector<int> longest_fibers(const Coo& tensor) {
  const int order = tensor.order();
  std::vector<Count> fibers;
  for (int leaf = 0; leaf < order; ++leaf) {
    Coo sorted = tensor;
    sort_nonzeros(sorted, fiber_order(order, leaf));
    fibers.push_back(fiber_starts(sorted, leaf).size());
  }
  return leaves_of_fewest(fibers);
}

FiberGroups to_fiber_groups(const Coo& tensor, const GroupOptions& options) {
  check(tensor, options);
  FiberGroups made;
  made.dims = tensor.dims, made.options = options, made.nnz = tensor.nnz();
  Builder(tensor, made).build();
  return made;
}

}  // namespace retensor::hlsto
