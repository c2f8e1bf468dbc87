// The run of gsptc.cuda (Xiao et al., HPCC 2022): element-wise contraction in coordinates. Each
// pair of nonzeros that agree in the contracted modes is one product; products are sorted by
// coordinate of the result and equal ones added up.
//
// Stages: tasks (the pairs are counted and dealt to threads), kernel (products), output (sort,
// sums, coordinates). A product takes 12 bytes, which a sort of b bits moves ceil(b / 8) times both
// ways.
#include <cub/device/device_reduce.cuh>

#include "common/method/method.hpp"
#include "common/tensor/linear_index.hpp"
#include "papers/bcb_sptc/baselines/matrix_run_cuda.cuh"

namespace retensor::gsptc {
namespace {

using bcb_sptc::Buffer;
using bcb_sptc::for_each_of_grid;
using bcb_sptc::grid_for;
using bcb_sptc::kThreads;

__global__ void find_rows_of(Count rows, const std::uint32_t* row_start, std::uint32_t* row_of) {
  for_each_of_grid(rows, [&](Count row) {
    for (std::uint32_t a = row_start[row]; a < row_start[row + 1]; ++a)
      row_of[a] = static_cast<std::uint32_t>(row);
  });
}

struct Products {
  Count count;
  const std::uint32_t *owner, *row_of, *x_group, *group_start, *y_column;
  const Count* first;
  const float *x_values, *y_values;
  float alpha;
  int column_bits;
};

__global__ void multiply_all(Products p, std::uint64_t* keys, float* values) {
  for_each_of_grid(p.count, [&](Count i) {
    const std::uint32_t a = p.owner[i];
    const Count b = p.group_start[p.x_group[a]] + (i - p.first[a]);
    keys[i] = std::uint64_t{p.row_of[a]} << p.column_bits | p.y_column[b];
    values[i] = p.alpha * p.x_values[a] * p.y_values[b];
  });
}

__global__ void write_entries(Count entries, const std::uint64_t* keys, int column_bits,
                              bcb_sptc::EntryModes modes) {
  for_each_of_grid(entries, [&](Count e) {
    modes.write(e, keys[e] >> column_bits, keys[e] & ((std::uint64_t{1} << column_bits) - 1));
  });
}

struct Sum {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

class Run : public bcb_sptc::MatrixRun {
 public:
  explicit Run(const Problem& problem)
      : MatrixRun(problem, "GSpTC"),
        column_bits_(bits_for(m_.columns)),
        key_bits_(bits_for(m_.rows) + column_bits_),
        row_of_(m_.x_group.size()),
        found_(1) {
    executed_["x_format_bytes"] = std::to_string(problem.x().bytes());
    if (m_.products == 0) {
      make_room(0);
      return;
    }
    RETENSOR_CUDA_LAUNCH(find_rows_of, grid_for(m_.rows), kThreads, 0, nullptr, m_.rows,
                         m_.row_start.data(), row_of_.data());
    for (auto* keys : {&keys_, &spare_keys_}) *keys = Buffer<std::uint64_t>(m_.products);
    for (auto* values : {&values_, &spare_values_}) *values = Buffer<float>(m_.products);
    make_tasks(nullptr);
    multiply(nullptr);
    sort(nullptr);
    add_up(spare_values_.data(), nullptr);
    make_room(element_at(found_, 0));
  }

  void run(StageTimer& timer) override {
    timer.stage("tasks");
    if (result_.entries == 0) return;
    const auto stream = stream_of(timer);
    make_tasks(stream);
    timer.stage("kernel");
    multiply(stream);
    timer.stage("output");
    write(stream);
  }

 private:
  void make_tasks(cudaStream_t stream) {
    cub_.sums(m_.x_group.size(),
              bcb_sptc::kernels::ProductsOf{m_.x_group.data(), m_.group_start.data()}, first_,
              stream);
    bcb_sptc::find_owners(m_.x_group.size(), first_, m_.products, owner_, cub_, stream);
  }

  void multiply(cudaStream_t stream) {
    const Products p{m_.products,           owner_.data(),
                     row_of_.data(),        m_.x_group.data(),
                     m_.group_start.data(), m_.y_column.data(),
                     first_.data(),         m_.x_values.data(),
                     m_.y_values.data(),    alpha_,
                     column_bits_};
    RETENSOR_CUDA_LAUNCH(multiply_all, grid_for(m_.products), kThreads, 0, stream, p, keys_.data(),
                         values_.data());
  }

  void sort(cudaStream_t stream) {
    cub_.sort(m_.products, key_bits_, keys_, values_, spare_keys_, spare_values_, stream);
  }

  void write(cudaStream_t stream) {
    sort(stream);
    add_up(result_.values.data(), stream);
    RETENSOR_CUDA_LAUNCH(write_entries, grid_for(result_.entries), kThreads, 0, stream,
                         result_.entries, spare_keys_.data(), column_bits_, entry_modes_);
  }

  /// Sums of equal keys; the different ones stand in spare_keys_.
  void add_up(float* sums, cudaStream_t stream) {
    cub_(m_.products, [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceReduce::ReduceByKey(scratch, bytes, keys_.data(), spare_keys_.data(),
                                            values_.data(), sums, found_.data(), Sum{},
                                            static_cast<std::int64_t>(m_.products), stream);
    });
  }

  Count work_bytes() const override {
    return cub_.bytes() + row_of_.bytes() + first_.bytes() + owner_.bytes() + keys_.bytes() +
           spare_keys_.bytes() + values_.bytes() + spare_values_.bytes();
  }
  /// Coordinates: 4 bytes a mode and a value.
  Count format_bytes() const override { return problem_.x().bytes() + problem_.y().bytes(); }

  device::Cub cub_;
  const int column_bits_, key_bits_;
  Buffer<std::uint32_t> row_of_, owner_;
  Buffer<Count> first_, found_;
  Buffer<std::uint64_t> keys_, spare_keys_;
  Buffer<float> values_, spare_values_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem) {
  return std::make_unique<Run>(problem);
}

}  // namespace retensor::gsptc
