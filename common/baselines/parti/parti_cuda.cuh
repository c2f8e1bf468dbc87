// ParTI's MTTKRP on coordinates: thread blocks of 16 x 16, y picks the nonzero, x the columns of
// the factors (more than 16 columns in a loop). Every thread of a row reads the same indices and
// value, multiplies one element of each factor row and adds the product to the output in global
// memory by one atomic.
//
// ParTI has this kernel for third order and a much slower one for any order, which keeps partial
// products in global memory; here one kernel serves all orders, so that the competitor is not
// weaker than the original.
#pragma once

#include "common/run/cuda_run.cuh"

namespace retensor::parti {

inline constexpr unsigned kEdge = 16;  // of a thread block

// Thread blocks of one MTTKRP launch, over which the kernel strides. Consecutive nonzeros of sorted
// input share output rows; blocks that have drifted apart by whole strides collide less than a grid
// with a thread row for every nonzero. This number comes nearest to the original's times; README.md
// has the table.
inline constexpr Count kMttkrpGrid = 7u << 12;

/// Nonzeros on the device with the factors of the modes that are gathered. Rows of `factor` and
/// `out` are `stride` elements apart, a multiple of 16 bytes, padded with zeros.
template <class T>
struct DeviceMttkrp {
  const Index* row = nullptr;
  const Index* other[kMaxOther] = {};
  const T* factor[kMaxOther] = {};
  const T* value = nullptr;
  T* out = nullptr;
  Count nnz = 0;
  unsigned rank = 0, stride = 0;
  int others = 0;
};

/// kOthers gathered modes are unrolled; 0 reads their number at run time.
template <class T, int kOthers>
__global__ void mttkrp(DeviceMttkrp<T> x) {
  constexpr int kModes = kOthers > 0 ? kOthers : kMaxOther;
  const int others = kOthers > 0 ? kOthers : x.others;
  const Count step = static_cast<Count>(gridDim.x) * blockDim.y;
  for (Count p = blockIdx.x * static_cast<Count>(blockDim.y) + threadIdx.y; p < x.nnz; p += step) {
    const T value = x.value[p];
    const T* from[kModes];
#pragma unroll
    for (int k = 0; k < kModes; ++k)
      if (k < others) from[k] = x.factor[k] + static_cast<Count>(x.other[k][p]) * x.stride;
    T* const to = x.out + static_cast<Count>(x.row[p]) * x.stride;
    for (unsigned r = threadIdx.x; r < x.rank; r += blockDim.x) {
      T product = value;
#pragma unroll
      for (int k = 0; k < kModes; ++k)
        if (k < others) product *= from[k][r];
      atomicAdd(to + r, product);
    }
  }
}

template <class T>
class CooMttkrpRun : public CudaMttkrpRun<T> {
 public:
  CooMttkrpRun(const Problem& problem, std::string kernel)
      : CudaMttkrpRun<T>(problem, std::move(kernel)), value_(problem.x().values.template as<T>()) {
    for (const auto& index : problem.x().indices) {
      indices_.emplace_back(index);
      this->count_bytes(indices_.back());
    }
    this->count_bytes(value_);
    for (const std::size_t m : this->gathered()) {
      d_.factor[d_.others] = this->factors_[static_cast<std::size_t>(d_.others)].data();
      d_.other[d_.others++] = indices_[m].data();
    }
    d_.row = indices_[static_cast<std::size_t>(problem.mode())].data();
    d_.value = value_.data(), d_.out = this->out_.data();
    d_.nnz = problem.x().nnz();
    d_.rank = static_cast<unsigned>(problem.rank()), d_.stride = this->stride_;
  }

 private:
  void launch(cudaStream_t stream) override {
    const dim3 block(kEdge, kEdge);
    const unsigned grid = device::blocks_for(d_.nnz, block.y, kMttkrpGrid);
    with_others(d_.others, [&]<int kOthers>() {
      RETENSOR_CUDA_LAUNCH((mttkrp<T, kOthers>), grid, block, 0, stream, d_);
    });
  }

  std::vector<device::Buffer<Index>> indices_;
  device::Buffer<T> value_;
  DeviceMttkrp<T> d_;
};

}  // namespace retensor::parti
