// The run of tca_spmm.cuda.tiles; the kernel stands in tiles_cuda.cuh.
#include "papers/tca_spmm/kernels/prepare_cuda.hpp"

#include <cuda.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/device/device.hpp"
#include "common/device/shared.cuh"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/kernels/run_cuda.cuh"
#include "papers/tca_spmm/kernels/tiles_cuda.cuh"

namespace retensor::tca_spmm {

#ifndef RETENSOR_WARPGROUP
TileKernel tile_kernel(int) {
  return nullptr;
}
#endif

namespace {

constexpr int kHopper = 9;  // compute capability, major

/// Boxes of `box_rows` x 64 halves of a row-major matrix of halves on the device, in the 128-byte
/// swizzle; elements outside the matrix are zeros. `stride`, the elements between rows, is a
/// multiple of 8. Throws DeviceError where the driver knows no such maps.
CUtensorMap map_of_halves(const void* matrix, Count rows, Count cols, Count stride,
                          unsigned box_rows) {
  // The driver's function by the runtime: a program that links the driver itself starts nowhere
  // else.
  constexpr unsigned kSinceCuda = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  RETENSOR_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                       kSinceCuda, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess)
    throw DeviceError("the driver has no cuTensorMapEncodeTiled");
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  const cuuint64_t sizes[] = {cols, rows}, strides[] = {stride * sizeof(std::uint16_t)};
  const cuuint32_t box[] = {64, box_rows}, every[] = {1, 1};
  CUtensorMap map;
  const CUresult status =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void*>(matrix), sizes, strides,
             box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw DeviceError("cuTensorMapEncodeTiled: error " + std::to_string(status));
  return map;
}

/// Of D, that a thread block takes.
int block_columns(std::uint64_t width) {
  return width <= 64 ? 64 : 128;
}

/// The tiles of a row in equal parts.
std::vector<Count> part_start(const Tiles& tiles, Count parts) {
  std::vector<Count> start = {0};
  for (Count row = 0; row < tiles.row_tiles(); ++row) {
    const Count begin = tiles.tile_start[row], all = tiles.tile_start[row + 1] - begin;
    for (Count part = 1; part <= parts; ++part) start.push_back(begin + all * part / parts);
  }
  return start;
}

class TilesRun : public SpmmRun {
 public:
  TilesRun(const Problem& problem, const Params& params, const Tiles& tiles)
      : SpmmRun(problem, "tiles of 128 x 64, wgmma", {Element::half, output_of(params)}),
        columns_(block_columns(width_)),
        kernel_(tile_kernel(columns_)),
        tile_column_(tiles.tile_column),
        word_start_(tiles.word_start),
        words_(std::span<const std::uint32_t>(tiles.words.begin(), tiles.words.end())) {
    set_stages(tiles.most_words() * sizeof(std::uint32_t));
    set_grid(tiles, params.word("parts"));
    set_pointers();
    count_bytes(part_start_, tile_column_, word_start_, words_);
    executed_["tiles"] = std::to_string(tiles.tiles());
    executed_["tile_bytes"] = std::to_string(tiles.bytes());
    executed_["parts"] = std::to_string(p_.parts);
    executed_["blocks"] = std::to_string(Count{config_.gridDim.x} * config_.gridDim.y);
    executed_["stages"] = std::to_string(p_.stages);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    config_.stream = stream_of(timer);
    RETENSOR_CUDA_CHECK(cudaLaunchKernelEx(&config_, kernel_, p_));
  }

 private:
  void set_grid(const Tiles& tiles, const std::string& given) {
    const Count across = device::blocks_for(width_, static_cast<unsigned>(columns_));
    config_.blockDim = dim3(kTileThreads);
    config_.attrs = &cluster_, config_.numAttrs = 1;
    const Count parts = given == "auto" ? default_parts(tiles, tiles.row_tiles() * across)
                                        : static_cast<Count>(std::stoi(given));
    set_parts(parts);
    config_.gridDim =
        dim3(static_cast<unsigned>(tiles.row_tiles() * parts), static_cast<unsigned>(across));
    part_start_ = Buffer<Count>(part_start(tiles, parts));
  }
  /// A cluster is the parts of a row of tiles.
  void set_parts(Count parts) {
    p_.parts = static_cast<unsigned>(parts);
    config_.gridDim = dim3(p_.parts);
    cluster_.id = cudaLaunchAttributeClusterDimension;
    cluster_.val.clusterDim.x = p_.parts;
    cluster_.val.clusterDim.y = cluster_.val.clusterDim.z = 1;
  }
  /// As many parts as let all clusters run at once, with tiles for each.
  Count default_parts(const Tiles& tiles, Count clusters) {
    Count parts = 1;
    for (Count more = 2; more <= kMostParts && more * kTurns * tiles.row_tiles() <= tiles.tiles();
         more *= 2) {
      set_parts(more);
      int at_once = 0;
      RETENSOR_CUDA_CHECK(cudaOccupancyMaxActiveClusters(&at_once, kernel_, &config_));
      if (clusters > static_cast<Count>(at_once)) break;
      parts = more;
    }
    return parts;
  }
  /// As many stages as shared memory holds.
  void set_stages(Count tile_bytes) {
    const auto bytes = [&](unsigned stages) {
      return columns_ == 64 ? TileMemory<64>::bytes(stages, p_.tile_bytes)
                            : TileMemory<128>::bytes(stages, p_.tile_bytes);
    };
    p_.tile_bytes = static_cast<unsigned>(tile_bytes);
    p_.stages = kMostStages;
    while (p_.stages > kFewestStages && bytes(p_.stages) > device::facts().shared_per_block)
      --p_.stages;
    config_.dynamicSmemBytes = bytes(p_.stages);
    device::allow_shared(kernel_, config_.dynamicSmemBytes);
  }
  void set_pointers() {
    p_.dense = map_of_halves(d_.values.data(), d_.rows, d_.stride, d_.stride, kTileDepth);
    p_.part_start = part_start_.data();
    p_.tile_column = tile_column_.data(), p_.word_start = word_start_.data();
    p_.words = reinterpret_cast<const uint4*>(words_.data());
    p_.out = out_.data(), p_.out_stride = out_stride_;
    p_.half_output = output_ == Element::half;
    p_.rows = static_cast<unsigned>(rows_);
  }

  const int columns_;
  const TileKernel kernel_;
  Buffer<Count> part_start_;
  const Buffer<Index> tile_column_, word_start_;
  const Buffer<std::uint32_t> words_;
  DeviceTiles p_;
  cudaLaunchAttribute cluster_{};
  cudaLaunchConfig_t config_{};
};

}  // namespace

std::string tiles_obstacle() {
  if (tile_kernel(64) == nullptr) return "this build has no code for sm_90a";
  if (device::facts().major != kHopper) return "products of a warpgroup are Hopper's";
  return "";
}

std::unique_ptr<Prepared> prepare_tiles_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<TilesRun>(problem, params, to_tiles(to_csr(problem.x())));
}

}  // namespace retensor::tca_spmm
