// The kernels of tca_spmm.cuda.tiles for sm_90a, compiled apart from those for any device.
#include "papers/tca_spmm/kernels_tiles.cuh"

namespace retensor::tca_spmm {

TileKernel warpgroup_kernel(int columns) {
  return columns == 64 ? multiply_tiles<Core::warpgroup, 64> : multiply_tiles<Core::warpgroup, 128>;
}

}  // namespace retensor::tca_spmm
