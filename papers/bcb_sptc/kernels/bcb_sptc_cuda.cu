// The run of bcb_sptc.cuda: Algorithm 1 on the device, over blocks or over single products.
//
// Stages, after the three phases of section V.B.2: tasks and pattern (task processing), kernel
// (computation), output (output processing); with an addend (equation 1) also addend, with output
// in order sort. Preparing runs all of them once and learns the lengths of all lists from the
// device; the runs make the lists again in the room there is.
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"

#include <memory>
#include <optional>
#include <string>

#include "common/run/cuda_run.cuh"
#include "papers/bcb_sptc/format/matricised_device.cuh"
#include "papers/bcb_sptc/format/options.hpp"
#include "papers/bcb_sptc/kernels/addend_cuda.cuh"
#include "papers/bcb_sptc/kernels/path_cuda.cuh"

namespace retensor::bcb_sptc {
namespace {

/// Products of two nonzeros that a pair of blocks must have on average for blocks to be the faster
/// path. Measured on an H200: 0.333 ms for the 542,800 pairs of bcb-peers-blocks and 0.422 ms for
/// the 8,004,218 single products of bcb-peers-20000, so that a pair takes as long as 12 products.
constexpr double kProductsOfPair = 12;

class BcbRun : public CudaRun {
 public:
  BcbRun(const Problem& problem, const Params& params, const Addend& addend)
      : CudaRun(problem, "BCB-SpTC"),
        drops_zeros_(params.word("zeros") == "drop"),
        adds_(addend.beta != 0),
        room_(device_room(params.real("memory"))) {
    make_path(problem, params);
    path_->make_tasks(nullptr);
    path_->find_pattern(nullptr);
    path_->multiply(nullptr);
    path_->write_coordinates(nullptr);
    if (adds_ || sorts_output(params))
      sum_ = make_device_sum(adds_ ? addend : Addend::nothing(path_->result().dims),
                             path_->result().dims, path_->result().entries, room_);
    finish(nullptr);
    executed_.merge(path_->facts());
    executed_["result_nonzeros"] = std::to_string(all().entries);
    if (adds_) executed_["z_nonzeros"] = std::to_string(addend.z.nnz());
  }

  void run(StageTimer& timer) override {
    const auto stream = stream_of(timer);
    timer.stage("tasks");
    path_->make_tasks(stream);
    timer.stage("pattern");
    path_->find_pattern(stream);
    timer.stage("kernel");
    path_->multiply(stream);
    timer.stage("output");
    path_->write_coordinates(stream);
    if (sum_) timer.stage(adds_ ? "addend" : "sort");
    finish(stream);
  }

  Result result() override { return (drops_zeros_ ? filter_.filtered() : all()).to_coo(); }

  Footprint footprint() const override {
    const Count format = path_->format_bytes();
    return {format, format + path_->work_bytes() + path_->result().bytes() + filter_.bytes() +
                        (sum_ ? sum_->bytes() : 0)};
  }

 private:
  /// Sorts the operands by block, by coordinate or, to choose, by both, and converts them as the
  /// path takes them.
  void make_path(const Problem& problem, const Params& params) {
    const Contraction modes = contraction_of(problem);
    const OperandOptions options(modes, blocking_of(params));
    const bool on_host = params.word("prepare") == "host";
    std::string path = params.word("path");
    std::optional<SortedOperands> blocks, cells;
    if (!on_host || path == "auto") {
      const DeviceCoos tensors(problem.x(), problem.y());
      if (path != "elements") blocks.emplace(tensors, options);
      if (path != "blocks") cells.emplace(tensors, cells_of(modes));
    }
    if (path == "auto") path = faster_path(count_pairs(*blocks), count_pairs(*cells));
    executed_["path"] = path;
    executed_["prepared"] = on_host ? "on the host" : "on the device";
    if (path == "blocks")
      path_ = make_block_path(
          problem, params, on_host ? upload(to_bcb(problem.x(), options.x)) : to_bcb(blocks->x),
          on_host ? upload(to_bcb(problem.y(), options.y)) : to_bcb(blocks->y), room_);
    else
      path_ = make_element_path(
          problem,
          on_host ? DeviceMatricised(modes, Matricised(modes, problem.x(), problem.y()))
                  : DeviceMatricised(modes, *cells),
          room_);
  }

  std::string faster_path(Count pairs, Count products) {
    const double products_of_pair =
        pairs == 0 ? 0 : static_cast<double>(products) / static_cast<double>(pairs);
    executed_["pairs_of_blocks"] = std::to_string(pairs);
    executed_["products"] = std::to_string(products);
    executed_["products_of_pair"] = std::to_string(products_of_pair);
    return products_of_pair < kProductsOfPair ? "elements" : "blocks";
  }

  /// What the addend and leaving out zeros make of the product.
  void finish(cudaStream_t stream) {
    if (sum_) sum_->run(path_->result(), stream);
    if (drops_zeros_) filter_.run(all(), room_, stream);
  }
  const DeviceResult& all() const { return sum_ ? sum_->sum() : path_->result(); }

  const bool drops_zeros_, adds_;
  const Room room_;
  std::unique_ptr<Path> path_;
  std::unique_ptr<DeviceSum> sum_;
  ZeroFilter filter_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_bcb_cuda(const Problem& problem, const Params& params,
                                           const Addend& addend) {
  return std::make_unique<BcbRun>(problem, params, addend);
}

}  // namespace retensor::bcb_sptc
