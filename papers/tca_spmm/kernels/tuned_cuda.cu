// The run of tca_spmm.cuda.tuned; the kernel stands in tuned_cuda.cuh.
#include "papers/tca_spmm/kernels/prepare_cuda.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/device/shared.cuh"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/format/panel_tasks.hpp"
#include "papers/tca_spmm/kernels/run_cuda.cuh"
#include "papers/tca_spmm/kernels/tuned_cuda.cuh"

namespace retensor::tca_spmm {
namespace {

unsigned stages_that_fit() {
  const Count most = device::facts().shared_per_block;
  return most < kPanelMemory ? 0
                             : static_cast<unsigned>(std::min<Count>(
                                   kMostStages, (most - kPanelMemory) / kStageBytes));
}

unsigned multiprocessors() {
  return static_cast<unsigned>(std::max(1, device::facts().sms));
}

unsigned groups_of(const Params& params, const Csr& s, Count width) {
  const auto& word = params.word("groups");
  if (word != "auto") return word == "8" ? kFewGroups : kManyGroups;
  return groups_of_a_panel(s, device::blocks_for(width, kPanelColumns), multiprocessors());
}

class TunedRun : public SpmmRun {
 public:
  TunedRun(const Problem& problem, const Params& params, const Panels& panels)
      : SpmmRun(problem, "panels of " + std::to_string(panels.groups) + " groups of eight rows",
                {Element::half, output_of(params)}),
        kernel_(panels.groups == kManyGroups ? multiply_panels<kManyGroups>
                                             : multiply_panels<kFewGroups>),
        shared_(kPanelMemory + stages_that_fit() * kStageBytes),
        row_order_(panels.row_order),
        columns_(panels.columns),
        block_start_(panels.block_start),
        blocks_(panels.blocks) {
    device::allow_shared(kernel_, shared_);
    set_tasks(panels);
    set_pointers();
    count_bytes(tasks_, row_order_, columns_, block_start_, blocks_, sums_, arrived_);
    executed_["panels"] = std::to_string(panels.panels());
    executed_["panel_bytes"] = std::to_string(panels.bytes());
    executed_["gathered_rows"] = std::to_string(panels.listed());
    executed_["blocks"] = std::to_string(panels.blocks.size() - kReadAhead);
    executed_["tasks"] = std::to_string(tasks_.size() * p_.across);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    if (tasks_.size() == 0) return;
    RETENSOR_CUDA_LAUNCH(kernel_, dim3(static_cast<unsigned>(tasks_.size() * p_.across)),
                         kPanelThreads, shared_, stream_of(timer), p_);
  }

 private:
  void set_tasks(const Panels& panels) {
    p_.across = device::blocks_for(width_, kPanelColumns);
    const std::vector<PanelTask> tasks = panel_tasks(panels, p_.across, multiprocessors());
    tasks_ = Buffer<PanelTask>(tasks);
    const Count parts = parts_of_divided(tasks);
    if (parts == 0) return;
    sums_ = Buffer<float>(parts * p_.across * panels.groups * kGroupRows * kPanelColumns);
    arrived_ = Buffer<unsigned>(std::vector<unsigned>(panels.panels() * p_.across, 0));
  }
  void set_pointers() {
    p_.tasks = tasks_.data(), p_.row_order = row_order_.data();
    p_.columns = columns_.data(), p_.block_start = block_start_.data();
    p_.blocks = blocks_.data();
    p_.dense = d_.halves();
    p_.dense_stride = d_.stride;
    p_.out = out_.data(), p_.out_stride = out_stride_;
    p_.half_output = output_ == Element::half;
    p_.sums = reinterpret_cast<float4*>(sums_.data()), p_.arrived = arrived_.data();
    p_.ring = stages_that_fit();
  }

  void (*const kernel_)(DevicePanels);
  const unsigned shared_;
  Buffer<PanelTask> tasks_;
  const Buffer<Index> row_order_, columns_, block_start_;
  const Buffer<RowBlock> blocks_;
  Buffer<float> sums_;
  Buffer<unsigned> arrived_;
  DevicePanels p_;
};

}  // namespace

std::string panels_obstacle() {
  constexpr unsigned kFewest = 2;  // stages: one is loaded while another is multiplied
  if (stages_that_fit() >= kFewest) return "";
  return "a thread block takes " + std::to_string(kPanelMemory + kFewest * kStageBytes) +
         " bytes of shared memory, the device gives " +
         std::to_string(device::facts().shared_per_block);
}

std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem& problem, const Params& params) {
  const Csr s = to_csr(problem.x());
  const unsigned groups = groups_of(params, s, problem.rank());
  return std::make_unique<TunedRun>(problem, params, to_panels(s, groups));
}

}  // namespace retensor::tca_spmm
