// The run of sputnik.cuda; its kernels stand in staged_rows_cuda.cuh and shuffled_rows_cuda.cuh.
#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/method/method.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/baselines/sputnik/shuffled_rows_cuda.cuh"
#include "papers/tca_spmm/baselines/sputnik/staged_rows_cuda.cuh"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/kernels/run_cuda.cuh"

namespace retensor::sputnik {
namespace {

using device::Buffer;
using tca_spmm::Element;

std::vector<Row> rows_of(const Csr& s, bool by_length) {
  std::vector<Row> rows(s.rows);
  for (Count r = 0; r < s.rows; ++r)
    rows[r] = {s.row_start[r], static_cast<Index>(s.row_start[r + 1] - s.row_start[r]),
               static_cast<Index>(r)};
  if (by_length)
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.length > b.length; });
  return rows;
}

/// With entries behind the last, which the kernel may read.
Csr padded(Csr s) {
  const Count nnz = s.nnz() + kStep<std::uint16_t>;
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

const char* const kWalks[] = {"in_turn", "ahead", "shuffled"};

/// A kernel for operands T and columns C of S, and the columns of D that a warp takes.
struct Walk {
  void (*kernel)(DeviceRows) = nullptr;
  unsigned columns = 0;
};

template <class T, class C>
Walk walk_of(std::string_view name, Count width) {
  constexpr unsigned kVectors = kColumns / kRowLanes / Lane<T>::kVector;
  if (name == "in_turn") return {multiply_staged_rows<T, C, false>, kColumns};
  if (name == "ahead") return {multiply_staged_rows<T, C, true>, kColumns};
  if (width <= 2 * kColumns) return {multiply_shuffled_rows<T, C, kVectors, 8>, kColumns};
  return {multiply_shuffled_rows<T, C, 2 * kVectors, 4>, 2 * kColumns};
}

class RowsRun : public tca_spmm::SpmmRun {
 public:
  RowsRun(const Problem& problem, const Params& params, Csr s)
      : SpmmRun(problem, "eight threads a row", tca_spmm::types_of(params)),
        s_rows_(rows_of(s, params.word("order") == "by_length")),
        narrow_columns_(narrowed(s = padded(std::move(s)))),
        s_(s, operands_) {
    count_bytes(s_rows_, narrow_columns_, s_.columns, s_.values);
    p_.rows = s_rows_.data();
    p_.columns =
        are_narrow() ? static_cast<const void*>(narrow_columns_.data()) : s_.columns.data();
    p_.values = s_.values.data();
    p_.dense = d_.values.data(), p_.dense_stride = d_.stride;
    p_.dense_vectors = static_cast<Index>(d_.stride * tca_spmm::size_of(operands_) / 16);
    p_.out = out_.data(), p_.out_stride = out_stride_;
    p_.row_count = static_cast<unsigned>(rows_);
    p_.half_output = output_ == Element::half;
    const std::string& walk = params.word("walk");
    executed_["walk"] = walk == "auto" ? fastest_walk() : walk;
    walk_ = walk_of(executed_["walk"]);
    executed_["column_bits"] = are_narrow() ? "16" : "32";
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const dim3 grid(device::blocks_for(rows_, kBlockRows),
                    device::blocks_for(width_, walk_.columns));
    RETENSOR_CUDA_LAUNCH(walk_.kernel, grid, kWarps * kWarpSize, 0, stream_of(timer), p_);
  }

 private:
  bool are_narrow() const { return narrow_columns_.size() > 0; }
  Walk walk_of(std::string_view name) const {
    using sputnik::walk_of;
    if (operands_ == Element::half)
      return are_narrow() ? walk_of<std::uint16_t, std::uint16_t>(name, width_)
                          : walk_of<std::uint16_t, Index>(name, width_);
    return are_narrow() ? walk_of<float, std::uint16_t>(name, width_)
                        : walk_of<float, Index>(name, width_);
  }

  /// By the best of three runs of each.
  std::string fastest_walk() {
    const auto timer = device::make_event_timer();
    std::string fastest;
    double least = std::numeric_limits<double>::max();
    for (const char* name : kWalks) {
      walk_ = walk_of(name);
      for (int turn = 0; turn < 3; ++turn) {
        timer->start();
        run(*timer);
        const double seconds = timer->stop().back().second;
        if (seconds < least) fastest = name, least = seconds;
      }
    }
    return fastest;
  }

  const Buffer<Row> s_rows_;
  const Buffer<std::uint16_t> narrow_columns_;
  const tca_spmm::DeviceCsr s_;
  DeviceRows p_;
  Walk walk_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<RowsRun>(problem, params, to_csr(problem.x()));
}

}  // namespace retensor::sputnik
