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
  RunTensor(const RunTensor&) = delete;
  RunTensor& operator=(const RunTensor&) = delete;
  const Flycoo& format() const { return tensor_; }
  bool remaps() const { return remaps_; }
  /// The pass over a mode; throws LogicError unless modes are taken in turn from 0.
  TensorPass pass(int mode);
  /// After a pass: Algorithm 5, line 11; without remapping no copies change places.
  void swap();
  /// T_in: between runs the records in the order of mode 0.
  std::span<const std::uint32_t> records() const { return *in_; }
  /// Of the format and the copies.
  Count bytes() const;

 private:
  using Records = Array<std::uint32_t>;
  Flycoo tensor_;
  const bool remaps_;
  std::vector<Records> copies_;  // T_out, or those of modes 1 to N - 1
  Records* in_ = &tensor_.records;
  Records* out_ = nullptr;
  int next_ = 0;  // the mode whose order T_in is in
};

/// The rows of the other modes' factors that a nonzero multiplies; the mode of the output is left
/// out.
template <class T>
struct FactorRows {
  std::array<const T*, kMaxOther> row;
  int count = 0;
};

/// out[r] += value * product of the rows' elements r, for kWidth columns, or `width` where it is 0.
template <class T, Count kWidth>
inline void add_columns(T value, const FactorRows<T>& factors, T* out, Count first, Count width) {
  constexpr Count kMost = 64 / sizeof(T);
  const Count columns = kWidth > 0 ? kWidth : width;
  std::array<T, kMost> product;
  for (Count r = 0; r < columns; ++r) product[r] = value;
  for (int k = 0; k < factors.count; ++k)
    for (Count r = 0; r < columns; ++r)
      product[r] *= factors.row[static_cast<std::size_t>(k)][first + r];
  for (Count r = 0; r < columns; ++r) out[first + r] += product[r];
}

/// Algorithm 2 for one nonzero; `out` is its row of the output, R elements.
template <class T>
inline void add_product(T value, const FactorRows<T>& factors, T* out, Count rank) {
  constexpr Count kColumns = 64 / sizeof(T);  // a cache line of each row
  Count first = 0;
  for (; first + kColumns <= rank; first += kColumns)
    add_columns<T, kColumns>(value, factors, out, first, kColumns);
  if (first < rank) add_columns<T, 0>(value, factors, out, first, rank - first);
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

struct Unwatched {
  void operator()(std::uint32_t, Index) const {}
};

/// The run of flycoo.cpu: the format, the partitions and the remapping of the GPU's form with
/// threads in the place of thread blocks.
template <class T>
class AllModes : public Prepared, private Passes {
 public:
  AllModes(const Problem& problem, const Params& params)
      : problem_(problem),
        threads_(thread_count(params)),
        tensor_(to_flycoo(problem.x(), format_options(params, threads_, problem.spec().seed)),
                params.flag("remap")),
        out_(total_rows(problem.x().dims), problem.rank(), problem.dtype()) {}

  void run(StageTimer& timer) override {
    timer.stage("zero");
    zero(out_.values().template as<T>());
    timer.stage("kernel");
    mttkrp_all<T>(tensor_, problem_.dense(), out_.template view<T>(), threads_, Unwatched{});
  }

  Result result() override { return out_; }

  Executed executed() const override {
    Executed facts = format_facts(tensor_.format());
    facts["kernel"] = "FLYCOO-MTTKRP-OMP";
    facts["threads"] = std::to_string(threads_);
    facts["remap"] = tensor_.remaps() ? "in the pass" : "none, a copy per mode";
    return facts;
  }
  Footprint footprint() const override { return {tensor_.bytes(), 0}; }
  Work work() const override { return work_model(problem_); }
  Passes* passes() override { return this; }

 private:
  void run_mode(int mode, StageTimer& timer) override {
    const auto rows = rows_of(mode);
    timer.stage("zero");
    zero({rows.data, rows.rows * rows.cols});
    timer.stage("kernel");
    mttkrp_pass<T>(tensor_, mode, problem_.dense(), rows, threads_, Unwatched{});
  }

  Matrix mode_result(int mode) override {
    const auto rows = rows_of(mode);
    Matrix one(rows.rows, rows.cols, problem_.dtype());
    std::copy_n(rows.data, rows.rows * rows.cols, one.view<T>().data);
    return one;
  }

  MatrixView<T> rows_of(int mode) {
    return rows_of_mode(problem_.x().dims, mode, out_.template view<T>());
  }

  void zero(std::span<T> values) const {
    T* const at = values.data();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (Count i = 0; i < values.size(); ++i) at[i] = T{0};
  }

  const Problem& problem_;
  const int threads_;
  RunTensor tensor_;
  Matrix out_;
};

}  // namespace retensor::flycoo
