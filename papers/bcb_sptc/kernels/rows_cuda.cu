// The run of bcb_sptc.cuda.rows, not the paper's: single products with hash tables in one pass. A
// row whose products are known to fit a table needs no pass that counts its entries: when its sums
// are there, it takes places behind the rows that have ended and writes values and coordinates.
//
// Stages: tasks (products of each row, lists), kernel. Bytes: 8 a product, 20 a nonzero of x, 4
// (order + 1) an entry; 64 bits of the counter of entries a row.
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"

#include <string>
#include <utility>

#include "common/run/cuda_run.cuh"
#include "papers/bcb_sptc/kernels/hashed_rows_cuda.cuh"
#include "papers/bcb_sptc/kernels/operands_cuda.cuh"

namespace retensor::bcb_sptc {
namespace {

class RowsRun : public CudaRun {
 public:
  RowsRun(const Problem& problem, DeviceMatricised matrices)
      : CudaRun(problem, "single products, hash tables in one pass"),
        m_(std::move(matrices)),
        product_(m_),
        lists_(m_.rows),
        entries_(1) {
    result_.dims = m_.modes.result_dims(problem.x().dims, problem.y().dims);
    if (m_.rows > 0) {
      make_tasks(nullptr);
      lengths_ = lists_.lengths();
      multiply(nullptr);
      result_.make_room(element_at(entries_, 0), device_room());
      modes_ = m_.entry_modes(result_);
    }
    executed_["rows"] = text_of(lengths_);
    executed_["result_nonzeros"] = std::to_string(result_.entries);
  }

  void run(StageTimer& timer) override {
    timer.stage("tasks");
    if (result_.entries == 0) return;
    make_tasks(stream_of(timer));
    timer.stage("kernel");
    multiply(stream_of(timer));
  }

  Result result() override { return result_.to_coo(); }
  Footprint footprint() const override {
    return {m_.bytes(), m_.bytes() + cub_.bytes() + first_product_.bytes() + lists_.bytes() +
                            entries_.bytes() + result_.bytes()};
  }

 private:
  void make_tasks(cudaStream_t stream) {
    number_listed_products(m_, product_, first_product_, cub_, stream);
    lists_.make(WeightAtMost{product_}, stream);
  }
  void multiply(cudaStream_t stream) {
    entries_.zero(stream);
    lists_.multiply(product_,
                    AppendPass{entries_.data(), result_.values.data(), modes_,
                               static_cast<float>(problem_.spec().alpha)},
                    lengths_, stream);
  }

  const DeviceMatricised m_;
  Cub cub_;
  SparseProduct product_;
  ListedRows lists_;
  ListedRows::Lengths lengths_{};
  Buffer<Count> first_product_;
  Buffer<unsigned long long> entries_;
  EntryModes modes_{};
  DeviceResult result_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_rows_cuda(const Problem& problem) {
  return prepare_rows_cuda(problem, matricised(problem));
}

std::unique_ptr<Prepared> prepare_rows_cuda(const Problem& problem, DeviceMatricised matrices) {
  return std::make_unique<RowsRun>(problem, std::move(matrices));
}

}  // namespace retensor::bcb_sptc
