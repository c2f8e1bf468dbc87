// The run of sputnik.cuda; the kernel stands in kernels.cuh.
#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/baselines/competitor.hpp"
#include "papers/tca_spmm/baselines/sputnik/kernels.cuh"
#include "papers/tca_spmm/baselines/sputnik/prepare.hpp"
#include "papers/tca_spmm/cuda_run.cuh"

namespace retensor::sputnik {
namespace {

using device::Buffer;
using tca_spmm::Element;

std::vector<Row> rows_of(const Csr& s, bool by_length) {
  std::vector<Row> rows(s.rows);
  for (Count r = 0; r < s.rows; ++r)
    rows[r] = {s.row_start[r], s.row_start[r + 1], static_cast<Index>(r)};
  if (by_length)
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.end - a.begin > b.end - b.begin; });
  return rows;
}

/// With entries behind the last, which the kernel may read.
Csr padded(Csr s) {
  const Count nnz = s.nnz() + Lane<std::uint16_t>::kStep;
  Values values(DType::f32, nnz);
  const auto from = s.values.as<float>();
  std::copy(from.begin(), from.end(), values.as<float>().begin());
  s.values = std::move(values);
  s.columns.resize(nnz, 0);
  return s;
}

/// In 16 bits where they fit; `columns` is empty then.
std::vector<std::uint16_t> narrowed(Csr& s) {
  if (s.cols > std::numeric_limits<std::uint16_t>::max() + Count{1}) return {};
  std::vector<std::uint16_t> narrow(s.columns.begin(), s.columns.end());
  s.columns.clear();
  return narrow;
}

using Kernel = void (*)(DeviceRows);

template <class T, class C>
Kernel kernel_of(bool rows_ahead) {
  return rows_ahead ? multiply_rows<T, C, true> : multiply_rows<T, C, false>;
}

class RowsRun : public tca_spmm::SpmmRun {
 public:
  RowsRun(const Problem& problem, const Params& params, Csr s)
      : SpmmRun(problem, "eight threads a row", tca_spmm::types_of(params).output),
        operands_(tca_spmm::types_of(params).operands),
        s_rows_(rows_of(s, params.word("order") == "by_length")),
        narrow_columns_(narrowed(s = padded(std::move(s)))),
        s_(s, operands_),
        d_(problem.dense().front(), tca_spmm::DenseOrder::row_major, operands_) {
    count_bytes(s_rows_, narrow_columns_, s_.columns, s_.values, d_.values);
    p_.rows = s_rows_.data();
    p_.columns =
        are_narrow() ? static_cast<const void*>(narrow_columns_.data()) : s_.columns.data();
    p_.values = s_.values.data();
    p_.dense = d_.values.data(), p_.dense_stride = d_.stride;
    p_.dense_vectors = static_cast<Index>(d_.stride * tca_spmm::size_of(operands_) / 16);
    p_.out = out_.data(), p_.out_stride = out_stride_;
    p_.row_count = static_cast<unsigned>(rows_);
    p_.half_output = output_ == Element::half;
    const std::string& ahead = params.word("ahead");
    const bool rows_ahead = ahead == "auto" ? is_faster_ahead() : ahead == "on";
    kernel_ = kernel(rows_ahead);
    executed_["ahead"] = rows_ahead ? "on" : "off";
    executed_["column_bits"] = are_narrow() ? "16" : "32";
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const dim3 grid(device::blocks_for(rows_, kWarps * kWarpRows),
                    device::blocks_for(width_, kColumns));
    RETENSOR_CUDA_LAUNCH(kernel_, grid, kWarps * kWarpSize, 0, stream_of(timer), p_);
  }

 private:
  bool are_narrow() const { return narrow_columns_.size() > 0; }
  Kernel kernel(bool rows_ahead) const {
    if (operands_ == Element::half)
      return are_narrow() ? kernel_of<std::uint16_t, std::uint16_t>(rows_ahead)
                          : kernel_of<std::uint16_t, Index>(rows_ahead);
    return are_narrow() ? kernel_of<float, std::uint16_t>(rows_ahead)
                        : kernel_of<float, Index>(rows_ahead);
  }

  /// By the better of three runs of each.
  bool is_faster_ahead() {
    const auto timer = device::make_event_timer();
    double seconds[2];
    for (const bool ahead : {false, true}) {
      kernel_ = kernel(ahead);
      seconds[ahead] = std::numeric_limits<double>::max();
      for (int turn = 0; turn < 3; ++turn) {
        timer->start();
        run(*timer);
        seconds[ahead] = std::min(seconds[ahead], timer->stop().back().second);
      }
    }
    return seconds[true] < seconds[false];
  }

  const Element operands_;
  const Buffer<Row> s_rows_;
  const Buffer<std::uint16_t> narrow_columns_;
  const tca_spmm::DeviceCsr s_;
  const tca_spmm::DeviceDense d_;
  DeviceRows p_;
  Kernel kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<RowsRun>(problem, params, to_csr(problem.x()));
}

}  // namespace retensor::sputnik
