// The run of blco.cuda; the kernels stand in blco_cuda.cuh.
#include "common/baselines/blco/blco_cuda.cuh"
#include "common/baselines/blco/blco_cuda.hpp"
#include "common/baselines/blco/format.hpp"
#include "common/run/modes_run.cuh"

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
class Run : public CudaModesRun<T> {
 public:
  Run(const Problem& problem, const Blco& f, unsigned copies)
      : CudaModesRun<T>(problem, "BLCO"),
        width_(f.width),
        shift_(f.shift),
        key_(f.key),
        value_(f.values.template as<T>()),
        tile_(tiles_of(f)),
        copy_count_(copies),
        copies_(problem.x().dims.size()) {
    for (const auto& base : f.base) base_.emplace_back(base);
    for (const int m : this->modes_)
      if (this->length(m) <= kShortMode)
        copies_[this->at(m)] = Buffer<T>(copies * this->length(m) * this->stride_);
    this->count_bytes(key_, value_, tile_);
    for (const auto& base : base_) this->count_bytes(base);
    for (const auto& copy : copies_) this->count_bytes(copy);
    this->executed_["blocks"] = std::to_string(f.blocks());
    this->executed_["conflicts"] = conflicts();
  }

 private:
  bool is_short(int mode) const { return copies_[this->at(mode)].size() > 0; }

  std::string conflicts() const {
    std::string text;
    for (const int m : this->modes_) {
      if (!text.empty()) text += ", ";
      text += is_short(m) ? "shared memory and copies" : "registers";
    }
    return text;
  }

  void run_modes(std::span<const int> modes, StageTimer& timer) override {
    const auto stream = stream_of(timer);
    timer.stage("zero");
    for (const int m : modes) copies_[this->at(m)].zero(stream);
    CudaModesRun<T>::run_modes(modes, timer);
    for (const int m : modes)
      if (is_short(m)) {
        timer.stage("reduce");
        add_copies(m, stream);
      }
  }

  void pass(int mode, cudaStream_t stream) override {
    const Device<T> x = arguments(mode);
    with_others(x.others, [&]<int kOthers>() {
      if (!is_short(mode)) {
        const dim3 grid(device::blocks_for(x.tiles, 1));
        RETENSOR_CUDA_LAUNCH((mttkrp<T, kOthers>), grid, 32, 0, stream, x);
        return;
      }
      const auto rows = static_cast<unsigned>(this->length(mode));
      const dim3 grid(device::blocks_for(x.tiles, kShortTiles), (x.rank + 31) / 32);
      const auto shared = static_cast<unsigned>(rows * 32 * sizeof(T));
      RETENSOR_CUDA_LAUNCH((mttkrp_short<T, kOthers>), grid, 32, shared, stream, x, rows,
                           copy_count_);
    });
  }

  void add_copies(int mode, cudaStream_t stream) {
    const Count n = this->length(mode) * this->stride_;
    RETENSOR_CUDA_LAUNCH(reduce<T>, device::blocks_for(n, 256), 256, 0, stream,
                         copies_[this->at(mode)].data(), this->rows_of(mode), n, copy_count_);
  }

  Device<T> arguments(int mode) {
    const auto row = this->at(mode);
    Device<T> x;
    x.key = key_.data(), x.value = value_.data(), x.tile = tile_.data();
    x.tiles = tile_.size();
    x.row_base = base_[row].data(), x.row_width = width_[row], x.row_shift = shift_[row];
    for (const std::size_t m : this->gathered(mode)) {
      x.other_base[x.others] = base_[m].data();
      x.other_width[x.others] = width_[m], x.other_shift[x.others] = shift_[m];
      x.factor[x.others++] = this->factors_[m].data();
    }
    x.rank = this->rank(), x.stride = this->stride_;
    x.out = is_short(mode) ? copies_[row].data() : this->rows_of(mode);
    return x;
  }

  const std::vector<int> width_, shift_;
  Buffer<std::uint64_t> key_;
  Buffer<T> value_;
  Buffer<Tile> tile_;
  std::vector<Buffer<Index>> base_;
  const unsigned copy_count_;
  std::vector<Buffer<T>> copies_;  // partial outputs of each short mode, one below the other
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
