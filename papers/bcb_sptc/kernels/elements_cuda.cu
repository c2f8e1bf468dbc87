// The element-wise path of bcb_sptc.cuda; the products stand in elements_cuda.cuh.
#include "papers/bcb_sptc/kernels/elements_cuda.cuh"

#include <algorithm>
#include <string>
#include <utility>

#include "papers/bcb_sptc/kernels/path_cuda.cuh"

namespace retensor::bcb_sptc {
namespace kernels {

/// Some thread blocks a row.
__global__ void write_cut_rows(const __grid_constant__ CutRows cut,
                               const __grid_constant__ EntryModes modes) {
  const Count i = blockIdx.x, row = cut.row[i], end = cut.first_place[i + 1];
  for (Count s = cut.first_place[i] + blockIdx.y * kThreads + threadIdx.x; s < end;
       s += gridDim.y * kThreads)
    if (cut.keys[s] != kEmpty) modes.write(cut.first_entry + cut.rank[s], row, cut.keys[s]);
}

}  // namespace kernels

namespace {

/// Thread blocks that write a row that is cut.
constexpr unsigned kBlocksOfRow = 8;

struct Entries {
  const std::uint32_t* of;
  __host__ __device__ Count operator()(Count row) const { return of[row]; }
};

/// Rows that a thread block makes or that are cut, and the most products of the others.
struct RowLengths {
  Count cut = 0, of_block = 0, most_of_block = 0, most_of_warp = 0;
};
struct LengthOf {
  RowProduct p;
  __host__ __device__ RowLengths operator()(Count row) const {
    const Count products = p.products(row);
    if (products > kBlockProducts) return {1, 0, 0, 0};
    if (products > kWarpProducts) return {0, 1, products, 0};
    return {0, 0, 0, products};
  }
};
struct Join {
  __host__ __device__ RowLengths operator()(const RowLengths& a, const RowLengths& b) const {
    return {a.cut + b.cut, a.of_block + b.of_block,
            a.most_of_block < b.most_of_block ? b.most_of_block : a.most_of_block,
            a.most_of_warp < b.most_of_warp ? b.most_of_warp : a.most_of_warp};
  }
};

class ElementPath : public Path {
 public:
  ElementPath(const Problem& problem, DeviceMatricised matrices, const Room& room)
      : room_(room), m_(std::move(matrices)), row_entries_(m_.rows) {
    result_.dims = m_.modes.result_dims(problem.x().dims, problem.y().dims);
    p_.rows = m_.rows, p_.columns = m_.columns;
    p_.row_start = m_.row_start.data(), p_.x_group = m_.x_group.data();
    p_.group_start = m_.group_start.data(), p_.y_column = m_.y_column.data();
    p_.x_values = m_.x_values.data(), p_.y_values = m_.y_values.data();
    p_.row_entries = row_entries_.data();
    p_.alpha = static_cast<float>(problem.spec().alpha);
    row_entries_.zero(nullptr);  // nothing writes those of rows that are cut
    if (p_.rows == 0) return;
    number_products(nullptr);
    const auto lengths = cub_.reduce(p_.rows, LengthOf{p_}, Join{}, RowLengths{});
    block_rows_ = lengths.of_block, cut_.rows = lengths.cut;
    most_of_block_ = lengths.most_of_block, most_of_warp_ = lengths.most_of_warp;
    block_row_ = Buffer<std::uint32_t>(block_rows_);
    cut_row_ = Buffer<std::uint32_t>(cut_.rows);
  }

  void make_tasks(cudaStream_t stream) override {
    if (p_.rows == 0) return;
    number_products(stream);
    if (block_rows_ > 0)
      cub_.select(p_.rows, kernels::HasProducts{p_, kWarpProducts + 1, kBlockProducts}, block_row_,
                  found_, stream);
    if (cut_.rows > 0) cut_rows(stream);
    knows_lengths_ = true;
  }

  void find_pattern(cudaStream_t stream) override {
    if (p_.rows > 0) {
      launch_rows<false>(stream);
      cub_.sums(p_.rows, Entries{row_entries_.data()}, first_entry_, stream);
      p_.first_entry = first_entry_.data();
      if (cut_.rows > 0) find_cut_pattern(stream);
    }
    if (has_room_) return;
    result_.make_room(count_entries(), room_);
    column_ = Buffer<std::uint32_t>(cut_.first_entry);
    p_.column = column_.data();
    p_.values = result_.values.data();
    modes_out_ = m_.entry_modes(result_);
    has_room_ = true;
  }

  void multiply(cudaStream_t stream) override {
    if (result_.entries == 0) return;
    launch_rows<true>(stream);
    if (cut_.rows == 0) return;
    RETENSOR_CUDA_CHECK(cudaMemsetAsync(result_.values.data() + cut_.first_entry, 0,
                                        (result_.entries - cut_.first_entry) * sizeof(float),
                                        stream));
    RETENSOR_CUDA_LAUNCH(kernels::multiply_units<true>, static_cast<unsigned>(units_), kThreads,
                         table_bytes<true>(p_.places(kBlockProducts)), stream, p_, cut_);
  }

  void write_coordinates(cudaStream_t stream) override {
    if (result_.entries == 0) return;
    if (cut_.first_entry > 0)
      RETENSOR_CUDA_LAUNCH((kernels::write_rows<Count, std::uint32_t>), grid_for(p_.rows * kWarp),
                           kThreads, 0, stream, p_.rows, p_.first_entry, p_.column, modes_out_);
    if (cut_.rows > 0)
      RETENSOR_CUDA_LAUNCH(kernels::write_cut_rows,
                           dim3(static_cast<unsigned>(cut_.rows), kBlocksOfRow), kThreads, 0,
                           stream, cut_, modes_out_);
  }

  Executed facts() override {
    return {{"precision", "single"},
            {"rows", std::to_string(p_.rows)},
            {"rows_cut", std::to_string(cut_.rows)},
            {"units", std::to_string(units_)}};
  }

  Count format_bytes() const override { return m_.bytes(); }
  Count work_bytes() const override {
    return cub_.bytes() + first_product_.bytes() + block_row_.bytes() + cut_row_.bytes() +
           row_entries_.bytes() + first_entry_.bytes() + column_.bytes() + keys_.bytes() +
           rank_.bytes() + first_unit_.bytes() + first_place_.bytes();
  }

 private:
  void number_products(cudaStream_t stream) {
    cub_.sums(m_.x_group.size(), kernels::ProductsOf{m_.x_group.data(), m_.group_start.data()},
              first_product_, stream);
    p_.first_product = first_product_.data();
  }

  void cut_rows(cudaStream_t stream) {
    cub_.select(p_.rows, kernels::HasProducts{p_, kBlockProducts + 1, m_.products}, cut_row_,
                found_, stream);
    cut_.row = cut_row_.data();
    cub_.sums(cut_.rows, kernels::UnitsOf{p_, cut_.row}, first_unit_, stream);
    cub_.sums(cut_.rows, kernels::PlacesOf{p_, cut_.row}, first_place_, stream);
    if (!knows_lengths_) {
      units_ = element_at(first_unit_, cut_.rows);
      places_ = element_at(first_place_, cut_.rows);
      room_.require("hash tables of long rows", places_, sizeof(std::uint32_t) + sizeof(Count));
      keys_ = Buffer<std::uint32_t>(places_);
    }
    cut_.first_unit = first_unit_.data(), cut_.first_place = first_place_.data();
    cut_.keys = keys_.data();
  }

  void find_cut_pattern(cudaStream_t stream) {
    RETENSOR_CUDA_CHECK(cudaMemsetAsync(keys_.data(), 0xff, keys_.bytes(), stream));
    RETENSOR_CUDA_LAUNCH(kernels::multiply_units<false>, static_cast<unsigned>(units_), kThreads,
                         table_bytes<false>(p_.places(kBlockProducts)), stream, p_, cut_);
    cub_.sums(places_, kernels::IsTaken{keys_.data()}, rank_, stream);
    cut_.rank = rank_.data();
  }

  Count count_entries() {
    if (p_.rows == 0) return 0;
    cut_.first_entry = element_at(first_entry_, p_.rows);
    return cut_.first_entry + (cut_.rows > 0 ? element_at(rank_, places_) : 0);
  }

  template <bool kSums>
  void launch_rows(cudaStream_t stream) {
    constexpr unsigned kBytes = kSums ? 8 : 4;
    if (most_of_warp_ > 0) {
      const unsigned places = p_.places(most_of_warp_);
      RETENSOR_CUDA_LAUNCH(kernels::multiply_short_rows<kSums>,
                           device::blocks_for(p_.rows, kWarpsOfBlock), kWarpsOfBlock * kWarp,
                           kWarpsOfBlock * places * kBytes, stream, p_, places);
    }
    if (block_rows_ > 0) {
      const unsigned places = p_.places(most_of_block_);
      RETENSOR_CUDA_LAUNCH(kernels::multiply_rows<kSums>, static_cast<unsigned>(block_rows_),
                           kThreads, table_bytes<kSums>(places), stream, p_, block_row_.data(),
                           places);
    }
  }

  const Room room_;
  const DeviceMatricised m_;
  Cub cub_;
  Buffer<Count> first_product_;
  Buffer<std::uint32_t> block_row_, cut_row_;
  Buffer<Count> found_;
  Buffer<std::uint32_t> row_entries_;
  Buffer<Count> first_entry_;
  Buffer<std::uint32_t> column_;  // of the entries of rows that are not cut
  Buffer<std::uint32_t> keys_;    // tables of those that are
  Buffer<Count> rank_, first_unit_, first_place_;
  Count block_rows_ = 0, most_of_block_ = 0, most_of_warp_ = 0;
  Count units_ = 0, places_ = 0;
  RowProduct p_{};
  kernels::CutRows cut_{};
  EntryModes modes_out_{};
  bool knows_lengths_ = false, has_room_ = false;
};

}  // namespace

std::unique_ptr<Path> make_element_path(const Problem& problem, DeviceMatricised matrices,
                                        const Room& room) {
  return std::make_unique<ElementPath>(problem, std::move(matrices), room);
}

}  // namespace retensor::bcb_sptc
