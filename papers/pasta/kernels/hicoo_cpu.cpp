// pasta.cpu.hicoo: the suite in HiCOO (PASTA section III.D.1).
//
// TEW and TS run on the value array of the format, as on coordinates; for different patterns
// prepare merges the two tensors and stores the result in HiCOO too. TTV and TTM use gHiCOO with
// the product mode plain, so that fibers stay contiguous inside blocks. MTTKRP runs over blocks
// (Algorithm 3, atomic updates); `owner` gives neighbouring rows of blocks to one thread, `private`
// keeps a copy of the output per thread, `scheduled` chooses one of the two by the output's size.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "common/formats/hicoo.hpp"
#include "papers/pasta/format/fibers.hpp"
#include "papers/pasta/format/hicoo_work.hpp"
#include "papers/pasta/format/options.hpp"
#include "papers/pasta/format/patterns.hpp"
#include "papers/pasta/kernels/prepare_cpu.hpp"
#include "papers/pasta/kernels/run_cpu.hpp"

namespace retensor::pasta {
namespace {

template <class T>
class TewRun : public CpuRun {
 public:
  TewRun(const Problem& problem, int threads, int bits)
      : CpuRun(problem, threads, "HiCOO-TEW-OMP"),
        op_(arithmetic(problem.spec().variant)),
        x_(to_hicoo(problem.x(), {bits, {}})),
        y_(to_hicoo(problem.y(), {bits, {}})) {
    // Positions in the pattern are those of the two tensors as stored.
    auto pattern = predict_pattern(x_.to_coo(), y_.to_coo(), op_);
    z_ = to_hicoo(pattern.z, {bits, {}});
    how_ = store_for(3 * z_.values.bytes());
    executed_["pattern"] = pattern.equal() ? "equal" : "general";
    if (!pattern.equal())
      for (const Count p : hicoo_order(pattern.z, {bits, {}})) {
        from_x_.push_back(pattern.from_x[p]);
        from_y_.push_back(pattern.from_y[p]);
      }
    format_bytes_ =
        x_.bytes() + y_.bytes() + z_.bytes() + (from_x_.size() + from_y_.size()) * sizeof(Count);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const auto x = std::as_const(x_).values.template as<T>();
    const auto y = std::as_const(y_).values.template as<T>();
    const auto z = z_.values.template as<T>();
    if (from_x_.empty())
      tew<T>(op_, x, y, z, how_, threads_);
    else
      tew_general<T>(op_, x, y, from_x_, from_y_, z, threads_);
  }

  Result result() override { return z_.to_coo(); }

 private:
  const Arithmetic op_;
  Hicoo x_, y_, z_;
  Store how_ = Store::cached;
  std::vector<Count> from_x_, from_y_;
};

template <class T>
class TsRun : public CpuRun {
 public:
  TsRun(const Problem& problem, int threads, int bits)
      : CpuRun(problem, threads, "HiCOO-TS-OMP"),
        op_(arithmetic(problem.spec().variant)),
        x_(to_hicoo(problem.x(), {bits, {}})),
        z_(x_),
        how_(store_for(2 * z_.values.bytes())) {
    format_bytes_ = x_.bytes() + z_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    ts<T>(op_, std::as_const(x_).values.template as<T>(), static_cast<T>(problem_.spec().scalar),
          z_.values.template as<T>(), how_, threads_);
  }

  Result result() override { return z_.to_coo(); }

 private:
  const Arithmetic op_;
  Hicoo x_, z_;
  const Store how_;
};

template <class T>
class FiberRun : public CpuRun {
 public:
  FiberRun(const Problem& problem, int threads, int bits)
      : CpuRun(problem, threads,
               problem.operation() == Operation::ttv ? "HiCOO-TTV-OMP" : "HiCOO-TTM-OMP"),
        u_(problem.dense()[0].view<T>()),
        x_(to_hicoo(problem.x(), {bits, {problem.mode()}})),
        start_(hicoo_fiber_starts(x_)),
        last_(fiber_ends(start_)),
        y_(problem.dtype(), (start_.size() - 1) * u_.cols),
        how_(store_for(y_.bytes())) {
    format_bytes_ = x_.bytes() + start_.size() * sizeof(Count) + last_.size() + y_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const Fibers<T> x{start_, x_.plain_index[0], last_, std::as_const(x_).values.template as<T>()};
    if (problem_.operation() == Operation::ttv)
      ttv<T>(x, u_, y_.as<T>(), threads_);
    else
      ttm<T>(x, u_, y_.as<T>(), how_, threads_);
  }

  Result result() override {
    const Coo x = x_.to_coo();
    const auto coordinates = fiber_coordinates(x, problem_.mode(), start_);
    const Dims& dims = problem_.x().dims;
    if (problem_.operation() == Operation::ttv)
      return ttv_result(dims, problem_.mode(), coordinates, y_);
    return ttm_result(dims, problem_.mode(), u_.cols, coordinates, y_);
  }

 private:
  MatrixView<const T> u_;
  Hicoo x_;
  std::vector<Count> start_;
  std::vector<std::uint8_t> last_;
  Values y_;
  const Store how_;
};

/// Positions 0 = c_0 <= ... <= c_parts = n that cut n weighted items into shares of about equal
/// weight; start[i] is the weight before item i (n + 1 entries).
std::vector<Count> fair_cuts(std::span<const Count> start, int parts) {
  std::vector<Count> cuts;
  for (int part = 0; part <= parts; ++part) {
    const Count target = start.back() * static_cast<Count>(part) / static_cast<Count>(parts);
    const auto at = std::lower_bound(start.begin(), start.end(), target);
    cuts.push_back(static_cast<Count>(at - start.begin()));
  }
  cuts.front() = 0;
  cuts.back() = start.size() - 1;
  return cuts;
}

template <class T>
class MttkrpRun : public MttkrpRunBase<T> {
 public:
  MttkrpRun(const Problem& problem, int threads, int bits, const std::string& update)
      : MttkrpRunBase<T>(problem, threads, "HiCOO-MTTKRP-OMP", resolved(problem, threads, update)),
        x_(to_hicoo(problem.x(), {bits, {}, update == "atomic" ? -1 : problem.mode()})) {
    const auto mode = static_cast<std::size_t>(problem.mode());
    input_.block_bits = x_.block_bits;
    input_.block_start = x_.block_start;
    input_.block_row = x_.block_index[mode];
    input_.row = x_.element[mode];
    input_.value = std::as_const(x_).values.template as<T>();
    for (std::size_t m = 0; m < x_.block_index.size(); ++m) {
      if (m == mode) continue;
      input_.block_other.emplace_back(x_.block_index[m]);
      input_.other.emplace_back(x_.element[m]);
      input_.factor.push_back(problem.dense()[m].template view<T>());
    }
    if (this->update_ == "private") share_blocks();
    if (this->update_ == "owner") share_block_rows();
    this->executed_["blocks"] = std::to_string(x_.blocks());
    this->format_bytes_ += x_.bytes() + parts_.ranges.size() * sizeof(BlockRange);
  }

  Work work() const override {
    return hicoo_mttkrp_work(this->problem_, x_.blocks(), x_.block_bits);
  }

 private:
  // What `scheduled` stands for: private copies where zeroing and adding them up costs little
  // beside the products (a quarter of the nonzeros is the same for all tensors measured), else
  // owners.
  static std::string resolved(const Problem& problem, int threads, const std::string& update) {
    if (update != "scheduled") return update;
    const Count rows = problem.x().dims[static_cast<std::size_t>(problem.mode())];
    return 4 * static_cast<Count>(threads) * rows <= problem.x().nnz() ? "private" : "owner";
  }

  void kernel(MatrixView<T> out, std::span<T> partial) override {
    if (this->update_ == "atomic") return hicoo_mttkrp_atomic<T>(input_, out, this->threads_);
    const Count copy = partial.size() / outputs_.size();
    for (std::size_t part = 0; part < outputs_.size(); ++part)
      outputs_[part] = partial.empty() ? out
                                       : MatrixView<T>{partial.data() + part * copy, out.rows,
                                                       out.cols, out.cols};
    hicoo_mttkrp_parts<T>(input_, outputs_, parts_);
  }

  // Equal shares of the nonzeros, neighbours in Morton order.
  void share_blocks() {
    const auto cuts = fair_cuts(x_.block_start, this->threads_);
    parts_.start = {0};
    for (std::size_t part = 1; part < cuts.size(); ++part) {
      parts_.ranges.push_back({cuts[part - 1], cuts[part]});
      parts_.start.push_back(part);
    }
  }

  // Neighbouring rows of blocks with about equal shares of the nonzeros. A part keeps the Morton
  // order, so that its blocks are few long ranges.
  void share_block_rows() {
    const auto row = input_.block_row;
    const Index rows = row.empty() ? 0 : *std::max_element(row.begin(), row.end()) + 1;
    std::vector<Count> weight(rows + 1);
    for (Count b = 0; b < x_.blocks(); ++b)
      weight[row[b] + 1] += x_.block_start[b + 1] - x_.block_start[b];
    std::partial_sum(weight.begin(), weight.end(), weight.begin());
    const auto cuts = fair_cuts(weight, this->threads_);
    std::vector<std::vector<BlockRange>> ranges(cuts.size() - 1);
    for (Count b = 0; b < x_.blocks(); ++b) {
      const auto above = std::upper_bound(cuts.begin() + 1, cuts.end() - 1, row[b]);
      auto& mine = ranges[static_cast<std::size_t>(above - cuts.begin()) - 1];
      if (!mine.empty() && mine.back().last == b)
        ++mine.back().last;
      else
        mine.push_back({b, b + 1});
    }
    parts_.start = {0};
    for (const auto& mine : ranges) {
      parts_.ranges.insert(parts_.ranges.end(), mine.begin(), mine.end());
      parts_.start.push_back(parts_.ranges.size());
    }
  }

  Hicoo x_;
  HicooMttkrpInput<T> input_;
  BlockParts parts_;
  std::vector<MatrixView<T>> outputs_ =
      std::vector<MatrixView<T>>(static_cast<std::size_t>(this->threads_));
};

}  // namespace

std::unique_ptr<Prepared> prepare_hicoo_cpu(const Problem& problem, const Params& params) {
  const int threads = thread_count(params), bits = block_bits(params);
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    switch (problem.operation()) {
      case Operation::tew:
        return std::make_unique<TewRun<T>>(problem, threads, bits);
      case Operation::ts:
        return std::make_unique<TsRun<T>>(problem, threads, bits);
      case Operation::ttv:
      case Operation::ttm:
        return std::make_unique<FiberRun<T>>(problem, threads, bits);
      default:
        return std::make_unique<MttkrpRun<T>>(problem, threads, bits, params.word("update"));
    }
  });
}

}  // namespace retensor::pasta
