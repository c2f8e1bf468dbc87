// BCB and the matrices of a contraction keep the contract of all formats.
#include <doctest/doctest.h>

#include "papers/bcb_sptc/format/bcb.hpp"
#include "papers/bcb_sptc/format/matricised.hpp"
#include "papers/bcb_sptc/format/operands.hpp"
#include "tests/contract/format_battery.hpp"

namespace retensor::contract {

void arrays(bcb_sptc::Bcb& b, Arrays& each) {
  each(b.block_index, b.bitmap, b.value_start, b.values);
}

namespace {

/// The identity over a mode of some length.
Coo identity(std::uint64_t length) {
  Coo one({length, length}, DType::f32, length);
  for (Index i = 0; i < length; ++i) {
    one.indices[0][i] = one.indices[1][i] = i;
    one.values.set(i, 1);
  }
  return one;
}

/// The contraction of a tensor's last mode with a matrix.
Contraction last_mode(const Dims& dims) {
  const auto free = std::string("abcdefg").substr(0, dims.size() - 1);
  return {free + "k,kz->" + free + "z", dims, {dims.back(), dims.back()}};
}

/// A tensor as the product of two matrices: its last mode times the identity.
struct Product {
  explicit Product(const Coo& x)
      : dims(x.dims), matrices(last_mode(x.dims), x, identity(x.dims.back())) {}

  Dims dims;
  bcb_sptc::Matricised matrices;

  Coo to_coo() const {
    const auto& m = matrices;
    Coo x(dims, DType::f32);
    Array<float> values;
    for (Count row = 0; row < m.rows(); ++row)
      for (auto a = m.row_start[row]; a < m.row_start[row + 1]; ++a)
        for (auto b = m.group_start[m.x_group[a]]; b < m.group_start[m.x_group[a] + 1]; ++b) {
          for (std::size_t k = 0; k < m.row_index.size(); ++k)
            x.indices[k].push_back(m.row_index[k][row]);
          x.indices.back().push_back(m.column_index[0][m.y_column[b]]);
          values.push_back(m.x_values[a] * m.y_values[b]);
        }
    x.values = std::move(values);
    return x;
  }
  void check() const {
    matrices.check();
    to_coo().check();
  }
};

/// The operands of the product above.
bcb_sptc::Operands operands(const Coo& x) {
  return {last_mode(x.dims), {}, x, identity(x.dims.back())};
}
/// A tensor as the second operand, which leads with its first mode.
bcb_sptc::Operands operands_behind(const Coo& x) {
  const auto free = std::string("abcdefg").substr(0, x.dims.size() - 1);
  const Dims matrix = {x.dims.front(), x.dims.front()};
  return {{"zk,k" + free + "->z" + free, matrix, x.dims}, {}, identity(x.dims.front()), x};
}

}  // namespace

void arrays(Product& p, Arrays& each) {
  auto& m = p.matrices;
  each(m.row_start, m.x_group, m.x_values, m.group_start, m.y_column, m.y_values);
  each(m.row_index, m.column_index);
}

}  // namespace retensor::contract

TEST_CASE("BCB and matrices keep the contract of formats") {
  using namespace retensor;
  using namespace retensor::contract;
  using namespace retensor::bcb_sptc;
  const Options bcb, narrow{.leading = 1, .values = ValueType::f16};
  const FormatTraits single{.doubles = false, .sums = true};
  check_formats({
      format("BCB", single, [=](const Coo& x) { return to_bcb(x, bcb); }),
      format("BCB in halves", single, [=](const Coo& x) { return to_bcb(x, narrow); }),
      format("BCB, first operand", single, [](const Coo& x) { return operands(x).x; }),
      format("BCB, second operand", single, [](const Coo& x) { return operands_behind(x).y; }),
      format("matrices", single, [](const Coo& x) { return Product(x); }),
  });
}
