// pasta.cuda.sliced: TTV and TTM of fibers as sliced ELLPACK (format/sliced.hpp), with the factor
// in shared memory.
//
// A thread block keeps 1 to 32 columns of the factor. A warp takes a slice: kLanes lanes a piece of
// a fiber, each with kVectors times four columns (TTV: a lane a piece, one column). Records of a
// slice lie side by side, so that no lane passes anything on to another, and pieces of a slice are
// as long, so that none looks for where a fiber ends.
//
// Bytes: 6 a nonzero, 4 a column and fiber. Of shared memory a TTM reads 4 R for each nonzero and R
// columns, at 128 bytes a cycle and multiprocessor. Each lane of a piece reads the piece's records
// too, so that few lanes with many columns read less.
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "common/core/types.hpp"
#include "common/device/shared.cuh"
#include "common/run/cuda_run.cuh"
#include "papers/pasta/format/sliced.hpp"
#include "papers/pasta/kernels/prepare_cuda.hpp"
#include "papers/pasta/kernels/tuned_cuda.cuh"

namespace retensor::pasta::sliced {

/// Threads of a block, and lanes that share a slice.
inline constexpr unsigned kSliceThreads = 512, kSliceLanes = 32;
/// Bytes that shared memory gives a warp at a time.
inline constexpr unsigned kBankBytes = 128;

struct Slices {
  const Index *start, *row;
  const uint2* indices;  ///< four of 16 bits a record
  const float4* values;
  unsigned slices;
};
/// Number `at`; zeros from `end` on.
struct Record {
  uint2 indices{};
  float4 values{};

  __device__ Record() {}
  __device__ Record(const Slices& x, Index at, Index end) {
    if (at < end) indices = __ldcs(x.indices + at), values = __ldcs(x.values + at);
  }
};
/// Rows of both are `stride` elements apart.
struct Product {
  const float* factor;
  float* out;
  unsigned rows, stride;
};

__device__ inline void add_product(float& sum, float a, float b) {
  sum = fmaf(a, b, sum);
}
__device__ inline void add_product(float4& sum, float a, const float4& b) {
  sum.x = fmaf(a, b.x, sum.x), sum.y = fmaf(a, b.y, sum.y);
  sum.z = fmaf(a, b.z, sum.z), sum.w = fmaf(a, b.w, sum.w);
}
__device__ inline void add_to(float* to, float sum) {
  atomicAdd(to, sum);
}
__device__ inline void add_to(float4* to, const float4& sum) {
  float* const first = &to->x;
  atomicAdd(first, sum.x), atomicAdd(first + 1, sum.y);
  atomicAdd(first + 2, sum.z), atomicAdd(first + 3, sum.w);
}

/// kLanes lanes with kVectors Vectors each take the columns from blockIdx.y on. kAhead records are
/// loaded before those at hand are used; two of them take the registers of two blocks.
///
/// Pieces begin with different vectors of their rows, since at a time shared memory gives a row of
/// kBankBytes, or of two neighbours rows of half as much (format/sliced.hpp).
template <class Vector, unsigned kVectors, unsigned kLanes, unsigned kAhead>
__global__ void __launch_bounds__(kSliceThreads, sizeof(Vector) * kVectors > 16 ? 2 : 4 / kAhead)
    multiply_slices(const __grid_constant__ Slices x, const __grid_constant__ Product p) {
  constexpr unsigned kPieces = kSliceLanes / kLanes, kWidth = sizeof(Vector) / sizeof(float);
  constexpr unsigned kOfRow = kVectors * kLanes, kRowBytes = kOfRow * sizeof(Vector);
  extern __shared__ __align__(16) unsigned char memory[];
  const unsigned first = blockIdx.y * kOfRow * kWidth;
  for (unsigned i = threadIdx.x; i < p.rows * kOfRow; i += kSliceThreads) {
    const unsigned column = first + i % kOfRow * kWidth;
    reinterpret_cast<Vector*>(memory)[i] =
        column < p.stride ? *reinterpret_cast<const Vector*>(
                                p.factor + static_cast<Count>(i / kOfRow) * p.stride + column)
                          : Vector{};
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % kLanes, piece = threadIdx.x % kSliceLanes / kLanes;
  const unsigned turn = kRowBytes == kBankBytes ? piece : piece / 2;
  unsigned place[kVectors];  // of each vector of the lane in a row
#pragma unroll
  for (unsigned v = 0; v < kVectors; ++v) place[v] = lane * kVectors + (v + turn) % kVectors;
  const unsigned warps = gridDim.x * (kSliceThreads / kSliceLanes);
  for (unsigned s = blockIdx.x * (kSliceThreads / kSliceLanes) + threadIdx.x / kSliceLanes;
       s < x.slices; s += warps) {
    const Index end = x.start[s + 1];
    Index at = x.start[s] + piece;
    Vector sum[kVectors] = {};
    const auto add = [&](unsigned index, float value) {
#pragma unroll
      for (unsigned v = 0; v < kVectors; ++v)
        add_product(sum[v], value,
                    *reinterpret_cast<const Vector*>(memory + index * kRowBytes +
                                                     place[v] * sizeof(Vector)));
    };
    Record next[kAhead];
#pragma unroll
    for (unsigned a = 0; a < kAhead; ++a) next[a] = Record(x, at + a * kPieces, end);
    while (at < end) {
      at += kAhead * kPieces;
#pragma unroll
      for (unsigned a = 0; a < kAhead; ++a) {
        const Record now = next[a];
        next[a] = Record(x, at + a * kPieces, end);
        add(now.indices.x & 0xffff, now.values.x), add(now.indices.x >> 16, now.values.y);
        add(now.indices.y & 0xffff, now.values.z), add(now.indices.y >> 16, now.values.w);
      }
    }
    const Index row = x.row[s * kPieces + piece];
    if (row == kNoRow) continue;
#pragma unroll
    for (unsigned v = 0; v < kVectors; ++v) {
      const unsigned column = first + place[v] * kWidth;
      if (column >= p.stride) continue;
      auto* const to = reinterpret_cast<Vector*>(
          p.out + static_cast<Count>(row & ~kSharedRow) * p.stride + column);
      if ((row & kSharedRow) != 0)
        add_to(to, sum[v]);
      else
        *to = sum[v];
    }
  }
}

}  // namespace retensor::pasta::sliced

namespace retensor::pasta {
namespace {

using device::Buffer;
using Kernel = void (*)(sliced::Slices, sliced::Product);

/// Vectors of a table's rows: as many as have columns and fit into the table.
unsigned vectors_for(Count rows, unsigned stride) {
  unsigned vectors = 8;
  while (vectors > 1 && (vectors * 2 >= stride || rows * vectors * sizeof(float4) > kTableBytes))
    vectors /= 2;
  return vectors;
}
/// A lane has two of them where there are as many.
unsigned lanes_for(unsigned vectors) {
  return std::max(vectors / 2, 1U);
}

template <unsigned kAhead>
Kernel kernel_for(bool ttv, unsigned vectors) {
  if (ttv) return sliced::multiply_slices<float, 1, 1, kAhead>;
  switch (vectors) {
    case 1:
      return sliced::multiply_slices<float4, 1, 1, kAhead>;
    case 2:
      return sliced::multiply_slices<float4, 2, 1, kAhead>;
    case 4:
      return sliced::multiply_slices<float4, 2, 2, kAhead>;
    default:
      return sliced::multiply_slices<float4, 2, 4, kAhead>;
  }
}

class SlicedRun : public CudaRun {
 public:
  SlicedRun(const Problem& problem, std::int64_t ahead)
      : CudaRun(problem, ttv(problem) ? "TTV on slices" : "TTM on slices"),
        rank_(problem.dense()[0].cols()),
        stride_(ttv(problem) ? 1 : padded<float>(rank_)),
        factor_(upload_padded(problem.dense()[0].view<float>(), stride_)) {
    FiberArrays fibers = fiber_arrays(problem.x(), problem.mode());
    executed_["input"] = fibers.was_sorted ? "sorted" : "sorted by prepare";
    fibers_ = fibers.fibers();
    out_ = Buffer<float>(fibers_ * stride_);
    out_.zero(nullptr);  // the padding of rows is copied back with them
    p_ = {factor_.data(), out_.data(), static_cast<unsigned>(problem.dense()[0].rows()), stride_};
    const unsigned vectors = ttv(problem) ? 1 : vectors_for(p_.rows, stride_);
    upload(to_sliced(fibers, sliced::kSliceLanes / lanes_for(vectors)));
    coordinates_ = std::move(fibers.coordinates);
    kernel_ =
        ahead == 1 ? kernel_for<1>(ttv(problem), vectors) : kernel_for<2>(ttv(problem), vectors);
    set_launch(vectors);
    count_bytes(factor_, out_, start_, row_, shared_, indices_, values_);
  }

  void run(StageTimer& timer) override {
    const auto stream = stream_of(timer);
    if (shared_.size() > 0) {
      timer.stage("zero");
      RETENSOR_CUDA_LAUNCH(tuned::zero_rows<float>,
                           device::blocks_for(shared_.size() * stride_, kZeroThreads), kZeroThreads,
                           0, stream, shared_.data(), shared_.size(), nullptr, p_.out, stride_);
    }
    timer.stage("kernel");
    if (x_.slices > 0)
      RETENSOR_CUDA_LAUNCH(kernel_, grid_, sliced::kSliceThreads, table_bytes_, stream, x_, p_);
  }

  Result result() override {
    Values y(DType::f32, fibers_ * rank_);
    download_padded(out_, stride_, rank_, y.as<float>().data(), rank_);
    const Dims& dims = problem_.x().dims;
    if (ttv(problem_)) return ttv_result(dims, problem_.mode(), coordinates_, std::move(y));
    return ttm_result(dims, problem_.mode(), rank_, coordinates_, std::move(y));
  }

 private:
  static constexpr unsigned kZeroThreads = 256;

  static bool ttv(const Problem& problem) { return problem.operation() == Operation::ttv; }

  void upload(const SlicedFibers& sliced) {
    start_ = Buffer<Index>(sliced.start), row_ = Buffer<Index>(sliced.row);
    shared_ = Buffer<Count>(sliced.shared);
    indices_ = Buffer<uint2>(sliced.indices.size());
    values_ = Buffer<float4>(sliced.values.size());
    indices_.upload({reinterpret_cast<const uint2*>(sliced.indices.data()), indices_.size()});
    values_.upload({reinterpret_cast<const float4*>(sliced.values.data()), values_.size()});
    x_ = {start_.data(), row_.data(), indices_.data(), values_.data(),
          static_cast<unsigned>(sliced.slices())};
    executed_["slices"] = std::to_string(sliced.slices());
    executed_["records"] = std::to_string(sliced.indices.size());
  }

  /// As many thread blocks as run at once.
  void set_launch(unsigned vectors) {
    const unsigned width = ttv(problem_) ? 1 : 4 * vectors;
    table_bytes_ = p_.rows * width * sizeof(float);
    device::allow_shared(kernel_, table_bytes_);
    int device = 0, multiprocessors = 0, blocks = 0;
    RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
    RETENSOR_CUDA_CHECK(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    RETENSOR_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel_, sliced::kSliceThreads, table_bytes_));
    const unsigned needed =
        device::blocks_for(x_.slices * sliced::kSliceLanes, sliced::kSliceThreads);
    grid_ = dim3(std::max(1u, std::min(needed, static_cast<unsigned>(multiprocessors * blocks))),
                 (stride_ + width - 1) / width);
    executed_["columns_at_once"] = std::to_string(width);
  }

  const std::uint64_t rank_;
  const unsigned stride_;
  const Buffer<float> factor_;
  Count fibers_ = 0;
  FiberCoordinates coordinates_;
  Buffer<float> out_;
  Buffer<Index> start_, row_;
  Buffer<Count> shared_;
  Buffer<uint2> indices_;
  Buffer<float4> values_;
  sliced::Slices x_{};
  sliced::Product p_{};
  Kernel kernel_ = nullptr;
  unsigned table_bytes_ = 0;
  dim3 grid_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_sliced_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<SlicedRun>(problem, params.integer("ahead"));
}

}  // namespace retensor::pasta
