// The run of tca_spmm.cuda.tiles; the kernel stands in kernels_tiles.cuh.
#include <algorithm>
#include <string>
#include <string_view>

#include "common/device/device.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/cuda_run.cuh"
#include "papers/tca_spmm/kernels_tiles.cuh"
#include "papers/tca_spmm/methods_cuda.hpp"

namespace retensor::tca_spmm {

#ifndef RETENSOR_WARPGROUP
TileKernel warpgroup_kernel(int) {
  return nullptr;
}
#endif

namespace {

constexpr int kHopper = 9;  // compute capability, major

Core core_of(const Params& params) {
  const auto& word = params.word("core");
  if (word == "warp") return Core::warp;
  const bool hopper = warpgroup_kernel(64) != nullptr && device::facts().major == kHopper;
  return word == "warpgroup" || hopper ? Core::warpgroup : Core::warp;
}
std::string_view name(Core core) {
  return core == Core::warp ? "mma.sync" : "wgmma";
}
/// Of D, that a thread block takes.
int block_columns(std::uint64_t width) {
  return width <= 64 ? 64 : 128;
}
unsigned shared_bytes(int columns) {
  return columns == 64 ? TileMemory<64>::kBytes : TileMemory<128>::kBytes;
}
TileKernel kernel_of(Core core, int columns) {
  if (core == Core::warpgroup) return warpgroup_kernel(columns);
  return columns == 64 ? multiply_tiles<Core::warp, 64> : multiply_tiles<Core::warp, 128>;
}

class TilesRun : public SpmmRun {
 public:
  TilesRun(const Problem& problem, const Params& params, const Tiles& tiles)
      : SpmmRun(problem, "tiles of 128 x 64, " + std::string(name(core_of(params))),
                params.word("output") == "f16" ? Element::half : Element::single),
        columns_(block_columns(width_)),
        kernel_(kernel_of(core_of(params), columns_)),
        tile_start_(tiles.tile_start),
        tile_column_(tiles.tile_column),
        entry_start_(tiles.entry_start),
        entries_(std::span<const std::uint32_t>(tiles.entries.begin(), tiles.entries.end())),
        d_(problem.dense().front(), DenseOrder::row_major, Element::half) {
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shared_bytes(columns_))));
    set_grid(tiles, static_cast<Count>(params.integer("parts")));
    set_pointers();
    count_bytes(tile_start_, tile_column_, entry_start_, entries_, d_.values, sums_, arrived_);
    executed_["tiles"] = std::to_string(tiles.tiles());
    executed_["tile_bytes"] = std::to_string(tiles.bytes());
    executed_["parts"] = std::to_string(p_.parts);
    executed_["blocks"] = std::to_string(Count{grid_.x} * grid_.y);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    RETENSOR_CUDA_LAUNCH(kernel_, grid_, kTileThreads, shared_bytes(columns_), stream_of(timer),
                         p_);
  }

 private:
  /// As many parts as multiprocessors are left over, since a block fills one; no more than tiles.
  void set_grid(const Tiles& tiles, Count parts) {
    const Count across = device::blocks_for(width_, static_cast<unsigned>(columns_));
    const Count outputs = tiles.row_tiles() * across;
    if (parts == 0) {
      const Count most = std::max<Count>(1, tiles.tiles() / tiles.row_tiles());
      parts = std::clamp<Count>(static_cast<Count>(device::facts().sms) / outputs, 1, most);
    }
    p_.parts = static_cast<unsigned>(parts);
    grid_ = dim3(static_cast<unsigned>(tiles.row_tiles() * parts), static_cast<unsigned>(across));
    if (parts == 1) return;
    sums_ = Buffer<float>(outputs * parts * kTileRows * static_cast<Count>(columns_));
    arrived_ = Buffer<unsigned>(std::vector<unsigned>(outputs, 0));
  }
  void set_pointers() {
    p_.tile_start = tile_start_.data(), p_.tile_column = tile_column_.data();
    p_.entry_start = entry_start_.data();
    p_.entries = reinterpret_cast<const uint4*>(entries_.data());
    p_.dense = reinterpret_cast<const std::uint16_t*>(d_.values.data());
    p_.dense_stride = d_.stride, p_.dense_rows = static_cast<unsigned>(d_.rows);
    p_.out = out_.data(), p_.out_stride = out_stride_;
    p_.half_output = output_ == Element::half;
    p_.rows = static_cast<unsigned>(rows_);
    p_.sums = sums_.data(), p_.arrived = arrived_.data();
  }

  const int columns_;
  const TileKernel kernel_;
  const Buffer<Count> tile_start_;
  const Buffer<Index> tile_column_, entry_start_;
  const Buffer<std::uint32_t> entries_;
  const DeviceDense d_;
  Buffer<float> sums_;
  Buffer<unsigned> arrived_;
  DeviceTiles p_;
  dim3 grid_;
};

}  // namespace

std::string tiles_obstacle(const Problem& problem, const Params& params) {
  const int columns = block_columns(problem.rank());
  if (core_of(params) == Core::warpgroup) {
    if (warpgroup_kernel(columns) == nullptr) return "this build has no code for sm_90a";
    if (device::facts().major != kHopper) return "products of a warpgroup are Hopper's";
  }
  const Count most = device::facts().shared_per_block;
  if (shared_bytes(columns) <= most) return "";
  return "a thread block takes " + std::to_string(shared_bytes(columns)) +
         " bytes of shared memory, the device gives " + std::to_string(most);
}

std::unique_ptr<Prepared> prepare_tiles_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<TilesRun>(problem, params, to_tiles(to_csr(problem.x())));
}

}  // namespace retensor::tca_spmm
