// Runs of pasta.cuda.tuned; the kernels stand in tuned_cuda.cuh.
#include <optional>

#include "common/tensor/operations.hpp"
#include "papers/pasta/format/segments.hpp"
#include "papers/pasta/kernels/prepare_cuda.hpp"
#include "papers/pasta/kernels/run_cuda.cuh"
#include "papers/pasta/kernels/tuned_cuda.cuh"

namespace retensor::pasta {
namespace {

using device::Buffer;

template <class T>
void launch_tuned(const Elementwise<T>& e, cudaStream_t stream) {
  constexpr Count kWidth = tuned::Vec<T>::kWidth;
  const unsigned grid = device::blocks_for(e.n / kWidth + e.n % kWidth, kBlock);
  RETENSOR_CUDA_LAUNCH(tuned::elementwise<T>, grid, kBlock, 0, stream, e);
}

template <class T, int kLanes>
dim3 grid_for(Count groups, unsigned stride) {
  constexpr unsigned kColumns = kLanes * tuned::Vec<T>::kWidth;
  return {device::blocks_for(groups * kLanes, tuned::kThreads), (stride + kColumns - 1) / kColumns};
}

// Nonzeros a part may have so that `lanes` threads a part fill the device.
Count fair_chunk(Count wanted, Count nnz, unsigned lanes) {
  int device = 0, sms = 0;
  RETENSOR_CUDA_CHECK(cudaGetDevice(&device));
  RETENSOR_CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  const Count parts = static_cast<Count>(sms) * 2048 / lanes;
  return std::clamp<Count>(nnz / parts, std::min<Count>(16, wanted), wanted);
}

// Segments on the device.
class DeviceSegments {
 public:
  /// `row`: the output row of each segment where that is not its number.
  DeviceSegments(const SegmentParts& parts, const std::vector<Index>& row = {})
      : bound_(parts.bound), first_(parts.first), cut_(parts.cut), row_(row) {}

  tuned::Parts parts() const { return {bound_.data(), first_.data(), row_.data(), first_.size()}; }
  bool any_cut() const { return cut_.size() > 0; }
  Count bytes() const { return bound_.bytes() + first_.bytes() + cut_.bytes() + row_.bytes(); }

  template <class T>
  void zero_cut(T* out, unsigned stride, cudaStream_t stream) const {
    RETENSOR_CUDA_LAUNCH(tuned::zero_rows<T>, device::blocks_for(cut_.size() * stride, kBlock),
                         kBlock, 0, stream, cut_.data(), cut_.size(), row_.data(), out, stride);
  }

 private:
  Buffer<Count> bound_, first_, cut_;
  Buffer<Index> row_;
};

template <class T>
void launch_segments(const tuned::Gather<T>& x, const tuned::Parts& parts, cudaStream_t stream) {
  device::with_lanes<T>(x.stride, [&]<int kLanes>() {
    with_others(x.others, [&]<int kOthers>() {
      const dim3 grid = grid_for<T, kLanes>(parts.count, x.stride);
      RETENSOR_CUDA_LAUNCH((tuned::segments<T, kLanes, kOthers>), grid, tuned::kThreads, 0, stream,
                           x, parts);
    });
  });
}

// Marks where the segments begin.
std::vector<Index> with_heads(std::vector<Index> index, std::span<const Count> start) {
  for (std::size_t s = 0; s + 1 < start.size(); ++s) index[start[s]] |= tuned::kHead;
  return index;
}

template <class T>
class TunedFiberRun : public FiberRun<T> {
 public:
  TunedFiberRun(const Problem& problem, Count chunk)
      : FiberRun<T>(problem, fiber_arrays(problem.x(), problem.mode()),
                    problem.operation() == Operation::ttv ? "tuned TTV" : "tuned TTM"),
        index_(upload_padded_to_8<Index>(with_heads(this->fibers_.index, this->fibers_.start))),
        segments_(cut_segments(this->fibers_.start,
                               this->ttv() ? fair_chunk(8 * chunk, problem.x().nnz(), 32)
                                           : fair_chunk(chunk, problem.x().nnz(), 4))) {
    x_.index[0] = index_.data(), x_.factor[0] = this->factor_.data();
    x_.value = this->value_.data(), x_.out = this->out_.data();
    x_.nnz = problem.x().nnz(), x_.stride = this->stride_, x_.others = 1;
    this->count_bytes(index_, segments_);
  }

  void run(StageTimer& timer) override {
    const auto stream = stream_of(timer);
    if (segments_.any_cut()) {
      timer.stage("zero");
      segments_.zero_cut(x_.out, x_.stride, stream);
    }
    timer.stage("kernel");
    const auto parts = segments_.parts();
    if (parts.count == 0) return;
    if (this->ttv())
      launch_ttv(parts, stream);
    else
      launch_segments(x_, parts, stream);
  }

 private:
  void launch_ttv(const tuned::Parts& parts, cudaStream_t stream) {
    const unsigned grid = device::blocks_for(parts.count * 32, tuned::kThreads);
    if (segments_.any_cut())
      RETENSOR_CUDA_LAUNCH((tuned::ttv<T, true>), grid, tuned::kThreads, 0, stream, x_, parts);
    else
      RETENSOR_CUDA_LAUNCH((tuned::ttv<T, false>), grid, tuned::kThreads, 0, stream, x_, parts);
  }

  Buffer<Index> index_;
  DeviceSegments segments_;
  tuned::Gather<T> x_;
};

void sort_by_row(Coo& x, int mode) {
  auto modes = natural_order(x.order());
  std::stable_partition(modes.begin(), modes.end(), [&](int m) { return m == mode; });
  if (!is_sorted(x, modes)) sort_nonzeros(x, modes);
}

// Both orders of MTTKRP: nonzeros sorted by output row, or as they stand.
template <class T>
class TunedMttkrpRun : public CudaMttkrpRun<T> {
 public:
  TunedMttkrpRun(const Problem& problem, bool by_row, Count chunk)
      : CudaMttkrpRun<T>(problem, "tuned MTTKRP"),
        chunk_(static_cast<unsigned>(fair_chunk(chunk, problem.x().nnz(), 4))) {
    Coo x = problem.x();
    if (by_row) sort_by_row(x, problem.mode());
    const auto& row = x.indices[static_cast<std::size_t>(problem.mode())];
    const auto modes = this->gathered();
    if (by_row) {
      const auto start = run_starts(row);
      auto& first = x.indices[modes.front()];
      first = with_heads(std::move(first), start);
      std::vector<Index> rows;
      for (std::size_t s = 0; s + 1 < start.size(); ++s) rows.push_back(row[start[s]]);
      segments_.emplace(cut_segments(start, chunk_), rows);
      this->count_bytes(*segments_);
    } else {
      row_ = Buffer<Index>(row);
    }
    for (const std::size_t m : modes) {
      indices_.emplace_back(x.indices[m]);
      this->count_bytes(indices_.back());
      x_.factor[x_.others] = this->factors_[static_cast<std::size_t>(x_.others)].data();
      x_.index[x_.others++] = indices_.back().data();
    }
    value_ = Buffer<T>(std::as_const(x).values.template as<T>());
    x_.value = value_.data(), x_.out = this->out_.data();
    x_.nnz = x.nnz(), x_.stride = this->stride_;
    this->count_bytes(row_, value_);
    this->executed_["chunk"] = std::to_string(chunk_);
    this->executed_["order"] = by_row ? "row" : "input";
  }

 private:
  void launch(cudaStream_t stream) override {
    if (segments_) return launch_segments(x_, segments_->parts(), stream);
    device::with_lanes<T>(x_.stride, [&]<int kLanes>() {
      with_others(x_.others, [&]<int kOthers>() {
        const dim3 grid = grid_for<T, kLanes>((x_.nnz + chunk_ - 1) / chunk_, x_.stride);
        RETENSOR_CUDA_LAUNCH((tuned::runs<T, kLanes, kOthers>), grid, tuned::kThreads, 0, stream,
                             x_, row_.data(), chunk_);
      });
    });
  }

  const unsigned chunk_;
  std::optional<DeviceSegments> segments_;  // of nonzeros sorted by row
  std::vector<Buffer<Index>> indices_;
  Buffer<Index> row_;  // else
  Buffer<T> value_;
  tuned::Gather<T> x_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params) {
  const auto chunk = static_cast<Count>(params.integer("chunk"));
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    switch (problem.operation()) {
      case Operation::tew:
        return std::make_unique<ElementwiseRun<T>>(problem, problem.x(), problem.y(), "tuned TEW",
                                                   launch_tuned<T>);
      case Operation::ts:
        return std::make_unique<ElementwiseRun<T>>(problem, problem.x(), Coo(), "tuned TS",
                                                   launch_tuned<T>);
      case Operation::ttv:
      case Operation::ttm:
        return std::make_unique<TunedFiberRun<T>>(problem, chunk);
      default:
        return std::make_unique<TunedMttkrpRun<T>>(problem, params.word("order") == "row", chunk);
    }
  });
}

}  // namespace retensor::pasta
