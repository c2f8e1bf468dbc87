// The kernels of tca_spmm.cuda.tiles for sm_90a, compiled apart from what any device runs.
#include "papers/tca_spmm/kernels/tiles_cuda.cuh"

namespace retensor::tca_spmm {

TileKernel tile_kernel(int columns) {
  return columns == 64 ? multiply_tiles<64> : multiply_tiles<128>;
}

}  // namespace retensor::tca_spmm
