// Tensors without chance: that of matrix multiplication (Kolda and Bader 2009, section 3.3: its CP
// rank is the number of products that a bilinear algorithm needs), and the five-point
// discretisation of the Poisson equation, the model problem among sparse matrices.
#include "common/core/error.hpp"
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

Coo poisson_2d(std::uint64_t nx, std::uint64_t ny, DType dtype) {
  if (nx == 0 || ny == 0) throw InputError("the grid has no points");
  const std::uint64_t points = checked_volume({nx, ny});
  Coo matrix({points, points}, dtype);
  const Count nnz = 5 * points - 2 * nx - 2 * ny;
  for (auto& mode : matrix.indices) mode.reserve(nnz);
  const auto add = [&matrix](std::uint64_t row, std::uint64_t column) {
    matrix.indices[0].push_back(static_cast<Index>(row));
    matrix.indices[1].push_back(static_cast<Index>(column));
  };
  for (std::uint64_t y = 0; y < ny; ++y)
    for (std::uint64_t x = 0; x < nx; ++x) {
      const std::uint64_t p = y * nx + x;
      if (y > 0) add(p, p - nx);
      if (x > 0) add(p, p - 1);
      add(p, p);
      if (x + 1 < nx) add(p, p + 1);
      if (y + 1 < ny) add(p, p + nx);
    }
  matrix.values = Values(dtype, nnz);
  matrix.values.visit([&matrix]<class T>(Array<T>& values) {
    for (Count i = 0; i < values.size(); ++i)
      values[i] = matrix.indices[0][i] == matrix.indices[1][i] ? T{4} : T{-1};
  });
  return matrix;
}

}  // namespace retensor
