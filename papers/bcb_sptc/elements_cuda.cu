// The element-wise path of bcb_sptc.cuda; the kernels stand in elements_cuda.cuh.
#include "papers/bcb_sptc/elements_cuda.cuh"

#include <array>
#include <string>

#include "common/tensor/linear_index.hpp"

namespace retensor::bcb_sptc {
namespace {

struct Entries {
  const std::uint32_t* of;
  __host__ __device__ Count operator()(Count row) const { return of[row]; }
};

class ElementPath : public Path {
 public:
  explicit ElementPath(const Problem& problem)
      : ElementPath(problem, contraction_of(problem),
                    Matricised(contraction_of(problem), problem.x(), problem.y())) {}

  void make_tasks(cudaStream_t stream) override {
    if (p_.rows == 0) return;
    cub_.sums(m_.x_group.size(), kernels::ProductsOf{m_.x_group.data(), m_.group_start.data()},
              first_product_, stream);
    p_.first_product = first_product_.data();
    RETENSOR_CUDA_LAUNCH(kernels::classify, grid_for(p_.rows), kThreads, 0, stream, p_,
                         classes_.data(), order_.data());
    if (!knows_lengths_) learn_classes();
    cub_.sort(p_.rows, bits_for(kClasses), classes_, order_, spare_classes_, spare_order_, stream);
    p_.order = order_.data();
    cut_.rows = p_.rows - class_begin_[kCutClass];
    if (cut_.rows > 0) cut_rows(stream);
    knows_lengths_ = true;
  }

  void find_pattern(cudaStream_t stream) override {
    if (p_.rows > 0) {
      row_entries_.zero(stream);
      launch_rows<false>(stream);
      cub_.sums(p_.rows, Entries{row_entries_.data()}, first_entry_, stream);
      p_.first_entry = first_entry_.data();
      if (cut_.rows > 0) find_cut_pattern(stream);
    }
    if (has_room_) return;
    result_.make_room(count_entries());
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
    RETENSOR_CUDA_LAUNCH(kernels::multiply_units<true>, static_cast<unsigned>(units_), kThreads, 0,
                         stream, p_, cut_);
  }

  void write_coordinates(cudaStream_t stream) override {
    if (result_.entries == 0) return;
    RETENSOR_CUDA_LAUNCH((kernels::write_rows<Count, std::uint32_t>), grid_for(p_.rows * kWarp),
                         kThreads, 0, stream, p_.rows, p_.first_entry, p_.column, modes_out_);
    if (cut_.rows > 0)
      RETENSOR_CUDA_LAUNCH(kernels::write_cut_rows, grid_for(places_), kThreads, 0, stream, places_,
                           cut_, row_of_place_.data(), modes_out_);
  }

  Executed facts() override {
    return {{"precision", "single"},
            {"rows", std::to_string(p_.rows)},
            {"rows_cut", std::to_string(cut_.rows)},
            {"units", std::to_string(units_)}};
  }

  Count format_bytes() const override { return m_.bytes(); }
  Count work_bytes() const override {
    return cub_.bytes() + first_product_.bytes() + classes_.bytes() + order_.bytes() +
           spare_classes_.bytes() + spare_order_.bytes() + row_entries_.bytes() +
           first_entry_.bytes() + column_.bytes() + keys_.bytes() + rank_.bytes() +
           first_unit_.bytes() + first_place_.bytes() + row_of_unit_.bytes() +
           row_of_place_.bytes();
  }

 private:
  ElementPath(const Problem& problem, const Contraction& modes, const Matricised& m)
      : m_(modes, m),
        classes_(m.rows()),
        order_(m.rows()),
        spare_classes_(m.rows()),
        spare_order_(m.rows()),
        row_entries_(m.rows()) {
    result_.dims = modes.result_dims(problem.x().dims, problem.y().dims);
    p_.rows = m_.rows, p_.columns = m_.columns;
    p_.row_start = m_.row_start.data(), p_.x_group = m_.x_group.data();
    p_.group_start = m_.group_start.data(), p_.y_column = m_.y_column.data();
    p_.x_values = m_.x_values.data(), p_.y_values = m_.y_values.data();
    p_.row_entries = row_entries_.data();
    p_.alpha = static_cast<float>(problem.spec().alpha);
  }

  /// Where each class begins among the sorted rows.
  void learn_classes() {
    std::array<Count, kClasses> sizes{};
    for (const auto c : classes_.to_host()) ++sizes[c];
    Count begin = 0;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      class_begin_[c] = begin;
      begin += sizes[c];
    }
    class_begin_[kClasses] = begin;
  }

  void cut_rows(cudaStream_t stream) {
    cut_.row = order_.data() + class_begin_[kCutClass];
    cub_.sums(cut_.rows, kernels::UnitsOf{p_, cut_.row}, first_unit_, stream);
    cub_.sums(cut_.rows, kernels::PlacesOf{p_, cut_.row}, first_place_, stream);
    if (!knows_lengths_) {
      units_ = element(first_unit_, cut_.rows);
      places_ = element(first_place_, cut_.rows);
      keys_ = Buffer<std::uint32_t>(places_);
    }
    find_owners(cut_.rows, first_unit_, units_, row_of_unit_, cub_, stream);
    find_owners(cut_.rows, first_place_, places_, row_of_place_, cub_, stream);
    cut_.first_unit = first_unit_.data(), cut_.first_place = first_place_.data();
    cut_.row_of_unit = row_of_unit_.data();
    cut_.keys = keys_.data();
  }

  void find_cut_pattern(cudaStream_t stream) {
    RETENSOR_CUDA_CHECK(cudaMemsetAsync(keys_.data(), 0xff, keys_.bytes(), stream));
    RETENSOR_CUDA_LAUNCH(kernels::multiply_units<false>, static_cast<unsigned>(units_), kThreads, 0,
                         stream, p_, cut_);
    cub_.sums(places_, kernels::IsTaken{keys_.data()}, rank_, stream);
    cut_.rank = rank_.data();
  }

  Count count_entries() {
    if (p_.rows == 0) return 0;
    cut_.first_entry = element(first_entry_, p_.rows);
    return cut_.first_entry + (cut_.rows > 0 ? element(rank_, places_) : 0);
  }

  template <bool kSums>
  void launch_rows(cudaStream_t stream) {
    for (int c = 0; c < kWarpClasses; ++c) {
      const Count begin = class_begin(c), end = class_begin(c + 1);
      if (begin == end) continue;
      const unsigned places = places_of_class(c);
      RETENSOR_CUDA_LAUNCH(kernels::multiply_short_rows<kSums>,
                           device::blocks_for(end - begin, kWarpsOfBlock), kWarpsOfBlock * kWarp,
                           kWarpsOfBlock * places * (kSums ? 8 : 4), stream, p_, begin, end,
                           places);
    }
    const Count begin = class_begin(kBlockClass), end = class_begin(kCutClass);
    if (begin < end)
      RETENSOR_CUDA_LAUNCH(kernels::multiply_rows<kSums>, static_cast<unsigned>(end - begin),
                           kThreads, 0, stream, p_, begin);
  }
  Count class_begin(int c) const { return class_begin_[static_cast<std::size_t>(c)]; }

  const DeviceMatricised m_;
  Cub cub_;
  Buffer<Count> first_product_;
  Buffer<std::uint32_t> classes_, order_, spare_classes_, spare_order_;
  Buffer<std::uint32_t> row_entries_;
  Buffer<Count> first_entry_;
  Buffer<std::uint32_t> column_;  // of the entries of rows that are not cut
  Buffer<std::uint32_t> keys_;    // tables of those that are
  Buffer<Count> rank_, first_unit_, first_place_;
  Buffer<std::uint32_t> row_of_unit_, row_of_place_;
  std::array<Count, kClasses + 1> class_begin_{};
  Count units_ = 0, places_ = 0;
  RowProduct p_{};
  kernels::CutRows cut_{};
  EntryModes modes_out_{};
  bool knows_lengths_ = false, has_room_ = false;
};

}  // namespace

std::unique_ptr<Path> make_element_path(const Problem& problem) {
  return std::make_unique<ElementPath>(problem);
}

}  // namespace retensor::bcb_sptc
