// The run of tca_spmm.cuda.gather; the kernel stands in gather_cuda.cuh.
#include "papers/tca_spmm/kernels/prepare_cuda.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/numeric/rounding.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/kernels/gather_cuda.cuh"
#include "papers/tca_spmm/kernels/run_cuda.cuh"

namespace retensor::tca_spmm {
namespace {

/// The longest first.
std::vector<GatherRow> gather_rows_of(const Csr& s) {
  std::vector<GatherRow> rows(s.rows);
  for (Count r = 0; r < s.rows; ++r)
    rows[r] = {static_cast<Index>(s.row_start[r]),
               static_cast<Index>(s.row_start[r + 1] - s.row_start[r]), static_cast<Index>(r), 0};
  std::stable_sort(rows.begin(), rows.end(),
                   [](const GatherRow& a, const GatherRow& b) { return a.length > b.length; });
  return rows;
}

/// Values rounded to halves.
std::vector<GatherEntry> gather_entries_of(const Csr& s, Count vectors) {
  std::vector<GatherEntry> entries(s.nnz());
  const auto values = s.values.as<float>();
  for (Count p = 0; p < entries.size(); ++p)
    entries[p] = {static_cast<Index>(s.columns[p] * vectors),
                  from_fp16_bits(to_fp16_bits(values[p]))};
  return entries;
}

class GatherRun : public SpmmRun {
 public:
  GatherRun(const Problem& problem, Element output, bool passed, const Csr& s)
      : SpmmRun(problem, "rows of D gathered for a row of S", {Element::half, output}),
        s_rows_(gather_rows_of(s)),
        entries_(gather_entries_of(s, d_.stride / kHalvesOfVector)) {
    count_bytes(s_rows_, entries_);
    x_.rows = s_rows_.data(), x_.entries = entries_.data();
    x_.dense = reinterpret_cast<const uint4*>(d_.values.data());
    x_.out = out_.data(), x_.row_count = static_cast<unsigned>(rows_);
    x_.vectors = static_cast<unsigned>(d_.stride / kHalvesOfVector);
    x_.half_output = output_ == Element::half;
    kernel_ = passed ? gather_rows<true> : gather_rows<false>;
    lanes_ = passed ? kPassedLanes : kEachLanes;
    executed_["walk"] = passed ? "passed" : "each";
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const dim3 grid(device::blocks_for(rows_ * lanes_, kGatherThreads),
                    device::blocks_for(width_, lanes_ * kHalvesOfVector));
    RETENSOR_CUDA_LAUNCH(kernel_, grid, kGatherThreads, 0, stream_of(timer), x_);
  }

 private:
  const Buffer<GatherRow> s_rows_;
  const Buffer<GatherEntry> entries_;
  GatherOperands x_;
  void (*kernel_)(GatherOperands) = nullptr;
  unsigned lanes_ = 0;
};

}  // namespace

std::unique_ptr<Prepared> prepare_gather_cuda(const Problem& problem, const Params& params) {
  const Csr s = to_csr(problem.x());
  const std::string& walk = params.word("walk");
  const bool passed = walk == "auto" ? s.nnz() >= kPassedLanes * s.rows : walk == "passed";
  return std::make_unique<GatherRun>(problem, output_of(params), passed, s);
}

}  // namespace retensor::tca_spmm
