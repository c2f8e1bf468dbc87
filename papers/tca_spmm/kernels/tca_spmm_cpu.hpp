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

#include <algorithm>

#include "common/numeric/rounding.hpp"
#include "common/run/cpu_run.hpp"
#include "common/tensor/matrix.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/operands.hpp"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/format/plan.hpp"

namespace retensor::tca_spmm {

/// Adds S D to `out`, rows of S x columns of D, and returns the MMAs issued, counted one by one;
/// allocates nothing.
Count multiply(const HalfCsr& s, const HalfMatrix& d, const Plan& plan, MatrixView<float> out,
               int threads);

/// The run of tca_spmm.cpu: plan and algorithm of the GPU's form, so that counts, balance and
/// errors are the same on any machine.
class PlanRun : public CpuRun {
 public:
  PlanRun(const Problem& problem, const Params& params)
      : CpuRun(problem, thread_count(params), "TCA-SpMM with an emulated tensor core"),
        output_(output_of(params)),
        s_(to_half_csr(to_csr(problem.x()))),
        d_(problem.dense().front(), dense_order(params)),
        plan_(make_plan(s_.row_start, d_.cols(), plan_options(params))),
        out_(s_.rows, d_.cols(), problem.dtype()) {
    format_bytes_ = s_.bytes() + plan_.bytes() + d_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("zero");
    const auto values = out_.values().as<float>();
    std::fill(values.begin(), values.end(), 0.0f);
    timer.stage("kernel");
    mma_ = multiply(s_, d_, plan_, out_.view<float>(), threads_);
    if (output_ == Element::half)
      std::transform(values.begin(), values.end(), values.begin(), round_fp16);
  }

  Result result() override { return out_; }

  Executed executed() const override {
    Executed facts = CpuRun::executed();
    facts.merge(plan_facts(plan_, s_.row_start));
    facts["mma"] = std::to_string(mma_);
    if (s_.nnz() <= kDrawnNonzeros) facts["layout"] = layout_text(plan_, s_.row_start);
    return facts;
  }

 private:
  static constexpr Count kDrawnNonzeros = 128;  // larger matrices are not drawn in rows

  const Element output_;
  const HalfCsr s_;
  const HalfMatrix d_;
  const Plan plan_;
  Matrix out_;
  Count mma_ = 0;  // of the last run
};

}  // namespace retensor::tca_spmm
