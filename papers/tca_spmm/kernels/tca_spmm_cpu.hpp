// O = S D with an emulated tensor core (TCA-SpMM Algorithms 2 to 4), a thread block after another.
//
// Each warp of a plan (format/plan.hpp) takes the tiles of its share. Of a tile it accumulates the
// MMAs of all its chunks in one fragment (Algorithm 3, lines 7 to 17; a row of one chunk: Algorithm
// 4), takes the traces (format/matricize.hpp) and stores the outputs. Each output belongs to one
// warp; where warps divide the nonzeros of a row its outputs are added atomically.
//
// Deviations: fragments are filled from S and D at once, a host needs no scratch pad, no compressed
// RHS buffer and no output buffer; the tile loop is outside of the chunk loop, since outputs of a
// warp wait in no registers. No sum changes its order by either.
#pragma once

#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/method/method.hpp"
#include "common/numeric/rounding.hpp"
#include "common/tensor/matrix.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/operands.hpp"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/format/plan.hpp"

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

/// The run of tca_spmm.cpu: plan and algorithm of the GPU's form, so that counts, balance and
/// errors are the same on any machine.
class CpuRun : public Prepared {
 public:
  CpuRun(const Problem& problem, const Params& params)
      : problem_(problem),
        threads_(params.integer("threads") > 0 ? static_cast<int>(params.integer("threads"))
                                               : omp_get_max_threads()),
        half_output_(params.word("output") == "f16"),
        s_(to_half_csr(to_csr(problem.x()))),
        d_(problem.dense().front(), dense_order(params)),
        plan_(make_plan(s_.row_start, d_.cols(), plan_options(params))),
        out_(s_.rows, d_.cols(), problem.dtype()),
        product_(s_, d_, plan_, out_.view<float>(), threads_) {}

  void run(StageTimer& timer) override {
    timer.stage("zero");
    const auto values = out_.values().as<float>();
    std::fill(values.begin(), values.end(), 0.0f);
    timer.stage("kernel");
    product_.run();
    if (half_output_) std::transform(values.begin(), values.end(), values.begin(), round_fp16);
  }

  Result result() override { return out_; }

  Executed executed() const override {
    Executed facts = plan_facts(plan_, s_.row_start);
    facts["kernel"] = "TCA-SpMM with an emulated tensor core";
    facts["mma"] = std::to_string(product_.mma());
    facts["threads"] = std::to_string(threads_);
    if (s_.nnz() <= kDrawnNonzeros) facts["layout"] = layout_text(plan_, s_.row_start);
    return facts;
  }
  Footprint footprint() const override { return {s_.bytes() + plan_.bytes() + d_.bytes(), 0}; }
  Work work() const override { return work_model(problem_); }

 private:
  static constexpr Count kDrawnNonzeros = 128;  // larger matrices are not drawn in rows

  const Problem& problem_;
  const int threads_;
  const bool half_output_;
  const HalfCsr s_;
  const HalfMatrix d_;
  const Plan plan_;
  Matrix out_;
  Product product_;
};

}  // namespace retensor::tca_spmm
