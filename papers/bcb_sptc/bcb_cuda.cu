// The run of bcb_sptc.cuda: Algorithm 1 on the device, over blocks or over single products.
//
// Stages, after the three phases of section V.B.2: tasks and pattern (task processing), kernel
// (computation), output (output processing). Preparing runs all of them once and learns the lengths
// of all lists from the device; the runs make the lists again in the room there is.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/measure/cuda_run.cuh"
#include "papers/bcb_sptc/matricised.hpp"
#include "papers/bcb_sptc/methods_cuda.hpp"
#include "papers/bcb_sptc/path_cuda.cuh"
#include "papers/bcb_sptc/task_list_cuda.cuh"

namespace retensor::bcb_sptc {
namespace {

/// Products of two nonzeros that a pair of blocks must have on average for blocks to be the faster
/// path. Measured on an H200: 0.746 ms for the 542,800 pairs of bcb-peers-blocks and 0.632 ms for
/// the 8,004,218 single products of bcb-peers-20000, so that a pair takes as long as 17 products.
constexpr double kProductsOfPair = 16;

struct Fill {
  Count pairs, products;
  double products_of_pair() const {
    return pairs == 0 ? 0 : static_cast<double>(products) / static_cast<double>(pairs);
  }
};

Fill fill_of(const Problem& problem, const Params& params) {
  const Contraction modes = contraction_of(problem);
  const OperandOptions options(modes, blocking_of(params));
  const DeviceBcb x = upload(to_bcb(problem.x(), options.x));
  const DeviceBcb y = upload(to_bcb(problem.y(), options.y));
  return {DeviceTaskList(x, y, true).count_pairs(),
          Matricised(modes, problem.x(), problem.y()).products};
}

class BcbRun : public CudaRun {
 public:
  BcbRun(const Problem& problem, const Params& params)
      : CudaRun(problem, "BCB-SpTC"), drops_zeros_(params.word("zeros") == "drop") {
    choose_path(problem, params);
    path_->make_tasks(nullptr);
    path_->find_pattern(nullptr);
    path_->multiply(nullptr);
    write(nullptr);
    executed_.merge(path_->facts());
    executed_["result_nonzeros"] = std::to_string(path_->result().entries);
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
    write(stream);
  }

  Result result() override {
    return (drops_zeros_ ? filter_.filtered() : path_->result()).to_coo();
  }

  Footprint footprint() const override {
    const Count format = path_->format_bytes();
    return {format, format + path_->work_bytes() + path_->result().bytes() + filter_.bytes()};
  }

 private:
  void choose_path(const Problem& problem, const Params& params) {
    std::string path = params.word("path");
    if (path == "auto") {
      const Fill fill = fill_of(problem, params);
      path = fill.products_of_pair() < kProductsOfPair ? "elements" : "blocks";
      executed_["pairs_of_blocks"] = std::to_string(fill.pairs);
      executed_["products"] = std::to_string(fill.products);
      executed_["products_of_pair"] = std::to_string(fill.products_of_pair());
    }
    executed_["path"] = path;
    path_ = path == "blocks" ? make_block_path(problem, params) : make_element_path(problem);
  }

  void write(cudaStream_t stream) {
    path_->write_coordinates(stream);
    if (drops_zeros_) filter_.run(path_->result(), stream);
  }

  const bool drops_zeros_;
  std::unique_ptr<Path> path_;
  ZeroFilter filter_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_bcb_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<BcbRun>(problem, params);
}

}  // namespace retensor::bcb_sptc
