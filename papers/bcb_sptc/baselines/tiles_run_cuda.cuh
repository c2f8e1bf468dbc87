// Base of the competitors that cut the two matrices of a contraction into tiles of 8 x 8: tiles
// with bitmaps, pairs of tiles sorted by result tile, the result's coordinates. Included by .cu
// files alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "papers/bcb_sptc/baselines/matrix_run_cuda.cuh"
#include "papers/bcb_sptc/format/task_list_device.cuh"

namespace retensor::bcb_sptc {

inline constexpr unsigned kTileEdge = 8, kTileCells = 64;

/// Two tiled matrices, the list of their pairs and the result as kernels get them.
struct TiledProduct {
  const Task* tasks;
  const std::uint32_t* result_first;  // task of each result tile, and the end
  Count results;
  const std::uint64_t *x_bitmap, *y_bitmap;
  const std::uint32_t *x_start, *y_start;  // first value of a tile
  const float *x_values, *y_values;
  float alpha;
  std::uint64_t* bitmap;     // of the result
  const Count* first_entry;  // of each result tile, and the end
  float* values;
};

namespace kernels {

/// Where the rows and columns of result tiles begin.
struct TileOrigins {
  const std::uint64_t* keys;  // of the tasks
  int column_bits;
  const Index *row, *column;
};

/// A warp a result tile, a lane two of its cells.
static __global__ void write_tiles(TiledProduct p, TileOrigins origins, EntryModes modes) {
  const unsigned lane = threadIdx.x % 32;
  device::for_each_of_warps<kThreads>(p.results, [&](Count r) {
    const std::uint64_t key = origins.keys[p.result_first[r]], bits = p.bitmap[r];
    const Count row = origins.row[key >> origins.column_bits];
    const Count column = origins.column[key & ((std::uint64_t{1} << origins.column_bits) - 1)];
    for (unsigned cell = lane; cell < kTileCells; cell += 32) {
      if ((bits >> cell & 1) == 0) continue;
      const auto below = static_cast<Count>(__popcll(bits & ((std::uint64_t{1} << cell) - 1)));
      modes.write(p.first_entry[r] + below, row + cell / kTileEdge, column + cell % kTileEdge);
    }
  });
}

}  // namespace kernels

/// Makes the tiles and runs the stages; a competitor finds patterns and multiplies.
class TilesRun : public MatrixRun {
 public:
  /// intersect: whether pairs of tiles without a common contracted index are left out.
  TilesRun(const Problem& problem, std::string kernel, bool intersect)
      : MatrixRun(problem, std::move(kernel)),
        x_(tiled(m_.rows, m_.groups, m_.row_start, m_.x_group, m_.x_values)),
        y_(tiled(m_.groups, m_.columns, m_.group_start, m_.y_column, m_.y_values)),
        tasks_(x_, y_, {.intersect = intersect}, device_room()),
        row_origins_(origins_of(x_, tasks_.rows(), true)),
        column_origins_(origins_of(y_, tasks_.columns(), false)) {
    p_.x_bitmap = x_.bitmap.data(), p_.y_bitmap = y_.bitmap.data();
    p_.x_start = x_.word_start.data(), p_.y_start = y_.word_start.data();
    p_.x_values = reinterpret_cast<const float*>(x_.values.data());
    p_.y_values = reinterpret_cast<const float*>(y_.values.data());
    p_.alpha = alpha_;
  }

  void run(StageTimer& timer) override {
    const auto stream = stream_of(timer);
    timer.stage("tasks");
    make_tasks(stream);
    timer.stage("pattern");
    make_pattern(stream);
    timer.stage("kernel");
    if (result_.entries == 0) return;
    multiply(stream);
    timer.stage("output");
    write(stream);
  }

 protected:
  /// Finds the bitmaps of the result tiles, of which there is one at least.
  virtual void find_patterns(cudaStream_t stream) = 0;
  virtual void multiply(cudaStream_t stream) = 0;
  /// The result's values, unless `multiply` writes them where they belong.
  virtual void write_values(cudaStream_t) {}

  /// A first pass, which makes room; for the constructors of competitors.
  void make_first() {
    make_tasks(nullptr);
    make_pattern(nullptr);
    executed_["x_format_bytes"] = std::to_string(x_.bytes());
    executed_["tiles_x"] = std::to_string(x_.blocks);
    executed_["tiles_y"] = std::to_string(y_.blocks);
    executed_["pairs"] = std::to_string(tasks_.pairs());
    executed_["tasks"] = std::to_string(tasks_.tasks());
    executed_["result_tiles"] = std::to_string(tasks_.results());
  }

  Count format_bytes() const override { return x_.bytes() + y_.bytes(); }
  Count work_bytes() const override {
    return m_.bytes() + tasks_.bytes() + cub_.bytes() + bitmap_.bytes() + first_entry_.bytes() +
           row_origins_.bytes() + column_origins_.bytes();
  }

  const DeviceBcb x_, y_;
  TiledProduct p_{};

 private:
  static DeviceBcb tiled(Count rows, Count columns, const Buffer<std::uint32_t>& starts,
                         const Buffer<std::uint32_t>& index, const Buffer<float>& values) {
    Cub cub;
    Buffer<Index> row;
    find_owners(rows, starts, index.size(), row, cub, nullptr);
    const CooView matrix{{std::max<Count>(rows, 1), std::max<Count>(columns, 1)},
                         index.size(),
                         {row.data(), index.data()},
                         values.data()};
    return to_bcb(SortedNonzeros(matrix, {.edge_bits = {3, 3}, .leading = 1}));
  }

  void make_tasks(cudaStream_t stream) {
    tasks_.build(stream);
    p_.tasks = tasks_.view().tasks;
    p_.result_first = tasks_.view().result_first;
    p_.results = tasks_.results();
  }

  void make_pattern(cudaStream_t stream) {
    if (p_.results > 0) {
      ensure_size(bitmap_, p_.results);
      p_.bitmap = bitmap_.data();
      find_patterns(stream);
      cub_.sums(p_.results, kernels::PopCount{bitmap_.data()}, first_entry_, stream);
      p_.first_entry = first_entry_.data();
    }
    if (has_room_) return;
    make_room(p_.results == 0 ? 0 : element_at(first_entry_, p_.results));
    p_.values = result_.values.data();
    has_room_ = true;
  }

  void write(cudaStream_t stream) {
    write_values(stream);
    const auto list = tasks_.view();
    const kernels::TileOrigins origins{list.keys, list.column_bits, row_origins_.data(),
                                       column_origins_.data()};
    RETENSOR_CUDA_LAUNCH(kernels::write_tiles, grid_for(p_.results * 32), kThreads, 0, stream, p_,
                         origins, entry_modes_);
  }

  DeviceTaskList tasks_;
  const Buffer<Index> row_origins_, column_origins_;
  Cub cub_;
  Buffer<std::uint64_t> bitmap_;
  Buffer<Count> first_entry_;
  bool has_room_ = false;
};

}  // namespace retensor::bcb_sptc
