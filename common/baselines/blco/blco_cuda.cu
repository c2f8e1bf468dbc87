// BLCO's MTTKRP: a thread block of one warp takes 32 nonzeros (a tile). Each lane decodes one;
// lanes with equal output row are grouped by a match, and the nonzeros are put into shared memory
// group by group. Then a lane is a column of the factors: the warp walks the 32 nonzeros, adds up
// in a register while the row stays, and sends one atomic row per group.
//
// Short output modes would meet in few rows: there a warp takes several tiles, adds them up in a
// table in shared memory, one row of 32 columns per output row, and adds that to one of several
// copies of the output, which a second kernel sums (`reduce`).
#include "common/baselines/blco/format.hpp"
#include "common/device/loops.cuh"
#include "common/device/warp.cuh"
#include "common/run/cuda_run.cuh"
#include "common/run/modes_run.cuh"

namespace retensor::blco {

inline constexpr int kTile = 32;        // nonzeros
inline constexpr int kShortTiles = 16;  // tiles a warp takes where it has a table
/// Modes up to this length are added up in shared memory first.
inline constexpr std::uint64_t kShortMode = 100;

/// 32 or fewer nonzeros of one block.
struct Tile {
  Count begin;
  std::uint32_t block, count;
};

template <class T>
struct Device {
  const std::uint64_t* key = nullptr;
  const T* value = nullptr;
  const Tile* tile = nullptr;
  const Index* row_base = nullptr;
  const Index* other_base[kMaxOther] = {};
  int row_width = 0, row_shift = 0;
  int other_width[kMaxOther] = {}, other_shift[kMaxOther] = {};
  const T* factor[kMaxOther] = {};
  T* out = nullptr;
  Count tiles = 0;
  unsigned rank = 0, stride = 0;
  int others = 0;
};

/// A tile in shared memory, equal output rows side by side.
template <class T, int kModes>
struct Grouped {
  Index row[kTile], other[kModes][kTile];
  T value[kTile];
  unsigned last;  // bit i: nonzero i is the last of its group

  __device__ void load(const Device<T>& x, int others, const Tile& tile, unsigned lane) {
    const bool mine = lane < tile.count;
    const Count p = tile.begin + (mine ? lane : 0);
    const std::uint64_t key = x.key[p];
    const Index r = field(key, x.row_width, x.row_shift) + x.row_base[tile.block];
    // Lanes past the end form a group of their own, behind the others.
    const std::uint64_t group = mine ? r : ~std::uint64_t{0};
    const unsigned peers = __match_any_sync(device::kWholeWarp, group);
    const unsigned below = (1u << lane) - 1;
    const bool leads = (peers & below) == 0;
    // Nonzeros of the groups that lead up to here.
    const unsigned before = device::sum_up_to_lane<unsigned>(leads ? __popc(peers) : 0, lane);
    const unsigned leader = __ffs(static_cast<int>(peers)) - 1;
    const unsigned to =
        __shfl_sync(device::kWholeWarp, before, leader) - __popc(peers) + __popc(peers & below);
    const bool ends = (peers & ~below) == 1u << lane;
    __syncwarp();
    if (mine) {
      row[to] = r;
      value[to] = x.value[p];
#pragma unroll
      for (int k = 0; k < kModes; ++k)
        if (k < others)
          other[k][to] =
              field(key, x.other_width[k], x.other_shift[k]) + x.other_base[k][tile.block];
    }
    const unsigned mark = __reduce_or_sync(device::kWholeWarp, mine && ends ? 1u << to : 0u);
    if (lane == 0) last = mark;
    __syncwarp();
  }

  /// add(row, sum) for each group of the tile, in one column.
  template <class F>
  __device__ void walk(const Device<T>& x, int others, unsigned count, unsigned column,
                       F&& add) const {
    T sum = 0;
    for (unsigned i = 0; i < count; ++i) {
      T product = value[i];
#pragma unroll
      for (int k = 0; k < kModes; ++k)
        if (k < others)
          product *= __ldg(x.factor[k] + static_cast<Count>(other[k][i]) * x.stride + column);
      sum += product;
      if ((last >> i & 1) != 0) {
        add(row[i], sum);
        sum = 0;
      }
    }
  }
};

/// kOthers gathered modes are unrolled; 0 reads their number at run time.
template <class T, int kOthers>
__global__ void __launch_bounds__(32) mttkrp(Device<T> x) {
  constexpr int kModes = kOthers > 0 ? kOthers : kMaxOther;
  const int others = kOthers > 0 ? kOthers : x.others;
  __shared__ Grouped<T, kModes> tile;
  const Tile at = x.tile[blockIdx.x];
  tile.load(x, others, at, threadIdx.x);
  for (unsigned column = threadIdx.x; column < x.rank; column += 32)
    tile.walk(x, others, at.count, column, [&](Index row, T sum) {
      atomicAdd(x.out + static_cast<Count>(row) * x.stride + column, sum);
    });
}

static_assert(kShortMode * 32 * sizeof(double) + sizeof(Grouped<double, kMaxOther>) <=
              device::kSharedUnasked);

/// For an output of at most kShortMode rows; blockIdx.y picks 32 columns.
template <class T, int kOthers>
__global__ void __launch_bounds__(32) mttkrp_short(Device<T> x, unsigned rows, unsigned copies) {
  constexpr int kModes = kOthers > 0 ? kOthers : kMaxOther;
  const int others = kOthers > 0 ? kOthers : x.others;
  __shared__ Grouped<T, kModes> tile;
  extern __shared__ unsigned char raw[];
  T* const table = reinterpret_cast<T*>(raw);  // rows x 32
  const unsigned lane = threadIdx.x, column = blockIdx.y * 32 + lane;
  for (unsigned r = 0; r < rows; ++r) table[r * 32 + lane] = T(0);
  const Count first = static_cast<Count>(blockIdx.x) * kShortTiles;
  for (Count t = first; t < first + kShortTiles && t < x.tiles; ++t) {
    const Tile at = x.tile[t];
    tile.load(x, others, at, lane);
    if (column < x.rank)
      tile.walk(x, others, at.count, column,
                [&](Index row, T sum) { table[row * 32 + lane] += sum; });
    __syncwarp();
  }
  if (column >= x.rank) return;
  T* const copy = x.out + static_cast<Count>(blockIdx.x % copies) * rows * x.stride;
  for (unsigned r = 0; r < rows; ++r)
    if (table[r * 32 + lane] != T(0)) atomicAdd(copy + r * x.stride + column, table[r * 32 + lane]);
}

/// out = sum of the copies, element by element.
template <class T>
__global__ void reduce(const T* copy, T* out, Count elements, unsigned copies) {
  const Count i = device::thread_of_grid();
  if (i >= elements) return;
  T sum = 0;
  for (unsigned c = 0; c < copies; ++c) sum += copy[c * elements + i];
  out[i] = sum;
}

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
    std::string& conflicts = this->executed_["conflicts"];
    for (const int m : this->modes_)
      conflicts += std::string(conflicts.empty() ? "" : ", ") +
                   (is_short(m) ? "shared memory and copies" : "registers");
  }

 private:
  bool is_short(int mode) const { return copies_[this->at(mode)].size() > 0; }

  void run_modes(std::span<const int> modes, StageTimer& timer) override {
    const auto stream = stream_of(timer);
    timer.stage("zero");
    for (const int m : modes) copies_[this->at(m)].zero(stream);
    CudaModesRun<T>::run_modes(modes, timer);
    for (const int m : modes) {
      if (!is_short(m)) continue;
      timer.stage("reduce");
      const Count n = this->length(m) * this->stride_;
      RETENSOR_CUDA_LAUNCH(reduce<T>, device::blocks_for(n, 256), 256, 0, stream,
                           copies_[this->at(m)].data(), this->rows_of(m), n, copy_count_);
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
  return make_typed_run<Run>(problem, f, copies);
}

}  // namespace retensor::blco
