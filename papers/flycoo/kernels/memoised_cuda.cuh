// The run of flycoo.cuda.memoised: MTTKRP over all modes by partial products of halves of the modes
// (format/halves.hpp), each a pass of the tuned kernel over a copy of its records.
//
// With the modes of a half H, tuples t of their indices and the other half G,
//   P(t, :) = sum over nonzeros of t of value times the rows of the modes in G,
// and the MTTKRP of a mode in H is the sum over tuples of P(t, :) times the rows of H's other
// modes. Nonzeros are read twice instead of N times, with N / 2 rows gathered instead of N - 1.
// P may gather its rows in 16 bits; the passes over tuples gather whole ones.
// Included by .cu files alone: those with the same kernels for whole rows and for 16 bits.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "papers/flycoo/format/halves.hpp"
#include "papers/flycoo/kernels/gathered_rows_cuda.cuh"

namespace retensor::flycoo::tuned {

/// The pass over one mode of a tensor in tiles, without remapping.
template <class T, class G = T>
class ModePass {
  using Pass = TilePass<T, G>;
  static constexpr Block kBlock = GatheredByEight<G> ? kWide : kCopies;

 public:
  ModePass(const Coo& x, int mode, unsigned stride, const device::Limits& limits)
      : kernels_(stride, x.order() - 1, false),
        ends_bytes_(
            static_cast<unsigned>(bytes_of_ends(kBlock.walkers, kernels_.lanes, kBlock.sums))) {
    const Count slots =
        kBlock.tile / (sizeof(std::uint32_t) * tiled_layout(x.dims, x.dtype()).words);
    const TileOptions options{
        .tile = static_cast<std::uint32_t>(std::min<Count>(slots / 4 * 4, 65536)),
        .unit = 4,
        .processors = static_cast<std::uint32_t>(limits.sms) * kBlock.blocks(false, limits),
        .remap = false};
    DeviceTiled made = to_tiled(DeviceCoo(x), options);
    const auto at = static_cast<std::size_t>(mode), order = x.dims.size();
    records_ = std::move(made.records[at]);
    mode_ = std::move(made.modes[at]);
    head_ = Buffer<T>(Count{made.tiles()} * stride),
    tail_ = Buffer<T>(Count{made.tiles()} * stride);
    const auto field = [&](std::size_t of) {
      return WideField(made.layout.index[of], made.record_words() <= kRegisterWords);
    };
    x_.in = records_.data(), x_.joined = mode_.joined.data();
    x_.head = head_.data(), x_.tail = tail_.data();
    x_.layout = made.layout, x_.row = field(at);
    for (std::size_t back = 1; back < order; ++back)
      x_.other[x_.others++] = field((at + order - back) % order);
    x_.nnz = made.nnz, x_.tile = made.tile, x_.stride = stride, x_.walkers = kBlock.walkers;
    tiles_ = made.tiles();
    by_fiber_ = kernels_.fiber != nullptr && mode_.fibers * kLongFiber <= made.nnz;
    first_ = at;
    RETENSOR_CUDA_CHECK(
        cudaFuncSetAttribute(kernel(), cudaFuncAttributePreferredSharedMemoryCarveout,
                             shared_percent(kBlock.blocks(false, limits), ends_bytes_, limits)));
  }

  /// Factors by mode; that of the pass's own is not read.
  void launch(std::span<const T* const> factors, T* out, cudaStream_t stream) {
    for (int k = 0; k < x_.others; ++k) x_.factor[k] = factors[gathered(k)];
    launch(out, stream);
  }
  /// Of the factors of `modes`, those that a nonzero has after the pass's mode, the first one.
  void launch(const GatheredRows<G>& rows, const std::vector<int>& modes, T* out,
              cudaStream_t stream) {
    x_.factor_stride = rows.stride();
    for (int k = 0; k < x_.others; ++k) {
      const auto mode = static_cast<std::size_t>(modes[gathered(k) - 1]);
      x_.factor[k] = rows.rows(mode), x_.largest[k] = rows.largest(mode);
    }
    launch(out, stream);
  }
  Count bytes() const { return records_.bytes() + mode_.bytes() + head_.bytes() + tail_.bytes(); }

 private:
  auto kernel() const { return by_fiber_ ? kernels_.fiber : kernels_.tile; }
  /// The mode that is gathered as number k: the modes before, the nearest first.
  std::size_t gathered(int k) const {
    const auto others = static_cast<std::size_t>(x_.others);
    return (first_ + others - static_cast<std::size_t>(k)) % (others + 1);
  }

  void launch(T* out, cudaStream_t stream) {
    x_.out = out;
    RETENSOR_CUDA_LAUNCH(kernel(), dim3(tiles_, kernels_.column_tiles), kBlock.walkers, ends_bytes_,
                         stream, x_, ends_bytes_);
    if (mode_.cut.size() > 0)
      RETENSOR_CUDA_LAUNCH(kernels_.join,
                           dim3(static_cast<unsigned>(mode_.cut.size()), kernels_.column_tiles),
                           kJoinThreads, 0, stream, x_, mode_.cut.data());
  }

  const Kernels<Pass> kernels_;
  const unsigned ends_bytes_;
  RecordBuffer records_;
  DeviceMode mode_;
  Buffer<T> head_, tail_;
  Pass x_;
  std::size_t first_ = 0;  // the pass's mode
  unsigned tiles_ = 0;
  bool by_fiber_ = false;
};

/// A half's passes, and its partial products.
template <class T, class G>
struct HalfRun {
  std::vector<int> modes, others;
  ModePass<T, G> partial;
  std::vector<ModePass<T>> of_mode;
  Buffer<T> products;

  HalfRun(const Half& half, std::vector<int> other_modes, unsigned stride,
          const device::Limits& limits)
      : modes(half.modes),
        others(std::move(other_modes)),
        partial(half.nonzeros, 0, stride, limits),
        products(half.tuples.nnz() * stride) {
    for (int k = 0; k < static_cast<int>(modes.size()); ++k)
      of_mode.emplace_back(half.tuples, k, stride, limits);
  }
  bool has(int mode) const { return std::ranges::binary_search(modes, mode); }
  Count bytes() const { return partial.bytes() + bytes_of(of_mode) + products.bytes(); }
};

template <class T, class G>
class MemoisedRun : public CudaModesRun<T> {
 public:
  explicit MemoisedRun(const Problem& problem)
      : CudaModesRun<T>(problem, "FLYCOO in tiles, partial products of halves of the modes"),
        gathered_(this->factors_, problem.x().dims, this->stride_) {
    const auto halves = to_halves(problem.x());
    const auto limits = device::facts();
    for (const std::size_t h : {0, 1})
      halves_.emplace_back(halves[h], halves[1 - h].modes, this->stride_, limits);
    std::string told, tuples;
    for (const auto& half : halves_) {
      this->count_bytes(half);
      for (const int m : half.modes) told += std::to_string(m + 1) + ' ';
      told += &half == &halves_.front() ? "| " : "";
      tuples += std::to_string(half.products.size() / this->stride_) + ' ';
    }
    told.pop_back(), tuples.pop_back();
    this->count_bytes(gathered_);
    this->executed_["halves"] = told, this->executed_["tuples"] = tuples;
    if constexpr (Narrow<G>) this->executed_["class"] = "f16 gather";
  }

 private:
  using Rows = std::vector<const T*>;

  /// Partial products of the halves that the modes are of: factors may change between runs.
  void run_modes(std::span<const int> modes, StageTimer& timer) override {
    if constexpr (GatheredByEight<G>) gathered_.make(timer);
    timer.stage("partial");
    for (auto& half : halves_) {
      if (this->problem_.x().nnz() == 0) break;
      if (std::ranges::none_of(modes, [&](int m) { return half.has(m); })) continue;
      add_partial(half, stream_of(timer));
    }
    CudaModesRun<T>::run_modes(modes, timer);
  }

  void add_partial(HalfRun<T, G>& half, cudaStream_t stream) {
    if constexpr (GatheredByEight<G>) {
      half.partial.launch(gathered_, half.others, half.products.data(), stream);
    } else {
      Rows rows{nullptr};
      for (const int m : half.others) rows.push_back(factor(m));
      half.partial.launch(rows, half.products.data(), stream);
    }
  }

  void pass(int mode, cudaStream_t stream) override {
    auto& half = halves_[halves_.front().has(mode) ? 0 : 1];
    Rows rows;
    for (const int m : half.modes) rows.push_back(m == mode ? nullptr : factor(m));
    rows.push_back(half.products.data());
    const auto number = std::ranges::find(half.modes, mode) - half.modes.begin();
    half.of_mode[static_cast<std::size_t>(number)].launch(rows, this->rows_of(mode), stream);
  }

  const T* factor(int mode) const { return this->factors_[this->at(mode)].data(); }

  GatheredRows<G> gathered_;
  std::vector<HalfRun<T, G>> halves_;
};

}  // namespace retensor::flycoo::tuned
