// The parts of an expected result; sums, keys, weights and bounds that building and checking share.
#include "common/reference/data.hpp"

#include <algorithm>
#include <cmath>

#include "common/numeric/rounding.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::reference {

Expected::Expected(Data data) : data_(std::make_shared<const Data>(std::move(data))) {}

bool Expected::sampled() const {
  return data_->sampled;
}

Count Expected::bytes() const {
  const Fibers& f = data_->fibers;
  return f.keys.size() * (sizeof(Key) + sizeof(Count)) + 2 * f.values.size() * sizeof(double) +
         data_->sample.rows.size() * sizeof(Key) +
         data_->sample.buckets.size() * sizeof(WeightedSum) + data_->cpd.x.bytes();
}

void WeightedSum::add(const WeightedSum& other, double weight) {
  value += weight * other.value;
  l1 += std::abs(weight) * other.l1;
  l1_terms += std::abs(weight) * other.l1_terms;
  terms += other.terms;
}

RowColumn::RowColumn(const Layout& layout)
    : full_(layout.sparse_dims, natural_order(static_cast<int>(layout.sparse_dims.size()))),
      row_(layout.sparse_dims, layout.row_modes),
      column_(layout.sparse_dims, layout.column_modes) {}

std::vector<double> Weights::elements(const Dims& block_dims) const {
  std::vector<double> product{1.0};
  for (std::size_t m = 0; m < block_dims.size(); ++m) {
    std::vector<double> longer;
    longer.reserve(product.size() * block_dims[m]);
    for (const double p : product)
      for (std::uint64_t i = 0; i < block_dims[m]; ++i) longer.push_back(p * digit(m, i));
    product = std::move(longer);
  }
  return product;
}

Buckets sum_of(const std::vector<Buckets>& parts) {
  Buckets sum(Weights::kBuckets);
  for (const Buckets& part : parts)
    for (std::size_t b = 0; b < sum.size(); ++b) sum[b].add(part[b], 1.0);
  return sum;
}

Doubles as_doubles(const Values& values) {
  Doubles all(values.size());
  values.visit([&all](const auto& v) {
#pragma omp parallel for schedule(static)
    for (Count i = 0; i < all.size(); ++i) all[i] = static_cast<double>(v[i]);
  });
  return all;
}

Doubles as_doubles(const Matrix& matrix) {
  Doubles packed(matrix.rows() * matrix.cols());
  dispatch(matrix.dtype(), [&]<class T>() {
    const auto view = matrix.view<T>();
#pragma omp parallel for schedule(static)
    for (std::uint64_t i = 0; i < view.rows; ++i)
      std::copy_n(view.row(i), view.cols, packed.data() + i * view.cols);
  });
  return packed;
}

double largest_magnitude(std::span<const double> values) {
  double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (Count i = 0; i < values.size(); ++i) largest = std::max(largest, std::abs(values[i]));
  return largest;
}

Bound::Bound(const Precision& precision, const Layout& layout) {
  // (1 + eps)^roundings - 1: for fp16 and bf16 the second order is no longer below the slack.
  const double operands =
      std::expm1(static_cast<double>(precision.roundings) * std::log1p(precision.operand_eps));
  per_term_ = (1 + operands) * (precision.accumulate_eps + kUnitRoundoffF64);
  relative_ = operands + layout.slack * per_term_;
  // A product may also fall below the accumulator's smallest subnormal before it meets a large
  // operand, hence the factor that is at least 1.
  const double smallest = precision.accumulate_eps < 0x1p-40 ? 0x1p-1074 : 0x1p-149;
  floor_ = precision.roundings * precision.underflow * layout.cofactor +
           layout.slack * smallest * std::max(1.0, layout.cofactor);
}

Precision Precision::of(DType type) {
  return {.accumulate_eps = type == DType::f32 ? kUnitRoundoffF32 : kUnitRoundoffF64};
}

}  // namespace retensor::reference
