// F-COO's MTTKRP (the paper's unified kernel with the product of all product modes' rows): a group
// of lanes, 16 bytes of a row each (common/run/csf_run.cuh), is the paper's thread with its
// columns and takes a part.
//
// 1. It adds up its nonzeros; where one begins a segment, the sum so far is that of the segment
//    before. A segment that lies inside the part is stored.
// 2. The sum that is open at the end of each part goes through a segmented scan over the thread
//    block: first by shuffles over the groups of a warp, then over the warps' last sums in shared
//    memory. A part gets what the parts before it have of the segment that it goes on with.
// 3. A segment that began in the thread block and ends in it is stored where it ends. What began
//    before or goes on after the block is added by atomics.
#include <cstdint>

#include "common/baselines/f_coo/format.hpp"
#include "common/device/device.hpp"
#include "common/device/warp.cuh"
#include "common/run/csf_run.cuh"

namespace retensor::f_coo {

using device::Vec;

inline constexpr unsigned kWarps = csf::kThreads / 32;

/// F-COO on the device. The arrays of the nonzeros are padded by zeros to whole parts and one batch
/// of kQuad more, which is read ahead. Rows of factors and output are `stride` elements apart.
template <class T>
struct Device {
  const Index* other[kMaxOther] = {};
  const T* factor[kMaxOther] = {};
  const T* value = nullptr;
  const std::uint32_t *start = nullptr, *part_start = nullptr;  ///< bf, sf
  const Index *part_segment = nullptr, *row = nullptr;
  T* out = nullptr;
  Count parts = 0;
  unsigned part_length = 0;  ///< a multiple of kQuad
  unsigned stride = 0;
  int others = 0;

  __device__ bool part_starts(Count part) const {
    return (__ldg(part_start + part / 32) >> part % 32 & 1) != 0;
  }
};

/// kOthers product modes are unrolled; 0 reads their number at run time.
template <int kOthers>
inline constexpr int kProducts = kOthers > 0 ? kOthers : kMaxOther;

/// Nonzeros whose factor rows are in flight at a time, as many as registers hold.
template <int kOthers>
inline constexpr int kInFlight = kOthers == 0   ? 1
                                 : kOthers == 3 ? 2
                                                : 4;

/// kQuad consecutive nonzeros.
template <class T, int kOthers>
struct Quad {
  Index index[kProducts<kOthers>][kQuad];
  T value[kQuad];
  unsigned starts;

  __device__ Quad(const Device<T>& x, Count first) {
#pragma unroll
    for (int k = 0; k < kProducts<kOthers>; ++k)
      if (k < kOthers || k < x.others) {
        const auto i = __ldg(reinterpret_cast<const uint4*>(x.other[k] + first));
        index[k][0] = i.x, index[k][1] = i.y, index[k][2] = i.z, index[k][3] = i.w;
      }
#pragma unroll
    for (int e = 0; e < kQuad; e += Vec<T>::kWidth)
      Vec<T>::load(x.value + first + e).store(value + e);
    starts = __ldg(x.start + first / 32) >> first % 32;
  }
};

/// The sums of a part: `head` of the segment that it goes on with, `open` of the one at its end.
template <class T, int kLanes, int kOthers>
class PartSums {
 public:
  __device__ PartSums(const Device<T>& x, const csf::Lane<T, kLanes>& lane, Count part,
                      unsigned length)
      : starts(x.part_starts(part)),
        first_segment(__ldg(x.part_segment + part)),
        segment(first_segment),
        x_(x),
        lane_(lane) {
    const bool goes_on = !starts;
    Count first = part * x.part_length;
    Quad<T, kOthers> next(x, first);
    next.starts &= ~1u;  // `starts` stands for it
    for (unsigned i = 0; i < length; i += kQuad) {
      const Quad<T, kOthers> quad = next;
      next = Quad<T, kOthers>(x, first += kQuad);
      add(quad);
    }
    closes_head = goes_on && starts;
  }

  bool starts;               ///< a segment begins in the part
  bool closes_head = false;  ///< the part goes on with a segment that ends inside it
  const Index first_segment;
  Index segment;  ///< at the end
  Vec<T> head = Vec<T>::splat(T(0)), open = Vec<T>::splat(T(0));

 private:
  __device__ void add(const Quad<T, kOthers>& quad) {
    const int others = kOthers > 0 ? kOthers : x_.others;
#pragma unroll
    for (int t = 0; t < kQuad; t += kInFlight<kOthers>) {
      Vec<T> row[kProducts<kOthers>][kInFlight<kOthers>];
#pragma unroll
      for (int k = 0; k < kProducts<kOthers>; ++k)
#pragma unroll
        for (int u = 0; u < kInFlight<kOthers>; ++u)
          if (k < others) row[k][u] = lane_.load(x_.factor[k], quad.index[k][t + u]);
#pragma unroll
      for (int u = 0; u < kInFlight<kOthers>; ++u) {
        if ((quad.starts >> (t + u) & 1) != 0) turn();
        auto product = Vec<T>::splat(quad.value[t + u]);
#pragma unroll
        for (int k = 1; k < kProducts<kOthers>; ++k)
          if (k < others) product.multiply(row[k][u]);
        open.fma(product, row[0][u]);
      }
    }
  }
  __device__ void turn() {
    if (!starts)
      head = open;
    else if (lane_.inside)
      open.store(x_.out + static_cast<Count>(__ldg(x_.row + segment)) * x_.stride + lane_.column);
    starts = true, ++segment, open = Vec<T>::splat(T(0));
  }

  const Device<T>& x_;
  const csf::Lane<T, kLanes>& lane_;
};

/// The open sum over parts of the block, and whether its segment begins among them.
template <class T>
struct Carry {
  Vec<T> sum;
  bool starts;

  __device__ void put_before(const Carry& earlier) {
    if (starts) return;
    sum.add(earlier.sum);
    starts = earlier.starts;
  }
  /// That of the lane `distance` below; all lanes take part.
  __device__ Carry from_below(unsigned distance) const {
    Carry below;
    const T* const from = reinterpret_cast<const T*>(&sum);
    T* const to = reinterpret_cast<T*>(&below.sum);
#pragma unroll
    for (unsigned e = 0; e < Vec<T>::kWidth; ++e)
      to[e] = __shfl_up_sync(device::kWholeWarp, from[e], distance);
    below.starts = __shfl_up_sync(device::kWholeWarp, starts, distance);
    return below;
  }
};

/// Makes `own` the sum up to this group and returns that up to the group before, both counted from
/// the first group of the block.
template <class T, int kLanes>
__device__ Carry<T> scan_block(Carry<T>& own) {
  __shared__ uint4 last_sum[kWarps][kLanes];
  __shared__ bool last_starts[kWarps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (unsigned distance = kLanes; distance < 32; distance *= 2) {
    const Carry<T> below = own.from_below(distance);
    if (lane >= distance) own.put_before(below);
  }
  Carry<T> before = own.from_below(kLanes);
  if (lane < kLanes) before = {Vec<T>::splat(T(0)), false};
  if (lane >= 32 - kLanes) {
    own.sum.store(reinterpret_cast<T*>(&last_sum[warp][lane % kLanes]));
    last_starts[warp] = own.starts;
  }
  __syncthreads();
  Carry<T> carried = {Vec<T>::splat(T(0)), false};
  for (unsigned w = warp; w-- > 0 && !carried.starts;) {
    Vec<T> sum = *reinterpret_cast<const Vec<T>*>(&last_sum[w][lane % kLanes]);
    carried.put_before({sum, last_starts[w]});
  }
  before.put_before(carried);
  own.put_before(carried);
  return before;
}

/// Places the sum of a segment that ends in the block, or leaves it.
template <class T, int kLanes>
__device__ void place(const Device<T>& x, const csf::Lane<T, kLanes>& lane, const Vec<T>& sum,
                      Index segment, bool whole) {
  const Index row = __ldg(x.row + segment);
  if (!whole)
    lane.reduce(sum, x.out, row);
  else if (lane.inside)
    sum.store(x.out + static_cast<Count>(row) * x.stride + lane.column);
}

template <class T, int kLanes, int kOthers>
__global__ void __launch_bounds__(csf::kThreads) mttkrp(Device<T> x) {
  const csf::Lane<T, kLanes> lane(x.stride);
  const Count part = csf::group_of_grid<kLanes>();
  const bool idle = part >= x.parts;
  // Idle groups take part in the scan.
  PartSums<T, kLanes, kOthers> mine(x, lane, idle ? x.parts - 1 : part, idle ? 0 : x.part_length);
  Carry<T> own = {mine.open, mine.starts};
  const Carry<T> before = scan_block<T, kLanes>(own);
  if (idle) return;
  if (mine.closes_head) {
    Vec<T> sum = mine.head;
    sum.add(before.sum);
    place(x, lane, sum, mine.first_segment, before.starts);
  }
  const bool ends = x.part_starts(part + 1);
  const bool last = threadIdx.x / kLanes == csf::kThreads / kLanes - 1;
  if (ends)
    place(x, lane, own.sum, mine.segment, own.starts);
  else if (last)
    lane.reduce(own.sum, x.out, __ldg(x.row + mine.segment));
}

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

/// With zeros up to `count`.
device::Buffer<std::uint32_t> upload_flags(const Flags& flags, Count count) {
  std::vector<std::uint32_t> words((count + 31) / 32, 0);
  boost::to_block_range(flags, words.begin());
  return device::Buffer<std::uint32_t>(words);
}

template <class T>
class Run : public CudaMttkrpRun<T> {
 public:
  Run(const Problem& problem, const FCoo& f)
      : CudaMttkrpRun<T>(problem, "F-COO"),
        value_(upload_parts(f, f.values.template as<T>())),
        start_(upload_flags(f.start, f.parts() * f.part_length + kQuad)),  // a batch is read ahead
        part_start_(upload_flags(f.part_start, f.part_start.size())),
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
