// The run of tca_spmm.cuda.gather; the kernel stands in gather_cuda.cuh.
#include "papers/tca_spmm/kernels/gather_cuda.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/kernels/gather_cuda.cuh"
#include "papers/tca_spmm/kernels/run_cuda.cuh"

namespace retensor::tca_spmm {
namespace {

/// The longest first.
std::vector<GatherRow> by_length(const Csr& s) {
  std::vector<GatherRow> rows(s.rows);
  for (Count r = 0; r < s.rows; ++r)
    rows[r] = {static_cast<Index>(s.row_start[r]),
               static_cast<Index>(s.row_start[r + 1] - s.row_start[r]), static_cast<Index>(r), 0};
  std::stable_sort(rows.begin(), rows.end(),
                   [](const GatherRow& a, const GatherRow& b) { return a.length > b.length; });
  return rows;
}

/// A row is divided where there are too few for every multiprocessor's warps, or long ones.
unsigned parts_for(const Csr& s, Count width) {
  const Count groups = s.rows * device::blocks_for(width, kGatherColumns);
  const Count resident = static_cast<Count>(device::facts().sms) * 2048 / kGatherLanes;
  const Count mean = s.rows == 0 ? 0 : s.nnz() / s.rows;
  for (unsigned parts = 4; parts > 1; parts /= 2)
    if (groups * parts <= resident && mean >= parts * kGatherLanes) return parts;
  return 1;
}

template <class C>
class GatherRun : public SpmmRun {
 public:
  GatherRun(const Problem& problem, const Params& params, const Csr& s)
      : SpmmRun(problem, "eight lanes a row, rows of D gathered",
                {Element::half, output_of(params)}),
        s_rows_(by_length(s)),
        columns_(std::vector<C>(s.columns.begin(), s.columns.end())),
        values_(upload_elements(s.values.as<float>(), Element::half)) {
    const std::string& parts = params.word("parts");
    parts_ = parts == "auto" ? parts_for(s, width_) : static_cast<unsigned>(std::stoul(parts));
    count_bytes(s_rows_, columns_, values_);
    x_.rows = s_rows_.data(), x_.columns = columns_.data();
    x_.values = reinterpret_cast<const std::uint16_t*>(values_.data());
    x_.dense = reinterpret_cast<const uint4*>(d_.values.data());
    x_.out = out_.data(), x_.row_count = static_cast<unsigned>(rows_);
    x_.vectors = static_cast<unsigned>(d_.stride / kHalvesOfVector);
    x_.half_output = output_ == Element::half;
    kernel_ = parts_ == 1 ? gather_rows<C, 1> : parts_ == 2 ? gather_rows<C, 2> : gather_rows<C, 4>;
    executed_["parts"] = std::to_string(parts_);
    executed_["column_bits"] = std::to_string(8 * sizeof(C));
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const dim3 grid(device::blocks_for(rows_ * kGatherLanes * parts_, kGatherThreads),
                    device::blocks_for(width_, kGatherColumns));
    RETENSOR_CUDA_LAUNCH(kernel_, grid, kGatherThreads, 0, stream_of(timer), x_);
  }

 private:
  const Buffer<GatherRow> s_rows_;
  const Buffer<C> columns_;
  const Buffer<std::byte> values_;
  unsigned parts_ = 1;
  GatherOperands<C> x_;
  void (*kernel_)(GatherOperands<C>) = nullptr;
};

}  // namespace

std::unique_ptr<Prepared> prepare_gather_cuda(const Problem& problem, const Params& params) {
  const Csr s = to_csr(problem.x());
  if (s.cols <= std::numeric_limits<std::uint16_t>::max() + Count{1})
    return std::make_unique<GatherRun<std::uint16_t>>(problem, params, s);
  return std::make_unique<GatherRun<Index>>(problem, params, s);
}

}  // namespace retensor::tca_spmm
