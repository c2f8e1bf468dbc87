// The run of blco.cuda; the kernels stand in kernels.cuh.
#include "common/baselines/blco/format.hpp"
#include "common/baselines/blco/kernels.cuh"
#include "common/baselines/blco/prepare.hpp"

namespace retensor::blco {
namespace {

using device::Buffer;

std::vector<Tile> tiles_of(const Blco& f) {
  std::vector<Tile> tiles;
  for (Count b = 0; b < f.blocks(); ++b)
    for (Count p = f.block_start[b]; p < f.block_start[b + 1]; p += kTile)
      tiles.push_back(
          {p, static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(std::min<Count>(kTile, f.block_start[b + 1] - p))});
  return tiles;
}

template <class T>
class Run : public CudaMttkrpRun<T> {
 public:
  Run(const Problem& problem, const Blco& f, unsigned copies)
      : CudaMttkrpRun<T>(problem, "BLCO"),
        key_(f.key),
        value_(f.values.template as<T>()),
        tile_(tiles_of(f)),
        rows_(problem.x().dims[static_cast<std::size_t>(problem.mode())]) {
    for (const auto& base : f.base) base_.emplace_back(base);
    const auto mode = static_cast<std::size_t>(problem.mode());
    d_.key = key_.data(), d_.value = value_.data(), d_.tile = tile_.data();
    d_.tiles = tile_.size();
    d_.row_base = base_[mode].data();
    d_.row_width = f.width[mode], d_.row_shift = f.shift[mode];
    for (const std::size_t m : this->gathered()) {
      d_.other_base[d_.others] = base_[m].data();
      d_.other_width[d_.others] = f.width[m], d_.other_shift[d_.others] = f.shift[m];
      d_.factor[d_.others] = this->factors_[static_cast<std::size_t>(d_.others)].data();
      ++d_.others;
    }
    d_.rank = static_cast<unsigned>(problem.rank()), d_.stride = this->stride_;
    if (rows_ <= kShortMode) copies_ = Buffer<T>(copies * this->out_.size());
    d_.out = is_short() ? copies_.data() : this->out_.data();
    this->executed_["blocks"] = std::to_string(f.blocks());
    this->executed_["conflicts"] = is_short() ? "shared memory and copies" : "registers";
    this->count_bytes(key_, value_, tile_, copies_);
  }

  void run(StageTimer& timer) override {
    const auto stream = stream_of(timer);
    timer.stage("zero");
    (is_short() ? copies_ : this->out_).zero(stream);
    timer.stage("kernel");
    if (d_.tiles > 0) launch(stream);
    if (!is_short()) return;
    timer.stage("reduce");
    const Count n = this->out_.size();
    RETENSOR_CUDA_LAUNCH(reduce<T>, device::blocks_for(n, 256), 256, 0, stream, copies_.data(),
                         this->out_.data(), n, copy_count());
  }

 private:
  bool is_short() const { return copies_.size() > 0; }
  unsigned copy_count() const { return static_cast<unsigned>(copies_.size() / this->out_.size()); }

  void launch(cudaStream_t stream) override {
    with_others(d_.others, [&]<int kOthers>() {
      if (!is_short()) {
        const dim3 grid(device::blocks_for(d_.tiles, 1));
        RETENSOR_CUDA_LAUNCH((mttkrp<T, kOthers>), grid, 32, 0, stream, d_);
        return;
      }
      const dim3 grid(device::blocks_for(d_.tiles, kShortTiles), (d_.rank + 31) / 32);
      const auto shared = static_cast<unsigned>(rows_ * 32 * sizeof(T));
      RETENSOR_CUDA_LAUNCH((mttkrp_short<T, kOthers>), grid, 32, shared, stream, d_,
                           static_cast<unsigned>(rows_), copy_count());
    });
  }

  Buffer<std::uint64_t> key_;
  Buffer<T> value_, copies_;
  Buffer<Tile> tile_;
  std::vector<Buffer<Index>> base_;
  const std::uint64_t rows_;
  Device<T> d_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  const Blco f = to_blco(problem.x());
  const auto copies = static_cast<unsigned>(params.integer("copies"));
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<Run<T>>(problem, f, copies);
  });
}

}  // namespace retensor::blco
