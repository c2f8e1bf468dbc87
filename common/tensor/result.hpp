// What an operation returns.
#pragma once

#include <variant>
#include <vector>

#include "common/tensor/coo.hpp"
#include "common/tensor/matrix.hpp"
#include "common/tensor/semi_sparse.hpp"

namespace retensor {

/// A CP model: the weighted sum of rank-one tensors, with the fit after each sweep.
struct KruskalModel {
  std::vector<double> weights;
  std::vector<Matrix> factors;  ///< one per mode, I_m x R, columns of unit 2-norm
  std::vector<double> fit;      ///< 1 - |X - model|_F / |X|_F after each sweep
};

/// Matrix: mttkrp, ttm_chain, spmm. Coo: tew, ts, ttv, contraction. SemiSparseCoo: ttm.
/// KruskalModel: cpd.
using Result = std::variant<Matrix, Coo, SemiSparseCoo, KruskalModel>;

}  // namespace retensor
