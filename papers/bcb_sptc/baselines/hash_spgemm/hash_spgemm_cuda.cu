// The run of hash_spgemm.cuda: the product of two sparse matrices as spECK (Parger, Winter, Mlakar
// and Steinberger, PPoPP 2020) and OpSparse (Du et al., IEEE Access 2022) make it. Rows are listed
// by estimated size, counted, listed by exact size, multiplied.
//
// Stages: tasks (products of each row, lists), pattern (entries of each row and where they begin),
// kernel (lists, columns and values), output (coordinates). Bytes: 4 a product in the first pass
// and 8 in the second, 16 a nonzero of x in each, 8 (columns, values) an entry and its coordinates.
#include "papers/bcb_sptc/baselines/hash_spgemm/hash_spgemm_cuda.hpp"

#include <string>

#include "papers/bcb_sptc/baselines/matrix_run_cuda.cuh"
#include "papers/bcb_sptc/kernels/hashed_rows_cuda.cuh"

namespace retensor::hash_spgemm {
namespace {

using namespace bcb_sptc;

/// Of a row, known from the first pass.
struct Entries {
  const std::uint32_t* of;
  __host__ __device__ Count operator()(Count row) const { return of[row]; }
};

struct Weight {
  bcb_sptc::SparseProduct p;
  Entries entries;
  __host__ __device__ Count operator()(Count row) const { return p.weight(row, entries(row)); }
};

class Run : public bcb_sptc::MatrixRun {
 public:
  explicit Run(const Problem& problem)
      : MatrixRun(problem, "hash tables in shared memory, two passes"),
        product_(m_),
        lists_(m_.rows),
        row_entries_(m_.rows) {
    if (m_.rows == 0) {
      make_room(0);
      return;
    }
    make_tasks(nullptr);
    counted_ = lists_.lengths();
    find_pattern(nullptr);
    make_room(element_at(first_entry_, m_.rows));
    column_ = Buffer<std::uint32_t>(result_.entries);
    lists_.make(Weight{product_, {row_entries_.data()}}, nullptr);
    filled_ = lists_.lengths();
    executed_["rows_counted"] = bcb_sptc::text_of(counted_);
    executed_["rows_filled"] = bcb_sptc::text_of(filled_);
  }

  void run(StageTimer& timer) override {
    timer.stage("tasks");
    if (m_.rows == 0) return;
    const auto stream = stream_of(timer);
    make_tasks(stream);
    timer.stage("pattern");
    find_pattern(stream);
    timer.stage("kernel");
    lists_.make(Weight{product_, {row_entries_.data()}}, stream);
    lists_.multiply(product_,
                    FillPass{first_entry_.data(), column_.data(), result_.values.data(), alpha_},
                    filled_, stream);
    timer.stage("output");
    RETENSOR_CUDA_LAUNCH((bcb_sptc::kernels::write_rows<Count, std::uint32_t>),
                         grid_for(m_.rows * device::kWarpSize), bcb_sptc::kThreads, 0, stream,
                         m_.rows, first_entry_.data(), column_.data(), entry_modes_);
  }

 private:
  void make_tasks(cudaStream_t stream) {
    bcb_sptc::number_listed_products(m_, product_, first_product_, cub_, stream);
    lists_.make(bcb_sptc::WeightAtMost{product_}, stream);
  }

  void find_pattern(cudaStream_t stream) {
    lists_.multiply(product_, CountPass{row_entries_.data()}, counted_, stream);
    cub_.sums(m_.rows, Entries{row_entries_.data()}, first_entry_, stream);
  }

  Count work_bytes() const override {
    return cub_.bytes() + first_product_.bytes() + first_entry_.bytes() + row_entries_.bytes() +
           lists_.bytes() + column_.bytes();
  }

  device::Cub cub_;
  bcb_sptc::SparseProduct product_;
  ListedRows lists_;
  ListedRows::Lengths counted_{}, filled_{};
  Buffer<Count> first_product_, first_entry_;
  Buffer<std::uint32_t> row_entries_, column_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem) {
  return std::make_unique<Run>(problem);
}

}  // namespace retensor::hash_spgemm
