// Contraction of two tensors in BCB with an emulated tensor core (BCB-SpTC section IV,
// Algorithms 1 to 4, equation 1).
//
// A pair of blocks is a product of two matrices: free cells of x by contracted cells, times
// contracted cells by free cells of y, for any number of modes of each kind. The order of the cells
// in a block is chosen at conversion so that both matrices lie in their bitmaps row after row. A
// fragment takes 16 rows, 16 contracted cells, 16 columns; what lies beyond the matrix is zero, and
// a product of which one fragment is empty is left out. The products of all pairs of a result block
// are added into its sums, which begin with zero.
//
// The pattern of the result is that of the operands: a cell (i, j) is an entry if a pair has some k
// with both bits (i, k) and (k, j). Row i of the result's bitmap is the union of y's rows k over
// the bits k of x's row i. It is found before the product (`find_pattern`), which tells where the
// entries of a block begin, and again beside the sums. A sum that is zero is an entry; `drop_zeros`
// removes these (Algorithm 1, line 11).
//
// An entry of a product depends on its own row and column alone. Hence the emulation gathers rows
// and columns that are not empty into one fragment, 16 at a time: the bits of the result are those
// of the fragments in place, whose number is what `mmas` counts.
#pragma once

#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/method/method.hpp"
#include "common/numeric/tensor_core.hpp"
#include "papers/bcb_sptc/format/options.hpp"
#include "papers/bcb_sptc/format/task_list.hpp"
#include "papers/bcb_sptc/kernels/addend_cpu.hpp"

namespace retensor::bcb_sptc {

class Worker;

class Multiplication {
 public:
  /// alpha: the factor of equation 1. Works on operands and tasks that others keep.
  Multiplication(const Operands& operands, const TaskList& tasks, Arithmetic arithmetic,
                 float alpha, int threads);
  ~Multiplication();
  Multiplication(const Multiplication&) = delete;
  Multiplication& operator=(const Multiplication&) = delete;

  /// Counts entries and MMAs of the tasks. Allocates when called for the first time only.
  void find_pattern();
  Count entries() const { return start_.back(); }
  /// Products of 16 x 16 x 16 of two fragments that hold a nonzero each.
  Count mmas() const { return mmas_; }
  /// Writes the entries by result block, then cell, into `out` of as many nonzeros; allocates
  /// nothing.
  void run(Coo& out);

 private:
  const TaskList& tasks_;
  std::vector<Count> start_ = {0};  // first entry of each result block, and the end
  Count mmas_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;  // one a thread
};

/// Of the first `entries`, moves those whose value is not zero to the front, in order; their
/// number.
Count drop_zeros(Coo& tensor, Count entries);

/// The run of bcb_sptc.cpu: the format and the algorithm of the GPU's form, so that sizes, counts
/// and errors are the same on any machine.
///
/// Stages, after the three phases of section V.B.2: tasks and pattern (task processing), kernel
/// (computation), output (output processing); with an addend (equation 1) also addend, with sorted
/// output sort. Conversion belongs to preparing.
class CpuRun : public Prepared {
 public:
  CpuRun(const Problem& problem, const Params& params, const Addend& addend)
      : problem_(problem),
        arithmetic_(arithmetic_of(params)),
        drops_zeros_(params.word("zeros") == "drop"),
        adds_(addend.beta != 0),
        threads_(params.integer("threads") > 0 ? static_cast<int>(params.integer("threads"))
                                               : omp_get_max_threads()),
        operands_(operands_of(problem, params)),
        tasks_(operands_, params.flag("intersect"), host_room(params.real("memory"))),
        product_(operands_, tasks_, arithmetic_, static_cast<float>(problem.spec().alpha),
                 threads_),
        nothing_(Addend::nothing(operands_.result_dims)) {
    // Made once for the room that the runs need; each run makes them again.
    tasks_.build();
    product_.find_pattern();
    const Room room = host_room(params.real("memory"));
    make_room(room);
    if (addend.beta != 0)
      make_sum(room, addend);
    else if (sorts_output(params))
      make_sum(room, nothing_);
  }

  void run(StageTimer& timer) override {
    timer.stage("tasks");
    tasks_.build();
    timer.stage("pattern");
    product_.find_pattern();
    timer.stage("kernel");
    product_.run(out_);
    timer.stage("output");
    if (sum_) {
      timer.stage(adds_ ? "addend" : "sort");
      sum_->run(out_);
    }
    entries_ = sum_ ? sum_->entries() : out_.nnz();
    if (drops_zeros_) entries_ = drop_zeros(all(), entries_);
  }

  Result result() override {
    Coo kept(out_.dims, DType::f32, entries_);
    const auto from = all().values.as<float>().first(entries_);
    std::ranges::copy(from, kept.values.as<float>().begin());
    for (std::size_t m = 0; m < kept.indices.size(); ++m)
      std::copy_n(all().indices[m].begin(), entries_, kept.indices[m].begin());
    return kept;
  }

  Executed executed() const override {
    Executed facts = shared_facts(stored(operands_.x), stored(operands_.y), operands_.modes,
                                  {tasks_.pairs(), tasks_.tasks(), tasks_.results()}, arithmetic_);
    const auto products = static_cast<Count>(products_of(arithmetic_));
    facts["kernel"] = "BCB-SpTC with an emulated tensor core";
    facts["mma"] = std::to_string(products * product_.mmas());
    facts["result_nonzeros"] = std::to_string(sum_ ? sum_->entries() : product_.entries());
    if (adds_) facts["z_nonzeros"] = std::to_string(sum_->z_nonzeros());
    facts["threads"] = std::to_string(threads_);
    if (operands_.x.nnz() <= kDrawnNonzeros) facts["layout"] = layout_text(operands_.x);
    return facts;
  }
  Footprint footprint() const override { return {operands_.x.bytes() + operands_.y.bytes(), 0}; }
  Work work() const override { return work_model(problem_); }

 private:
  static constexpr Count kDrawnNonzeros = 16;  // larger tensors are not drawn in rows

  Count entry_bytes() const { return sizeof(Index) * operands_.result_dims.size() + sizeof(float); }
  void make_room(const Room& room) {
    room.require("entries of the result", product_.entries(), entry_bytes());
    out_ = Coo(operands_.result_dims, DType::f32, product_.entries());
  }
  void make_sum(const Room& room, const Addend& addend) {
    room.require("entries of the sum with Z and their keys", product_.entries() + addend.z.nnz(),
                 entry_bytes() + sizeof(Uint128));
    sum_ = std::make_unique<HostSum>(addend, operands_.result_dims, product_.entries());
    sum_->run(out_);
  }
  Coo& all() { return sum_ ? sum_->sum() : out_; }

  static StoredFormat stored(const Bcb& bcb) {
    return {bcb.grid, bcb.options.values, bcb.blocks(), bcb.nnz(), bcb.bytes()};
  }

  const Problem& problem_;
  const Arithmetic arithmetic_;
  const bool drops_zeros_, adds_;
  const int threads_;
  const Operands operands_;
  TaskList tasks_;
  Multiplication product_;
  Coo out_;
  const Addend nothing_;
  std::unique_ptr<HostSum> sum_;
  Count entries_ = 0;  // that the last run left
};

}  // namespace retensor::bcb_sptc
