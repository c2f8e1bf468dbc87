// The run of tca_spmm.cuda; the kernel stands in tca_spmm_cuda.cuh.
#include "papers/tca_spmm/kernels/prepare_cuda.hpp"

#include <algorithm>
#include <string>

#include "common/device/shared.cuh"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/kernels/run_cuda.cuh"
#include "papers/tca_spmm/kernels/tca_spmm_cuda.cuh"

namespace retensor::tca_spmm {
namespace {

class PaperRun : public SpmmRun {
 public:
  PaperRun(const Problem& problem, const Params& params, const Csr& s)
      : SpmmRun(problem, "TCA-SpMM, traces of m16n8k" + std::to_string(params.integer("depth")),
                {Element::half, output_of(params)}, dense_order(params)),
        s_(s, Element::half),
        plan_(make_plan(s.row_start, problem.rank(), plan_options(params))),
        row_id_for_each_warp_(plan_.row_id_for_each_warp),
        warpid_within_row_(plan_.warpid_within_row),
        num_warps_per_row_(plan_.num_warps_per_row) {
    set_product(params);
    choose_kernel();
    count_bytes(s_.row_start, s_.columns, s_.values, row_id_for_each_warp_, warpid_within_row_,
                num_warps_per_row_);
    executed_.merge(plan_facts(plan_, s.row_start));
    executed_["shared_bytes"] = std::to_string(shared_);
    executed_["row_shared_bytes"] = std::to_string(shared_ / kWarpsPerBlock * most_warps());
  }

  void run(StageTimer& timer) override {
    timer.stage("zero");
    out_.zero(stream_of(timer));
    timer.stage("kernel");
    if (plan_.blocks() > 0)
      RETENSOR_CUDA_LAUNCH(kernel_, static_cast<unsigned>(plan_.blocks()), kBlockThreads, shared_,
                           stream_of(timer), p_);
  }

 private:
  void set_product(const Params& params) {
    p_.row_start = s_.row_start.data(), p_.columns = s_.columns.data();
    p_.values = reinterpret_cast<const std::uint16_t*>(s_.values.data());
    p_.dense = d_.halves();
    p_.dense_stride = d_.stride, p_.column_major = d_.order == DenseOrder::column_major;
    p_.out = out_.data(), p_.out_stride = out_stride_;
    p_.half_output = output_ == Element::half;
    p_.width = static_cast<unsigned>(width_);
    p_.row_id_for_each_warp = row_id_for_each_warp_.data();
    p_.warpid_within_row = warpid_within_row_.data();
    p_.num_warps_per_row = num_warps_per_row_.data();
    p_.one_class = plan_.options.one_class, p_.one_warp = plan_.options.one_warp;
    p_.split_nonzeros = plan_.options.long_rows == LongRows::nonzeros;
    p_.rhs_buffer = params.flag("rhs_buffer"), p_.output_buffer = params.flag("output_buffer");
  }

  void choose_kernel() {
    const bool deep = plan_.options.depth == 16;
    kernel_ = deep ? multiply_rows<16> : multiply_rows<8>;
    shared_ = deep ? BlockMemory<16>::bytes(p_.one_warp) : BlockMemory<8>::bytes(p_.one_warp);
    device::allow_shared(kernel_, shared_);
  }

  /// Of a row in one block.
  Count most_warps() const {
    const auto& warps = plan_.num_warps_per_row;
    const Index most = warps.empty() ? 0 : *std::max_element(warps.begin(), warps.end());
    return std::min<Count>(most, kWarpsPerBlock);
  }

  const DeviceCsr s_;
  const Plan plan_;
  const Buffer<Index> row_id_for_each_warp_, warpid_within_row_, num_warps_per_row_;
  DeviceProduct p_;
  void (*kernel_)(DeviceProduct) = nullptr;
  unsigned shared_ = 0;  // bytes of a thread block
};

}  // namespace

std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<PaperRun>(problem, params, to_csr(problem.x()));
}

}  // namespace retensor::tca_spmm
