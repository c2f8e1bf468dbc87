// The run of sputnik.cuda; the kernel stands in kernels.cuh.
#include <algorithm>
#include <numeric>
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

std::vector<Index> order_of(const Csr& s, bool by_length) {
  std::vector<Index> order(s.rows);
  std::iota(order.begin(), order.end(), Index{0});
  const auto length = [&](Index row) { return s.row_start[row + Count{1}] - s.row_start[row]; };
  if (by_length)
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return length(a) > length(b); });
  return order;
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

class RowsRun : public tca_spmm::SpmmRun {
 public:
  RowsRun(const Problem& problem, tca_spmm::Types types, const Csr& s, bool by_length)
      : SpmmRun(problem, "eight threads a row", types.output),
        operands_(types.operands),
        order_(order_of(s, by_length)),
        s_(padded(s), operands_),
        d_(problem.dense().front(), tca_spmm::DenseOrder::row_major, operands_) {
    count_bytes(order_, s_.row_start, s_.columns, s_.values, d_.values);
    p_.order = order_.data(), p_.row_start = s_.row_start.data();
    p_.columns = s_.columns.data(), p_.values = s_.values.data();
    p_.dense = d_.values.data(), p_.dense_stride = d_.stride;
    p_.dense_vectors = static_cast<Index>(d_.stride * tca_spmm::size_of(operands_) / 16);
    p_.out = out_.data(), p_.out_stride = out_stride_;
    p_.rows = static_cast<unsigned>(rows_);
    p_.half_output = output_ == Element::half;
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const dim3 grid(device::blocks_for(rows_, kWarps * kWarpRows),
                    device::blocks_for(width_, kColumns));
    if (operands_ == Element::half)
      RETENSOR_CUDA_LAUNCH(multiply_rows<std::uint16_t>, grid, kWarps * kWarpSize, 0,
                           stream_of(timer), p_);
    else
      RETENSOR_CUDA_LAUNCH(multiply_rows<float>, grid, kWarps * kWarpSize, 0, stream_of(timer), p_);
  }

 private:
  const Element operands_;
  const Buffer<Index> order_;
  const tca_spmm::DeviceCsr s_;
  const tca_spmm::DeviceDense d_;
  DeviceRows p_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<RowsRun>(problem, tca_spmm::types_of(params), to_csr(problem.x()),
                                   params.word("order") == "by_length");
}

}  // namespace retensor::sputnik
