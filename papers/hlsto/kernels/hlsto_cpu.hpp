// MTTKRP and TTM-chain on HLS with an emulated tensor core (HLSTO section VI.A, Algorithm 1).
//
// A dense tile is S slices along the output's mode. With the rows of B and C that belong to the
// tile, a slice X_i gives Y(i, :, :) += B^T (X_i C) (eq. 7, TTM-chain), of which MTTKRP takes the
// diagonal (eq. 10). Both products are MMAs of 16 x 16 x 16 on operands rounded to the type of the
// tensor core, the result of X_i C being the operand of the second; slices shorter than 16 are
// padded with zeros, longer ones are several fragments, and columns are taken 16 at a time. MTTKRP
// needs the diagonal blocks of the second product alone.
// A sparse nonzero adds its value times the rows of the factors, in single precision (eq. 3 and 4).
//
// Orders above 3: a kept mode has one index in the whole tile, so its row multiplies the tile's
// result: elementwise in MTTKRP, by the Kronecker product in TTM-chain. An output along a kept mode
// is one row of the result, to which every slice adds its own times its row of the third tiled
// factor.
//
// Deviations: Algorithm 1 clears neither y_frag between slices (line 25 would add one slice to the
// next) nor steps its values from slice to slice (line 21); its sums race with those of other tiles
// (line 26). Here a slice begins with zero, its values are those of its bits, and sums are atomic.
#pragma once

#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/method/method.hpp"
#include "papers/hlsto/format/chain.hpp"
#include "papers/hlsto/format/options.hpp"

namespace retensor::hlsto {

class Worker;

/// The product of a tensor that others keep, with the room that its threads work in.
class Product {
 public:
  /// `out`: I_mode x width, zeros when a run begins.
  Product(const Hls& hls, const Chain& chain, Arithmetic arithmetic, MatrixView<float> out,
          int threads);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  /// Adds the tensor's result to `out`; allocates nothing.
  void run();

 private:
  const Hls& hls_;
  std::vector<std::unique_ptr<Worker>> workers_;  // one a thread
};

/// The run of hlsto.cpu: the format and the algorithm of the GPU's form, so that sizes, counts and
/// errors are the same on any machine.
class CpuRun : public Prepared {
 public:
  CpuRun(const Problem& problem, const Params& params)
      : problem_(problem),
        chain_(problem),
        arithmetic_(arithmetic_of(params)),
        threads_(params.integer("threads") > 0 ? static_cast<int>(params.integer("threads"))
                                               : omp_get_max_threads()),
        hls_(to_hls(problem.x(), format_options(problem, params))),
        out_(problem.x().dims[static_cast<std::size_t>(problem.mode())], chain_.width,
             problem.dtype()),
        product_(hls_, chain_, arithmetic_, out_.view<float>(), threads_) {}

  void run(StageTimer& timer) override {
    timer.stage("zero");
    const auto values = out_.values().as<float>();
    std::fill(values.begin(), values.end(), 0.0f);
    timer.stage("kernel");
    product_.run();
  }

  Result result() override { return out_; }

  Executed executed() const override {
    Executed facts = format_facts(hls_);
    facts["kernel"] = "HLSTO with an emulated tensor core";
    facts["precision"] = std::string(name(arithmetic_));
    facts["mma"] = std::to_string(mma_count(hls_, chain_, arithmetic_));
    facts["threads"] = std::to_string(threads_);
    if (hls_.nnz() <= kDrawnNonzeros) facts["layout"] = layout_text(hls_);
    return facts;
  }
  Footprint footprint() const override { return {hls_.bytes(), 0}; }
  Work work() const override { return work_model(problem_); }

 private:
  static constexpr Count kDrawnNonzeros = 16;  // larger tensors are not drawn in rows

  const Problem& problem_;
  const Chain chain_;
  const Arithmetic arithmetic_;
  const int threads_;
  const Hls hls_;
  Matrix out_;
  Product product_;
};

}  // namespace retensor::hlsto
