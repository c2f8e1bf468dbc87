// The tensor of matrix multiplication (Kolda and Bader 2009, section 3.3: its CP rank is the number
// of products that a bilinear algorithm needs).
#include "common/generate/generators.hpp"

namespace retensor {

Coo matmul_tensor(std::uint64_t m, std::uint64_t n, std::uint64_t k, DType dtype) {
  const Count nnz = checked_volume({m, n, k});
  Coo tensor({checked_volume({m, n}), checked_volume({n, k}), checked_volume({m, k})}, dtype, nnz);
  for (Count x = 0; x < nnz; ++x) {
    const std::uint64_t i = x / (n * k), j = x / k % n, l = x % k;
    tensor.indices[0][x] = static_cast<Index>(i * n + j);
    tensor.indices[1][x] = static_cast<Index>(j * k + l);
    tensor.indices[2][x] = static_cast<Index>(i * k + l);
  }
  tensor.values = draw_values(ValueModel::ones, dtype, nnz, 0, 0);
  return tensor;
}

}  // namespace retensor
