// See records_device.cuh.
#include "papers/flycoo/format/records_device.cuh"

#include <string>
#include <utility>

#include "common/core/rng.hpp"
#include "papers/flycoo/format/coo_device.cuh"

namespace retensor::flycoo {
namespace {

// A number that any change of a word, or of the order of words, alters but for one case in 2^64.
unsigned long long fingerprint(const RecordBuffer& records) {
  device::Buffer<unsigned long long> sum(1);
  sum.zero(nullptr);
  const std::uint32_t* const words = records.data();
  add_each(
      records.size(),
      [=] __device__(Count i) -> unsigned long long { return CounterRng(words[i]).bits(i); },
      sum.data());
  return sum.to_host().front();
}

}  // namespace

RecordBuffer zero_records(Count words) {
  RecordBuffer records(words + 4);
  records.zero(nullptr);
  return records;
}

RecordBuffer upload_records(std::span<const std::uint32_t> records) {
  auto copy = zero_records(records.size());
  copy.upload(records);
  return copy;
}

RunRecords::RunRecords(std::vector<RecordBuffer> copies, int order)
    : copies_(std::move(copies)), order_(order) {
  if (copies_.size() > 1) return;
  out_ = RecordBuffer(copies_.front().size());
  out_.zero(nullptr);
  start_ = fingerprint(copies_.front());
}

const std::uint32_t* RunRecords::in(int mode) const {
  if (mode != next_)
    throw LogicError("a pass over mode " + std::to_string(mode) + ", but the tensor is in mode " +
                     std::to_string(next_) + "'s order");
  return copies_[remapped() ? 0 : static_cast<std::size_t>(mode)].data();
}

void RunRecords::end_pass() {
  if (remapped()) std::swap(copies_.front(), out_);
  next_ = (next_ + 1) % order_;
}

void RunRecords::check_back() const {
  if (remapped() && fingerprint(copies_.front()) != start_)
    throw LogicError("after the last mode the tensor is not in mode 0's order again");
}

}  // namespace retensor::flycoo
