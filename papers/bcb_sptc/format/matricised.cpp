#include "papers/bcb_sptc/format/matricised.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <numeric>

#include "common/core/message.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::bcb_sptc {
namespace {

using Modes = std::vector<int>;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

Index index_of(const Coo& t, int mode, Count p) {
  return t.indices[static_cast<std::size_t>(mode)][p];
}

/// Coordinate of nonzero p of a along `a_modes` beside that of nonzero q of b along `b_modes`.
std::strong_ordering compare(const Coo& a, const Modes& a_modes, Count p, const Coo& b,
                             const Modes& b_modes, Count q) {
  for (std::size_t k = 0; k < a_modes.size(); ++k)
    if (const auto order = index_of(a, a_modes[k], p) <=> index_of(b, b_modes[k], q); order != 0)
      return order;
  return std::strong_ordering::equal;
}

bool same(const Coo& t, const Modes& modes, Count p, Count q) {
  return compare(t, modes, p, t, modes, q) == 0;
}

std::vector<Count> sorted_by(const Coo& t, const Modes& modes) {
  if (!modes.empty()) return sort_permutation(t, modes);
  std::vector<Count> order(t.nnz());
  std::iota(order.begin(), order.end(), Count{0});
  return order;
}

/// Different coordinates along some modes: the rank of each nonzero's, and a nonzero of each.
struct Ranks {
  Ranks(const Coo& t, const Modes& modes) : of(t.nnz()) {
    for (const Count p : sorted_by(t, modes)) {
      if (example.empty() || !same(t, modes, example.back(), p)) example.push_back(p);
      of[p] = static_cast<std::uint32_t>(example.size() - 1);
    }
  }
  std::vector<std::uint32_t> of;
  std::vector<Count> example;
};

/// Of each of x's contracted coordinates y's rank, kNone where y lacks it.
std::vector<std::uint32_t> partners(const Contraction& modes, const Coo& x, const Ranks& of_x,
                                    const Coo& y, const Ranks& of_y) {
  std::vector<std::uint32_t> partner(of_x.example.size(), kNone);
  std::size_t q = 0;
  for (std::size_t p = 0; p < partner.size(); ++p) {
    const auto order = [&] {
      return compare(y, modes.contracted_y, of_y.example[q], x, modes.contracted_x,
                     of_x.example[p]);
    };
    while (q < of_y.example.size() && order() < 0) ++q;
    if (q < of_y.example.size() && order() == 0) partner[p] = static_cast<std::uint32_t>(q);
  }
  return partner;
}

Modes joined(Modes first, const Modes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<std::vector<Index>> coordinates(const Coo& t, const Modes& modes,
                                            const std::vector<Count>& nonzeros) {
  std::vector<std::vector<Index>> list;
  for (const int mode : modes) {
    auto& index = list.emplace_back();
    for (const Count p : nonzeros) index.push_back(index_of(t, mode, p));
  }
  return list;
}

/// Calls f(a nonzero, the sum of the values) for each different coordinate in the order of `modes`.
template <class F>
void for_each_sum(const Coo& t, const Modes& modes, const F& f) {
  const auto order = sorted_by(t, modes);
  for (std::size_t i = 0; i < order.size();) {
    const Count p = order[i];
    double sum = 0;
    for (; i < order.size() && same(t, modes, p, order[i]); ++i) sum += t.values.at(order[i]);
    f(p, static_cast<float>(sum));
  }
}

/// Compressed rows over `columns` columns.
void check_matrix(const char* name, const std::vector<std::uint32_t>& start,
                  const std::vector<std::uint32_t>& column, const std::vector<float>& values,
                  Count columns) {
  const auto refuse = [name](const char* what) { throw input_error("matrix {}: {}", name, what); };
  if (start.empty() || start.front() != 0 || start.back() != column.size() ||
      column.size() != values.size())
    refuse("numbers of starts, columns and values disagree");
  for (std::size_t row = 0; row + 1 < start.size(); ++row) {
    if (start[row] >= start[row + 1]) refuse("a row is empty");
    if (start[row + 1] > column.size()) refuse("a row ends after the last column");
    for (auto x = start[row]; x < start[row + 1]; ++x)
      if (column[x] >= columns || (x > start[row] && column[x] <= column[x - 1]))
        refuse("a column is out of range or does not ascend");
  }
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
    refuse("a value is not finite");
}

}  // namespace

void Matricised::check() const {
  check_matrix("x", row_start, x_group, x_values, groups());
  check_matrix("y", group_start, y_column, y_values, columns);
  for (const auto& index : row_index)
    if (index.size() != rows()) throw input_error("matrix x: coordinates and rows disagree");
  for (const auto& index : column_index)
    if (index.size() != columns) throw input_error("matrix y: coordinates and columns disagree");
  Count pairs = 0;
  for (const auto group : x_group) pairs += group_start[group + 1] - group_start[group];
  if (pairs != products) throw input_error("found {} products, {} are stated", pairs, products);
}

Matricised::Matricised(const Contraction& modes, const Coo& x, const Coo& y) {
  for (const Count nnz : {x.nnz(), y.nnz()})
    if (nnz >= kNone) throw input_error("found {} nonzeros, expected fewer than 2^32 - 1", nnz);
  const Ranks groups(y, modes.contracted_y), free_y(y, modes.free_y), of_x(x, modes.contracted_x);
  const auto partner = partners(modes, x, of_x, y, groups);
  columns = free_y.example.size();
  column_index = coordinates(y, modes.free_y, free_y.example);

  group_start.assign(groups.example.size() + 1, 0);
  for_each_sum(y, joined(modes.contracted_y, modes.free_y), [&](Count p, float value) {
    y_column.push_back(free_y.of[p]);
    y_values.push_back(value);
    group_start[groups.of[p] + 1] = static_cast<std::uint32_t>(y_column.size());
  });

  std::vector<Count> row_example;
  for_each_sum(x, joined(modes.free_x, modes.contracted_x), [&](Count p, float value) {
    const std::uint32_t group = partner[of_x.of[p]];
    if (group == kNone) return;
    if (row_example.empty() || !same(x, modes.free_x, row_example.back(), p)) {
      row_example.push_back(p);
      row_start.push_back(0);
    }
    x_group.push_back(group);
    x_values.push_back(value);
    row_start.back() = static_cast<std::uint32_t>(x_group.size());
    products += group_start[group + 1] - group_start[group];
  });
  row_index = coordinates(x, modes.free_x, row_example);
}

}  // namespace retensor::bcb_sptc
