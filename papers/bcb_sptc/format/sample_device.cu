#include "papers/bcb_sptc/format/sample_device.cuh"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace retensor::bcb_sptc {
namespace {

/// Whether a nonzero's contracted block is in the sample.
struct InSample {
  int modes = 0;
  const Index* index[kMaxOrder] = {};
  int edge_bits[kMaxOrder] = {};
  std::uint64_t mask = 0;

  __host__ __device__ bool operator()(std::uint32_t p) const {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;  // 2^64 over the golden ratio
    std::uint64_t hash = 0;
    for (int k = 0; k < modes; ++k) {
      hash = (hash + (index[k][p] >> edge_bits[k]) + 1) * kOdd;
      hash ^= hash >> 32;
    }
    return (hash & mask) == 0;
  }
};

/// The nonzeros of a tensor that are in the sample.
class SampledCoo {
 public:
  SampledCoo(const CooView& tensor, const InSample& sample) : view_{tensor.dims, 0, {}, nullptr} {
    Buffer<std::uint32_t> kept(tensor.nnz);
    Buffer<Count> found;
    Cub().select(tensor.nnz, sample, kept, found, nullptr);
    view_.nnz = tensor.nnz == 0 ? 0 : element_at(found, 0);
    for (const Index* const from : tensor.indices) {
      indices_.push_back(taken(kept, from));
      view_.indices.push_back(indices_.back().data());
    }
    values_ = taken(kept, tensor.values);
    view_.values = values_.data();
  }
  const CooView& view() const { return view_; }

 private:
  template <class T>
  Buffer<T> taken(const Buffer<std::uint32_t>& kept, const T* from) const {
    Buffer<T> to(view_.nnz);
    if (view_.nnz > 0)
      RETENSOR_CUDA_LAUNCH(kernels::gather<T>, grid_for(view_.nnz), kThreads, 0, nullptr, view_.nnz,
                           kept.data(), from, to.data());
    return to;
  }

  CooView view_;
  std::vector<Buffer<Index>> indices_;
  Buffer<float> values_;
};

/// Bits of the hash that have to be zero.
int sample_bits(Count nonzeros, Count parts) {
  const auto halvings = [](Count of, Count least) {
    return of <= least ? 0 : static_cast<int>(std::bit_width(of / least)) - 1;
  };
  return std::min(halvings(nonzeros, kSampleNonzeros), halvings(parts, kSampleParts));
}

InSample sample_of(const CooView& tensor, const std::vector<int>& contracted,
                   const Options& options, Count nonzeros) {
  const Grid grid(tensor.dims, options);
  InSample sample;
  Count parts = 1;
  for (const int m : contracted) {
    const auto mode = static_cast<std::size_t>(m);
    const int bits = grid.edge_bits()[mode];
    sample.index[sample.modes] = tensor.indices[mode];
    sample.edge_bits[sample.modes++] = bits;
    parts = std::min<Count>(parts, nonzeros) * ((tensor.dims[mode] >> bits) + 1);
  }
  sample.mask = (std::uint64_t{1} << sample_bits(nonzeros, parts)) - 1;
  return sample;
}

/// Operands as SortedOperands has them, of tensors that lie on the device.
SortedOperands sorted(const CooView& x, const CooView& y, const OperandOptions& options) {
  const Coo no_x(x.dims, DType::f32), no_y(y.dims, DType::f32);
  SortedOperands made(DeviceCoos(no_x, no_y), options);
  made.x = SortedNonzeros(x, options.x), made.y = SortedNonzeros(y, options.y);
  return made;
}

}  // namespace

ContractionWork sampled_work(const DeviceCoos& tensors, const Contraction& modes,
                             const OperandOptions& blocks) {
  const CooView x = tensors.x(), y = tensors.y();
  const Count nonzeros = std::max(x.nnz, y.nnz);
  const SampledCoo some_x(x, sample_of(x, modes.contracted_x, blocks.x, nonzeros));
  const SampledCoo some_y(y, sample_of(y, modes.contracted_y, blocks.y, nonzeros));
  return {some_x.view().nnz + some_y.view().nnz,
          count_pairs(sorted(some_x.view(), some_y.view(), blocks)),
          count_pairs(sorted(some_x.view(), some_y.view(), cells_of(modes)))};
}

}  // namespace retensor::bcb_sptc
