// The run of f_coo.cuda; the kernel stands in f_coo_cuda.cuh.
#include "common/baselines/f_coo/f_coo_cuda.cuh"
#include "common/baselines/f_coo/f_coo_cuda.hpp"
#include "common/baselines/f_coo/format.hpp"
#include "common/device/device.hpp"

namespace retensor::f_coo {
namespace {

/// Threads of a multiprocessor that the kernel's registers allow.
constexpr Count kThreadsPerSm = 768;
constexpr Count kLongest = 32, kShortest = 8;

/// Nonzeros of a part: fewer where the tensor would not fill the device.
template <class T>
Count part_length(const Problem& problem) {
  const Count threads = kThreadsPerSm * static_cast<Count>(device::facts().sms);
  const Count vectors = padded<T>(problem.rank()) / device::Vec<T>::kWidth;
  Count length = kLongest;
  while (length > kShortest && problem.x().nnz() / length * vectors < threads) length /= 2;
  return length;
}

template <class V>
device::Buffer<V> upload_parts(const FCoo& f, std::span<const V> from) {
  std::vector<V> padded(f.parts() * f.part_length + kQuad, V{0});
  std::copy(from.begin(), from.end(), padded.begin());
  return device::Buffer<V>(padded);
}

/// One word more, since a batch is read ahead.
device::Buffer<std::uint32_t> upload_starts(const FCoo& f) {
  std::vector<std::uint32_t> words = f.start.words();
  words.resize((f.parts() * f.part_length + kQuad + 31) / 32, 0);
  return device::Buffer<std::uint32_t>(words);
}

template <class T>
class Run : public CudaMttkrpRun<T> {
 public:
  Run(const Problem& problem, const FCoo& f)
      : CudaMttkrpRun<T>(problem, "F-COO"),
        value_(upload_parts(f, f.values.template as<T>())),
        start_(upload_starts(f)),
        part_start_(f.part_start.words()),
        part_segment_(f.part_segment),
        row_(f.row) {
    for (const auto& index : f.others) other_.push_back(upload_parts<Index>(f, index));
    for (std::size_t k = 0; k < other_.size(); ++k) {
      x_.other[k] = other_[k].data(), x_.factor[k] = this->factors_[k].data();
      this->count_bytes(other_[k]);
    }
    x_.value = value_.data(), x_.start = start_.data(), x_.part_start = part_start_.data();
    x_.part_segment = part_segment_.data(), x_.row = row_.data(), x_.out = this->out_.data();
    x_.parts = f.parts(), x_.part_length = static_cast<unsigned>(f.part_length);
    x_.stride = this->stride_, x_.others = static_cast<int>(other_.size());
    this->count_bytes(value_, start_, part_start_, part_segment_, row_);
    this->executed_["part_length"] = std::to_string(f.part_length);
    this->executed_["segments"] = std::to_string(f.row.size());
    this->executed_["format_bytes"] = std::to_string(f.bytes());
  }

 private:
  void launch(cudaStream_t stream) override {
    device::with_lanes<T>(x_.stride, [&]<int kLanes>() {
      with_others(x_.others, [&]<int kOthers>() {
        const dim3 grid = csf::grid_for<T, kLanes>(x_.parts * kLanes, x_.stride);
        RETENSOR_CUDA_LAUNCH((mttkrp<T, kLanes, kOthers>), grid, csf::kThreads, 0, stream, x_);
      });
    });
  }

  std::vector<device::Buffer<Index>> other_;
  device::Buffer<T> value_;
  device::Buffer<std::uint32_t> start_, part_start_;
  device::Buffer<Index> part_segment_, row_;
  Device<T> x_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    const auto given = static_cast<Count>(params.integer("part_length"));
    const Count length = given > 0 ? given : part_length<T>(problem);
    return std::make_unique<Run<T>>(problem, to_f_coo(problem.x(), problem.mode(), length));
  });
}

}  // namespace retensor::f_coo
