// The run of flycoo.cuda.narrow: the tuned kernels on copies, with factor rows in 16 bits.
#include <algorithm>
#include <memory>
#include <vector>

#include "papers/flycoo/kernels/tuned_run.cuh"

namespace retensor::flycoo {
namespace tuned {

/// Narrower ones are made anew from those in single precision.
template <Narrow G>
class GatheredRows<G> {
 public:
  GatheredRows(const std::vector<Buffer<float>>& factors, const Dims& dims, unsigned stride)
      : rows_(dims.size()), largest_(kScaled<G> ? dims.size() : 0) {
    constexpr unsigned kWidth = device::Vec<G>::kWidth;
    all_.from_stride = stride, all_.to_stride = (stride + kWidth - 1) / kWidth * kWidth;
    if constexpr (kScaled<G>) all_.largest = largest_.data();
    for (std::size_t m = 0; m < dims.size(); ++m) {
      rows_[m] = Buffer<G>(dims[m] * all_.to_stride);
      all_.from[m] = factors[m].data(), all_.to[m] = rows_[m].data(), all_.rows[m] = dims[m];
    }
    const Count most = *std::max_element(dims.begin(), dims.end()) * (stride / 4);
    const Count at_once = 16 * static_cast<Count>(device::facts().sms);
    grid_ = dim3(static_cast<unsigned>(
                     std::clamp<Count>(most / kNarrowThreads, 1, at_once)),
                 static_cast<unsigned>(dims.size()));
  }
  const Buffer<G>& operator[](std::size_t mode) const { return rows_[mode]; }
  const std::uint32_t* largest(std::size_t mode) const { return largest_.data() + mode; }
  unsigned stride() const { return all_.to_stride; }
  Count bytes() const { return bytes_of(rows_) + largest_.bytes(); }

  void make(cudaStream_t stream) {
    if constexpr (kScaled<G>) {
      largest_.zero(stream);
      RETENSOR_CUDA_LAUNCH(find_largest<G>, grid_, kNarrowThreads, 0, stream, all_);
    }
    RETENSOR_CUDA_LAUNCH(narrow_rows<G>, grid_, kNarrowThreads, 0, stream, all_);
  }

 private:
  std::vector<Buffer<G>> rows_;
  Buffer<std::uint32_t> largest_;
  Narrowing<G> all_;
  dim3 grid_;
};

}  // namespace tuned

std::unique_ptr<Prepared> prepare_narrow_cuda(const Problem& problem, const Params& params) {
  tuned::InTiles made(problem, params, tuned::Variant::narrow);
  if (params.word("gather") == "f16")
    return std::make_unique<tuned::TunedRun<float, __half>>(problem, std::move(made));
  return std::make_unique<tuned::TunedRun<float, __nv_bfloat16>>(problem, std::move(made));
}

}  // namespace retensor::flycoo
