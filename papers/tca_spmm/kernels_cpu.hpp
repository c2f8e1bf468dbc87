// O = S D with an emulated tensor core (TCA-SpMM Algorithms 2 to 4), a thread block after another.
//
// Each warp of a plan (plan.hpp) takes the tiles of its share. Of a tile it accumulates the MMAs of
// all its chunks in one fragment (Algorithm 3, lines 7 to 17; a row of one chunk: Algorithm 4),
// takes the traces (matricize.hpp) and stores the outputs. Each output belongs to one warp; where
// warps divide the nonzeros of a row its outputs are added atomically.
//
// Deviations: fragments are filled from S and D at once, a host needs no scratch pad, no compressed
// RHS buffer and no output buffer; the tile loop is outside of the chunk loop, since outputs of a
// warp wait in no registers. No sum changes its order by either.
#pragma once

#include <memory>
#include <vector>

#include "common/tensor/matrix.hpp"
#include "papers/tca_spmm/format.hpp"
#include "papers/tca_spmm/plan.hpp"

namespace retensor::tca_spmm {

class Worker;

/// The product of operands that others keep.
class Product {
 public:
  /// `out`: rows of S x columns of D, zeros when a run begins.
  Product(const HalfCsr& s, const HalfMatrix& d, const Plan& plan, MatrixView<float> out,
          int threads);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  /// Adds S D to `out`; allocates nothing.
  void run();
  /// MMAs that the last run issued, counted one by one.
  Count mma() const;

 private:
  const Plan& plan_;
  std::vector<std::unique_ptr<Worker>> workers_;  // one a thread
};

}  // namespace retensor::tca_spmm
