// COO <-> F-COO; see format.hpp.
#include "common/baselines/f_coo/format.hpp"

#include <algorithm>

#include "common/core/message.hpp"
#include "common/tensor/operations.hpp"
#include "common/tensor/positions.hpp"

namespace retensor::f_coo {
namespace {

std::vector<int> product_modes(int order, int mode) {
  std::vector<int> modes = natural_order(order);
  modes.erase(modes.begin() + mode);
  return modes;
}

std::vector<Count> segment_starts(const Flags& start) {
  return positions_where(start.size(), [&](Count p) { return start[p]; });
}

/// The segment of nonzero p, by the positions where segments begin.
Index segment_of(const std::vector<Count>& starts, Count p) {
  return static_cast<Index>(std::upper_bound(starts.begin(), starts.end(), p) - starts.begin() - 1);
}

void set_parts(FCoo& f, const std::vector<Count>& starts) {
  const Count parts = (f.nnz() + f.part_length - 1) / f.part_length;
  f.part_start = Flags(parts + 1);
  f.part_start.set(parts);
  f.part_segment.resize(parts);
  for (Count c = 0; c < parts; ++c) {
    const Count first = c * f.part_length;
    if (f.start[first]) f.part_start.set(c);
    f.part_segment[c] = segment_of(starts, first);
  }
}

void check_lengths(const FCoo& f) {
  if (f.order() < 2 || f.mode < 0 || f.mode >= f.order() || f.part_length == 0 ||
      f.others.size() + 1 != f.dims.size())
    throw input_error("F-COO: order, output mode and product modes disagree");
  for (const auto& index : f.others)
    if (index.size() != f.nnz()) throw input_error("F-COO: numbers of indices and values disagree");
  if (f.start.size() != f.nnz() || f.part_start.size() != f.parts() + 1 ||
      f.parts() != (f.nnz() + f.part_length - 1) / f.part_length)
    throw input_error("F-COO: flags or parts are not as many as the nonzeros make");
}

void check_segments(const FCoo& f, const std::vector<Count>& starts) {
  if (f.nnz() > 0 && !f.start[0]) throw input_error("F-COO: the first nonzero begins no segment");
  if (starts.size() != f.row.size())
    throw input_error("F-COO: found rows of {} segments, flags begin {}", f.row.size(),
                      starts.size());
  for (Count s = 1; s < f.row.size(); ++s)
    if (f.row[s - 1] >= f.row[s]) throw input_error("F-COO: row of segment {} does not ascend", s);
}

void check_parts(const FCoo& f, const std::vector<Count>& starts) {
  for (Count c = 0; c < f.parts(); ++c) {
    const Count first = c * f.part_length;
    if (f.part_start[c] != f.start[first])
      throw input_error("F-COO: flag of part {} is not its first nonzero's", c);
    if (f.part_segment[c] != segment_of(starts, first))
      throw input_error("F-COO: part {} begins in segment {}, not in {}", c,
                        segment_of(starts, first), f.part_segment[c]);
  }
  if (!f.part_start[f.parts()]) throw input_error("F-COO: the last part's segment has no end");
}

}  // namespace

FCoo to_f_coo(const Coo& tensor, int mode, Count part_length) {
  if (tensor.order() < 2)
    throw input_error("F-COO: found order {}, expected at least 2", tensor.order());
  if (mode < 0 || mode >= tensor.order())
    throw input_error("F-COO: {} is not a mode of order {}", mode + 1, tensor.order());
  if (part_length == 0) throw input_error("F-COO: found parts of 0 nonzeros, expected at least 1");
  FCoo f;
  f.dims = tensor.dims, f.mode = mode, f.part_length = part_length;
  const std::vector<int> products = product_modes(f.order(), mode);
  std::vector<int> modes = products;
  modes.insert(modes.begin(), mode);
  const std::vector<Count> permutation = sort_permutation(tensor, modes);
  const auto from = [&](Count p) { return permutation[p]; };
  for (const int m : products) {
    f.others.emplace_back(tensor.nnz());
    gather(tensor.indices[static_cast<std::size_t>(m)], f.others.back(), from);
  }
  f.values = values_at(tensor.values, tensor.nnz(), from);

  const auto& output = tensor.indices[static_cast<std::size_t>(mode)];
  const std::vector<Count> starts = positions_where(tensor.nnz(), [&](Count p) {
    return p == 0 || output[permutation[p]] != output[permutation[p - 1]];
  });
  f.start = Flags(tensor.nnz());
  for (const Count p : starts) f.start.set(p);
  f.row.resize(starts.size());
  gather(output, f.row, [&](Count s) { return permutation[starts[s]]; });
  set_parts(f, starts);
  return f;
}

Count FCoo::bytes() const {
  Count total = values.bytes() + (part_segment.size() + row.size()) * sizeof(Index);
  for (const auto& index : others) total += index.size() * sizeof(Index);
  return total + (start.num_blocks() + part_start.num_blocks()) * sizeof(std::uint32_t);
}

Coo FCoo::to_coo() const {
  Coo x(dims, values.dtype(), nnz());
  x.values = values;
  const std::vector<int> products = product_modes(order(), mode);
  for (std::size_t k = 0; k < products.size(); ++k)
    x.indices[static_cast<std::size_t>(products[k])] = others[k];
  const std::vector<Count> starts = segment_starts(start);
  gather(row, x.indices[static_cast<std::size_t>(mode)],
         [&](Count p) { return segment_of(starts, p); });
  return x;
}

void FCoo::check() const {
  check_lengths(*this);
  const std::vector<Count> starts = segment_starts(start);
  check_segments(*this, starts);
  check_parts(*this, starts);
  to_coo().check();
}

}  // namespace retensor::f_coo
