#include "papers/bcb_sptc/format/operands.hpp"

#include <algorithm>
#include <vector>

#include "common/tensor/operations.hpp"

namespace retensor::bcb_sptc {
namespace {

std::size_t at(int k) {
  return static_cast<std::size_t>(k);
}

std::vector<int> joined(std::vector<int> first, const std::vector<int>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// One operand: `leading` modes in front of `trailing`, edges alike but for the limit.
Options options_of(const std::vector<int>& leading, const std::vector<int>& trailing,
                   const Blocking& blocking) {
  Options options;
  options.modes = joined(leading, trailing);
  options.leading = static_cast<int>(leading.size());
  options.values = blocking.values;
  options.edge_bits.assign(options.modes.size(), blocking.edge_bits);
  shrink(options.edge_bits, natural_order(static_cast<int>(options.modes.size())),
         blocking.block_bits);
  return options;
}

/// Halves the edges of free modes until a result block has at most 2^kResultBits cells.
void limit_result(const Contraction& modes, Options& x, Options& y) {
  std::vector<int> edges;
  for (const int m : modes.free_x) edges.push_back(x.edge_bits[at(m)]);
  for (const int m : modes.free_y) edges.push_back(y.edge_bits[at(m)]);
  shrink(edges, natural_order(static_cast<int>(edges.size())), kResultBits);
  auto edge = edges.begin();
  for (const int m : modes.free_x) x.edge_bits[at(m)] = *edge++;
  for (const int m : modes.free_y) y.edge_bits[at(m)] = *edge++;
}

}  // namespace

OperandOptions::OperandOptions(const Contraction& modes, const Blocking& blocking)
    : x(options_of(modes.free_x, modes.contracted_x, blocking)),
      y(options_of(modes.contracted_y, modes.free_y, blocking)) {
  for (std::size_t c = 0; c < modes.contracted_x.size(); ++c) {
    int& in_x = x.edge_bits[at(modes.contracted_x[c])];
    int& in_y = y.edge_bits[at(modes.contracted_y[c])];
    in_x = in_y = std::min(in_x, in_y);
  }
  limit_result(modes, x, y);
}

Operands::Operands(const Contraction& contraction, const Blocking& blocking, const Coo& x_tensor,
                   const Coo& y_tensor)
    : modes(contraction),
      result_dims(contraction.result_dims(x_tensor.dims, y_tensor.dims)),
      x(to_bcb(x_tensor, OperandOptions(contraction, blocking).x)),
      y(to_bcb(y_tensor, OperandOptions(contraction, blocking).y)) {}

}  // namespace retensor::bcb_sptc
