// Ownership of an expected result's parts.
#include "common/reference/expected.hpp"

#include "common/reference/data.hpp"

namespace retensor::reference {

Expected::Expected() : data_(std::make_unique<Data>()) {}
Expected::Expected(Data data) : data_(std::make_unique<Data>(std::move(data))) {}
Expected::~Expected() = default;
Expected::Expected(Expected&&) noexcept = default;
Expected& Expected::operator=(Expected&&) noexcept = default;

bool Expected::sampled() const {
  return data_->sampled;
}

Count Expected::bytes() const {
  const Fibers& f = data_->fibers;
  return f.keys.size() * (sizeof(Key) + sizeof(Count)) + 2 * f.values.size() * sizeof(double) +
         data_->sample.rows.size() * sizeof(Key) +
         data_->sample.buckets.size() * sizeof(WeightedSum) + data_->cpd.x.bytes();
}

}  // namespace retensor::reference
