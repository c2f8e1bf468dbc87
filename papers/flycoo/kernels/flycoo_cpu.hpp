// spMTTKRP over all modes with dynamic remapping on OpenMP (FLYCOO section 4, Algorithms 2 to 5).
//
// The tensor lies in the order of mode 0, its nonzeros in kappa partitions such that all nonzeros
// of an output row are in one. The pass over mode d gives each partition to a thread that is idle,
// as a GPU gives a thread block to an idle multiprocessor. For each nonzero x of the partition the
// thread
//  - multiplies the value by the rows of the other modes' factors, column by column, and adds the
//    product to row c_d of the output (Algorithm 2): no other partition touches that row, so no
//    update is atomic (Observation 2);
//  - copies the record to position b_{d+1} of T_out (Algorithm 3): no other nonzero goes there, so
//    no copy is atomic (Observation 1).
// After a barrier T_in and T_out change places, and T_in lies in the order of mode d + 1; after the
// last mode it lies in that of mode 0 again (Algorithm 5).
//
// Deviations: outputs begin with zero, as eq. (1) says; Algorithm 2 (line 15) would add to the
// given factor. Every mode reads the given factors. Without remapping (an ablation, and how the
// paper separates the times in Fig. 5) each mode has a copy of the tensor in its order.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/method/method.hpp"
#include "common/run/cpu_run.hpp"
#include "common/tensor/matrix.hpp"
#include "papers/flycoo/format/flycoo.hpp"
#include "papers/flycoo/format/options.hpp"

namespace retensor::flycoo {

/// What the pass over one mode reads and writes of the tensor.
struct TensorPass {
  RecordLayout layout;
  int mode = 0, next = 0;
  std::span<const Count> start;           ///< of the partitions, kappa + 1 entries
  const std::uint32_t* in = nullptr;      ///< T_in, in the mode's order
  const std::uint32_t* stream = nullptr;  ///< remap ids, where they lie apart
  std::uint32_t* out = nullptr;           ///< T_out; nullptr: no remapping
};

/// A tensor and the copies that a run needs: T_out, or without remapping one more per mode.
class RunTensor {
 public:
  RunTensor(Flycoo tensor, bool remaps);
  const Flycoo& format() const { return tensor_; }
  /// The pass over a mode; throws LogicError unless modes are taken in turn from 0.
  TensorPass pass(int mode);
  /// After a pass: Algorithm 5, line 11; without remapping no copies change places.
  void swap();
  /// T_in: between runs the records in the order of mode 0.
  std::span<const std::uint32_t> records() const { return tensor_.records; }
  /// Of the format and the copies.
  Count bytes() const { return tensor_.bytes() + copies_.size() * tensor_.copy_bytes(); }

 private:
  /// Those that the pass over a mode reads.
  const Array<std::uint32_t>& records_of(int mode) const {
    return remaps_ || mode == 0 ? tensor_.records : copies_[static_cast<std::size_t>(mode) - 1];
  }

  Flycoo tensor_;
  const bool remaps_;
  std::vector<Array<std::uint32_t>> copies_;  // T_out, or those of modes 1 to N - 1
  int next_ = 0;                              // the mode whose order T_in is in
};

/// The rows of the other modes' factors that a nonzero multiplies; the mode of the output is left
/// out.
template <class T>
struct FactorRows {
  std::array<const T*, kMaxOther> row;
  int count = 0;
};

/// Algorithm 2 for one nonzero: adds value * product of the rows to `out`, its row of the output,
/// by cache lines of R columns.
template <class T>
inline void add_product(T value, const FactorRows<T>& factors, T* out, Count rank) {
  constexpr Count kColumns = 64 / sizeof(T);
  const auto add = [&](Count first, auto columns) {
    std::array<T, kColumns> product;
    for (Count r = 0; r < columns; ++r) product[r] = value;
    for (int k = 0; k < factors.count; ++k)
      for (Count r = 0; r < columns; ++r)
        product[r] *= factors.row[static_cast<std::size_t>(k)][first + r];
    for (Count r = 0; r < columns; ++r) out[first + r] += product[r];
  };
  Count first = 0;
  for (; first + kColumns <= rank; first += kColumns)
    add(first, std::integral_constant<Count, kColumns>());
  if (first < rank) add(first, rank - first);
}

/// Algorithm 4: one partition on one thread. factors[m] is row 0 of mode m's factor, R columns
/// each; out that of the mode's output. watch(partition, row) is called before each update.
template <class T, class Watch>
void run_partition(const TensorPass& pass, std::uint32_t partition,
                   const std::array<const T*, kMaxOrder>& factors, T* out, Count rank,
                   Watch&& watch) {
  const RecordLayout layout = pass.layout;
  const auto words = static_cast<Count>(layout.words);
  for (Count p = pass.start[partition]; p < pass.start[partition + 1]; ++p) {
    const std::uint32_t* const record = pass.in + p * words;
    FactorRows<T> rows;
    for (int m = 0; m < layout.order; ++m)
      if (m != pass.mode)
        rows.row[static_cast<std::size_t>(rows.count++)] =
            factors[static_cast<std::size_t>(m)] + record_index(layout, record, m) * rank;
    const Index row = record_index(layout, record, pass.mode);
    watch(partition, row);
    add_product(record_value<T>(layout, record), rows, out + row * rank, rank);
    if (pass.out != nullptr)
      std::copy_n(record, words,
                  pass.out + next_position(layout, record, pass.stream, p, pass.next) * words);
  }
}

/// One turn of Algorithm 5's loop: adds the MTTKRP of `mode` to `out` (I_mode x R) and leaves the
/// tensor in the next mode's order. Matrices have R columns without padding.
template <class T, class Watch>
void mttkrp_pass(RunTensor& tensor, int mode, const std::vector<Matrix>& factors, MatrixView<T> out,
                 int threads, Watch&& watch) {
  std::array<const T*, kMaxOrder> tables{};
  for (std::size_t m = 0; m < factors.size(); ++m) tables[m] = factors[m].view<T>().data;
  const TensorPass pass = tensor.pass(mode);
  const auto partitions = static_cast<std::uint32_t>(pass.start.size() - 1);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::uint32_t k = 0; k < partitions; ++k)
    run_partition(pass, k, tables, out.data, out.cols, watch);
  tensor.swap();
}

/// The rows of `all` (sum of I_m rows, mode 0 first) that are those of `mode`.
template <class T>
MatrixView<T> rows_of_mode(const Dims& dims, int mode, MatrixView<T> all) {
  const auto at = static_cast<std::size_t>(mode);
  for (std::size_t m = 0; m < at; ++m) all.data += dims[m] * all.ld;
  all.rows = dims[at];
  return all;
}

/// Algorithm 5: adds the MTTKRP of every mode to its rows of `out` (sum of I_m rows, mode 0 first).
template <class T, class Watch>
void mttkrp_all(RunTensor& tensor, const std::vector<Matrix>& factors, MatrixView<T> out,
                int threads, Watch&& watch) {
  const Dims& dims = tensor.format().dims;
  for (int mode = 0; mode < tensor.format().order(); ++mode)
    mttkrp_pass(tensor, mode, factors, rows_of_mode(dims, mode, out), threads, watch);
}

/// flycoo.cpu: parameters of the format, remap, threads.
std::unique_ptr<Prepared> prepare_flycoo_cpu(const Problem& problem, const Params& params);

}  // namespace retensor::flycoo
