// The factors of all modes as lanes gather eight columns of them. Included by .cu files alone.
#pragma once

#include <algorithm>
#include <vector>

#include "papers/flycoo/kernels/run_cuda.cuh"

namespace retensor::flycoo::tuned {

/// Narrower ones are made anew from those in single precision, and whole ones copied where their
/// rows are no whole vectors of eight.
template <GatheredByEight G>
class GatheredRows<G> {
 public:
  GatheredRows(const std::vector<Buffer<float>>& factors, const Dims& dims, unsigned stride)
      : rows_(dims.size()), largest_(kScaled<G> ? dims.size() : 0) {
    constexpr unsigned kWidth = device::Vec<G>::kWidth;
    all_.from_stride = stride, all_.to_stride = (stride + kWidth - 1) / kWidth * kWidth;
    as_they_are_ = !Narrow<G> && all_.from_stride == all_.to_stride;
    if constexpr (kScaled<G>) all_.largest = largest_.data();
    for (std::size_t m = 0; m < dims.size(); ++m) {
      if (!as_they_are_) rows_[m] = Buffer<G>(dims[m] * all_.to_stride);
      all_.from[m] = factors[m].data(), all_.to[m] = rows_[m].data(), all_.rows[m] = dims[m];
    }
    const Count most = *std::max_element(dims.begin(), dims.end()) * (all_.to_stride / kWidth);
    const Count at_once = 8 * static_cast<Count>(device::facts().sms);
    grid_ = dim3(static_cast<unsigned>(std::clamp<Count>(most / kConvertThreads, 1, at_once)),
                 static_cast<unsigned>(dims.size()));
  }
  const G* rows(std::size_t mode) const {
    if (as_they_are_) return reinterpret_cast<const G*>(all_.from[mode]);
    return all_.to[mode];
  }
  const std::uint32_t* largest(std::size_t mode) const { return largest_.data() + mode; }
  unsigned stride() const { return all_.to_stride; }
  Count bytes() const { return bytes_of(rows_) + largest_.bytes(); }

  void make(StageTimer& timer) {
    if (as_they_are_) return;
    const auto stream = stream_of(timer);
    timer.stage("convert");
    if constexpr (kScaled<G>) {
      largest_.zero(stream);
      RETENSOR_CUDA_LAUNCH(find_largest<G>, grid_, kConvertThreads, 0, stream, all_);
    }
    RETENSOR_CUDA_LAUNCH(convert_rows<G>, grid_, kConvertThreads, 0, stream, all_);
  }

 private:
  std::vector<Buffer<G>> rows_;
  Buffer<std::uint32_t> largest_;
  Conversion<G> all_;
  bool as_they_are_ = false;
  dim3 grid_;
};

}  // namespace retensor::flycoo::tuned
