// The run of hash_spgemm.cuda: the product of two sparse matrices as spECK (Parger, Winter, Mlakar
// and Steinberger, PPoPP 2020) and OpSparse (Du et al., IEEE Access 2022) make it. Rows are listed
// by estimated size, counted, listed by exact size, multiplied; kernels stand in rows_cuda.cuh.
//
// Stages: tasks (products of each row, lists), pattern (entries of each row and where they begin),
// kernel (lists, columns and values), output (coordinates). Bytes: 4 a product in the first pass
// and 8 in the second, 16 a nonzero of x in each, 8 (columns, values) an entry and its coordinates.
#include "papers/bcb_sptc/baselines/hash_spgemm/hash_spgemm_cuda.hpp"

#include <array>
#include <string>
#include <utility>

#include "papers/bcb_sptc/baselines/hash_spgemm/rows_cuda.cuh"
#include "papers/bcb_sptc/baselines/matrix_run_cuda.cuh"

namespace retensor::hash_spgemm {
namespace {

using bcb_sptc::grid_for;
using bcb_sptc::kThreads;

template <bool kSums>
constexpr unsigned table_bytes(Bin bin) {
  return bin.rows_of_block() * bin.places * (kSums ? 8 : 4);
}
template <bool kSums>
constexpr unsigned kDenseBytes = kSums ? kDenseColumns * 4 + kDenseColumns / 8 : kDenseBits / 8;

template <class Kernel>
void give_shared(Kernel* kernel, unsigned bytes) {
  RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(bytes)));
}

class Run : public bcb_sptc::MatrixRun {
 public:
  explicit Run(const Problem& problem)
      : MatrixRun(problem, "hash tables in shared memory"),
        row_entries_(m_.rows),
        listed_(m_.rows * kLists),
        count_(kLists) {
    p_.rows = m_.rows, p_.columns = m_.columns;
    p_.row_start = m_.row_start.data(), p_.x_group = m_.x_group.data();
    p_.group_start = m_.group_start.data(), p_.y_column = m_.y_column.data();
    p_.x_values = m_.x_values.data(), p_.y_values = m_.y_values.data();
    p_.row_entries = row_entries_.data();
    p_.alpha = alpha_;
    if (m_.rows == 0) {
      make_room(0);
      return;
    }
    give_memory(std::make_index_sequence<kHashBins>());
    make_tasks(nullptr);
    counted_ = lengths();
    find_pattern(nullptr);
    make_room(element_at(first_entry_, m_.rows));
    column_ = Buffer<std::uint32_t>(result_.entries);
    p_.column = column_.data(), p_.values = result_.values.data();
    list_rows(Entries{row_entries_.data()}, nullptr);
    summed_ = lengths();
    for (const auto& [name, lists] :
         {std::pair{"rows_counted", counted_}, {"rows_summed", summed_}})
      executed_[name] = text(lists);
  }

  void run(StageTimer& timer) override {
    timer.stage("tasks");
    if (m_.rows == 0) return;
    const auto stream = stream_of(timer);
    make_tasks(stream);
    timer.stage("pattern");
    find_pattern(stream);
    timer.stage("kernel");
    list_rows(Entries{row_entries_.data()}, stream);
    multiply<true>(summed_, stream);
    timer.stage("output");
    RETENSOR_CUDA_LAUNCH((bcb_sptc::kernels::write_rows<Count, std::uint32_t>),
                         grid_for(m_.rows * kWarpSize), kThreads, 0, stream, m_.rows,
                         first_entry_.data(), column_.data(), entry_modes_);
  }

 private:
  using Lengths = std::array<std::uint32_t, kLists>;

  void make_tasks(cudaStream_t stream) {
    cub_.sums(m_.x_group.size(),
              bcb_sptc::kernels::ProductsOf{m_.x_group.data(), m_.group_start.data()},
              first_product_, stream);
    p_.first_product = first_product_.data();
    list_rows(Estimate{p_}, stream);
  }

  void find_pattern(cudaStream_t stream) {
    multiply<false>(counted_, stream);
    cub_.sums(m_.rows, Entries{row_entries_.data()}, first_entry_, stream);
    p_.first_entry = first_entry_.data();
  }

  template <class Size>
  void list_rows(const Size& size, cudaStream_t stream) {
    count_.zero(stream);
    RETENSOR_CUDA_LAUNCH(kernels::list_rows<Size>, device::blocks_for(m_.rows, kThreads), kThreads,
                         0, stream, m_.rows, size, Lists{listed_.data(), count_.data()});
  }
  /// Of the lists that were made last; waits for the device.
  Lengths lengths() const {
    Lengths host;
    count_.download(host);
    return host;
  }

  template <bool kSums>
  void multiply(const Lengths& lengths, cudaStream_t stream) {
    multiply_hashed<kSums>(lengths, stream, std::make_index_sequence<kHashBins>());
    if (lengths[kHashBins] > 0)
      RETENSOR_CUDA_LAUNCH(kernels::multiply_dense<kSums>, lengths[kHashBins], kDenseThreads,
                           kDenseBytes<kSums>, stream, p_, listed_.data() + kHashBins * m_.rows);
  }
  template <bool kSums, std::size_t... kBin>
  void multiply_hashed(const Lengths& lengths, cudaStream_t stream, std::index_sequence<kBin...>) {
    (launch<kBin, kSums>(lengths[kBin], stream), ...);
  }
  template <unsigned kBin, bool kSums>
  void launch(unsigned rows, cudaStream_t stream) {
    constexpr Bin kOwn = kBins[kBin];
    if (rows > 0)
      RETENSOR_CUDA_LAUNCH((kernels::multiply_hashed<kBin, kSums>),
                           device::blocks_for(rows, kOwn.rows_of_block()), kOwn.block(),
                           table_bytes<kSums>(kOwn), stream, p_, listed_.data() + kBin * m_.rows,
                           rows);
  }

  template <std::size_t... kBin>
  static void give_memory(std::index_sequence<kBin...>) {
    (give_shared(kernels::multiply_hashed<kBin, false>, table_bytes<false>(kBins[kBin])), ...);
    (give_shared(kernels::multiply_hashed<kBin, true>, table_bytes<true>(kBins[kBin])), ...);
    give_shared(kernels::multiply_dense<false>, kDenseBytes<false>);
    give_shared(kernels::multiply_dense<true>, kDenseBytes<true>);
  }

  static std::string text(const Lengths& lengths) {
    std::string list;
    for (const std::uint32_t length : lengths)
      list += (list.empty() ? "" : " ") + std::to_string(length);
    return list;
  }

  Count work_bytes() const override {
    return cub_.bytes() + first_product_.bytes() + first_entry_.bytes() + row_entries_.bytes() +
           listed_.bytes() + count_.bytes() + column_.bytes();
  }

  device::Cub cub_;
  Buffer<Count> first_product_, first_entry_;
  Buffer<std::uint32_t> row_entries_, listed_, count_, column_;
  Lengths counted_{}, summed_{};  ///< of the lists of both passes, small rows first
  Product p_{};
};

}  // namespace

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem) {
  return std::make_unique<Run>(problem);
}

}  // namespace retensor::hash_spgemm
