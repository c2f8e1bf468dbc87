// The tensor and its copies in the course of the passes; the algorithm stands in flycoo_cpu.hpp.
#include "papers/flycoo/kernels/flycoo_cpu.hpp"

#include <fmt/format.h>

#include "common/core/error.hpp"

namespace retensor::flycoo {

RunTensor::RunTensor(Flycoo tensor, bool remaps) : tensor_(std::move(tensor)), remaps_(remaps) {
  const int copies = remaps_ ? 1 : tensor_.order() - 1;
  for (int c = 0; c < copies; ++c) copies_.emplace_back(tensor_.records.size());
  if (remaps_) {
    out_ = &copies_.front();
    return;
  }
  const Records* previous = &tensor_.records;
  for (int mode = 0; mode < copies; ++mode) {
    Records& next = copies_[static_cast<std::size_t>(mode)];
    remap(tensor_, mode, *previous, next);
    previous = &next;
  }
}

TensorPass RunTensor::pass(int mode) {
  if (mode != next_)
    throw LogicError(
        fmt::format("a pass over mode {}, but the tensor is in mode {}'s order", mode, next_));
  const auto m = static_cast<std::size_t>(mode);
  TensorPass pass{.layout = tensor_.layout,
                  .mode = mode,
                  .next = tensor_.next_mode(mode),
                  .start = tensor_.modes[m].start,
                  .in = in_->data()};
  if (remaps_) {
    pass.stream = tensor_.stream(mode);
    pass.out = out_->data();
  } else if (mode > 0) {
    pass.in = copies_[m - 1].data();
  }
  return pass;
}

void RunTensor::swap() {
  if (remaps_) std::swap(in_, out_);
  next_ = tensor_.next_mode(next_);
}

Count RunTensor::bytes() const {
  return tensor_.bytes() + copies_.size() * tensor_.copy_bytes();
}

}  // namespace retensor::flycoo
