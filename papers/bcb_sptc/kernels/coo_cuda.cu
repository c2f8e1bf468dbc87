// The run of bcb_sptc.cuda.coo, not the paper's: coordinates and values lie on the device already,
// and a run is the whole contraction, from the choice of a path to the entries.
//
// Stages: choose (a sample of the keys, or the sorts that `bcb_sptc.cuda` counts with), convert,
// kernel. A result of few cells needs no choice. Paths find the lengths of their lists when they
// are made, so that their first pass is a part of the run.
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/run/cuda_run.cuh"
#include "papers/bcb_sptc/format/grouped_device.cuh"
#include "papers/bcb_sptc/format/options.hpp"
#include "papers/bcb_sptc/format/sample_device.cuh"
#include "papers/bcb_sptc/kernels/operands_cuda.cuh"
#include "papers/bcb_sptc/kernels/path_cuda.cuh"

namespace retensor::bcb_sptc {
namespace {

/// Products of two nonzeros that take as long as an MMA of a pair of blocks, on an H200: 0.266 ms
/// for the 8,004,218 products of bcb-peers-20000 by rows, 0.309 ms for the 542,800 pairs of
/// bcb-peers-blocks, which have an MMA each.
constexpr double kProductsOfMma = 17;
/// Where rows are no choice, as bcb_sptc.cuda takes it: products of a pair of blocks.
constexpr double kProductsOfBlocks = 12;

/// MMAs of 16 x 8 x 8 that a pair of full blocks takes.
double mma_of_pair(const Grid& x, const Grid& y) {
  const auto pieces = [](int bits, int of_piece) {
    return Count{1} << std::max(bits - of_piece, 0);
  };
  return static_cast<double>(pieces(x.leading_bits(), 4) * pieces(y.trailing_bits(), 3) *
                             pieces(x.trailing_bits(), 3));
}

class CooRun final : public CudaRun {
 public:
  CooRun(const Problem& problem, const Params& params)
      : CudaRun(problem, "BCB-SpTC, coordinates on the device"),
        params_(params),
        modes_(contraction_of(problem)),
        blocks_(modes_, blocking_of(params)),
        room_(device_room(params.real("memory"))),
        tensors_(problem.x(), problem.y()) {
    make(path());
    if (path_) multiply(nullptr);
  }

  void run(StageTimer& timer) override {
    timer.stage("choose");
    whole_.reset(), path_.reset(), by_block_.reset(), by_cell_.reset();
    const std::string chosen = path();
    timer.stage("convert");
    make(chosen);
    if (whole_) return whole_->run(timer);
    timer.stage("kernel");
    multiply(stream_of(timer));
  }

  Result result() override { return whole_ ? whole_->result() : path_->result().to_coo(); }

  Footprint footprint() const override {
    if (whole_) return whole_->footprint();
    if (!path_) return {};
    const Count format = path_->format_bytes();
    return {format, format + path_->work_bytes() + path_->result().bytes()};
  }

 private:
  bool takes_cells() const {
    const CellRanges cells(modes_, problem_.x().dims, problem_.y().dims);
    return cells.are_taken() && cells.sorted_bits <= kMostKeyBits;
  }

  std::string path() {
    std::string path = params_.word("path");
    if (path == "auto") path = takes_cells() ? "dense" : chosen("rows");
    if (path == "paper") path = chosen("elements");
    return executed_["path"] = path;
  }

  /// "blocks" or what multiplies single products.
  std::string chosen(const char* single) {
    const ContractionWork work =
        params_.word("choice") == "sample" ? sampled_work(tensors_, modes_, blocks_) : counted();
    executed_["nonzeros_looked_at"] = std::to_string(work.nonzeros);
    executed_["pairs_of_blocks"] = std::to_string(work.pairs);
    executed_["products"] = std::to_string(work.products);
    executed_["products_of_pair"] = std::to_string(work.products_of_pair());
    const double least = std::string_view(single) == "rows"
                             ? kProductsOfMma * mma_of_pair(Grid(problem_.x().dims, blocks_.x),
                                                            Grid(problem_.y().dims, blocks_.y))
                             : kProductsOfBlocks;
    return work.products_of_pair() < least ? single : "blocks";
  }
  /// Of all nonzeros, whose order a path takes over.
  ContractionWork counted() {
    by_block_.emplace(tensors_, blocks_), by_cell_.emplace(tensors_, cells_of(modes_));
    return {by_block_->x.nnz + by_block_->y.nnz, count_pairs(*by_block_), count_pairs(*by_cell_)};
  }

  void make(const std::string& path) {
    if (path == "dense") {
      whole_ = prepare_dense_cuda(problem_, GroupedOperands(modes_, tensors_.x(), tensors_.y()));
      return;
    }
    auto& sorted = path == "blocks" ? by_block_ : by_cell_;
    if (!sorted) sorted.emplace(tensors_, path == "blocks" ? blocks_ : cells_of(modes_));
    if (path == "blocks")
      path_ = make_block_path(problem_, params_, to_bcb(sorted->x), to_bcb(sorted->y), room_);
    else if (path == "elements")
      path_ = make_element_path(problem_, DeviceMatricised(modes_, *sorted), room_);
    else
      whole_ = prepare_rows_cuda(problem_, DeviceMatricised(modes_, *sorted));
  }

  void multiply(cudaStream_t stream) {
    path_->make_tasks(stream);
    path_->find_pattern(stream);
    path_->multiply(stream);
    path_->write_coordinates(stream);
  }

  const Params params_;
  const Contraction modes_;
  const OperandOptions blocks_;
  const Room room_;
  const DeviceCoos tensors_;
  std::optional<SortedOperands> by_block_, by_cell_;
  std::unique_ptr<Prepared> whole_;  // what prepares by itself
  std::unique_ptr<Path> path_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_coo_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<CooRun>(problem, params);
}

}  // namespace retensor::bcb_sptc
