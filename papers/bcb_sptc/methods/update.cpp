#include "papers/bcb_sptc/methods/update.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/error.hpp"
#include "common/method/work.hpp"
#include "common/tensor/einsum.hpp"
#include "common/tensor/operations.hpp"
#include "papers/bcb_sptc/format/room.hpp"

namespace retensor::bcb_sptc {
namespace {

/// The timer of a run that nobody times, on the default stream of a device.
class NoTimer : public StageTimer {
 public:
  void start() override {}
  void stage(std::string_view) override {}
  StageTimes stop() override { return {}; }
};

std::shared_ptr<const Coo> borrowed(const Coo& tensor) {
  return {std::shared_ptr<const Coo>(), &tensor};
}

/// Nonzeros `first` to last - 1.
std::shared_ptr<const Coo> part(const Coo& tensor, Count first, Count last) {
  auto some = std::make_shared<Coo>(tensor.dims, tensor.dtype(), last - first);
  for (std::size_t m = 0; m < tensor.dims.size(); ++m)
    std::copy_n(tensor.indices[m].begin() + static_cast<std::ptrdiff_t>(first), last - first,
                some->indices[m].begin());
  for (Count p = first; p < last; ++p) some->values.set(p - first, tensor.values.at(p));
  return some;
}

/// The contraction of `problem` with other nonzeros of X and another alpha.
Problem with_x(const Problem& problem, std::shared_ptr<const Coo> x, double alpha) {
  ProblemSpec spec = problem.spec();
  spec.values = ValueModel::stored;  // they were drawn before
  spec.alpha = alpha;
  return {spec, std::move(x), borrowed(problem.y())};
}

Coo result_of(const Problem& problem, const Addend& addend, const PrepareSum& prepare) {
  const auto prepared = prepare(problem, addend);
  NoTimer timer;
  prepared->run(timer);
  return std::get<Coo>(prepared->result());
}

/// Owns what the run of an update works on.
class UpdateRun : public Prepared {
 public:
  UpdateRun(const Problem& problem, double beta, const PrepareSum& prepare)
      : half_(problem.x().nnz() / 2),
        first_(with_x(problem, part(problem.x(), 0, half_), problem.spec().alpha)),
        addend_{beta, rest(problem, beta, prepare)},
        run_(prepare(first_, addend_)) {}

  void run(StageTimer& timer) override { run_->run(timer); }
  Result result() override { return run_->result(); }
  Executed executed() const override { return run_->executed(); }
  Footprint footprint() const override { return run_->footprint(); }
  Work work() const override { return run_->work(); }

 private:
  /// Z: what the other nonzeros contribute, over beta.
  Coo rest(const Problem& problem, double beta, const PrepareSum& prepare) const {
    const Problem second =
        with_x(problem, part(problem.x(), half_, problem.x().nnz()), problem.spec().alpha / beta);
    return result_of(second, {}, prepare);
  }

  const Count half_;
  const Problem first_;
  const Addend addend_;
  const std::unique_ptr<Prepared> run_;
};

/// The same on a stream of a device.
class StreamTimer : public NoTimer {
 public:
  explicit StreamTimer(void* stream) : stream_(stream) {}
  void* stream() const override { return stream_; }

 private:
  void* const stream_;
};

/// The contraction of `problem` with other nonzeros of Y.
Problem with_y(const Problem& problem, std::shared_ptr<const Coo> y) {
  ProblemSpec spec = problem.spec();
  spec.values = ValueModel::stored;
  return {spec, borrowed(problem.x()), std::move(y)};
}

Contraction::Source first_mode(const Problem& problem) {
  return Contraction(problem.spec().variant, problem.x().dims, problem.y().dims).result.front();
}

/// By the index of a mode.
Coo sorted_by(Coo tensor, int mode) {
  std::vector<int> modes{mode};
  for (int m = 0; m < tensor.order(); ++m)
    if (m != mode) modes.push_back(m);
  sort_nonzeros(tensor, modes);
  return tensor;
}

void append(const Coo& slab, Coo& to, Count first) {
  if (slab.nnz() > to.nnz() - first)
    throw LogicError("a slab has more entries than when it was prepared");
  std::ranges::copy(slab.values.as<float>(), to.values.as<float>().subspan(first).begin());
  for (std::size_t m = 0; m < slab.indices.size(); ++m)
    std::ranges::copy(slab.indices[m], to.indices[m].begin() + static_cast<std::ptrdiff_t>(first));
}

class SlabsRun : public Prepared {
 public:
  SlabsRun(const Problem& problem, PrepareSum prepare)
      : problem_(problem),
        prepare_(std::move(prepare)),
        source_(first_mode(problem)),
        cut_(sorted_by(source_.from_x ? problem.x() : problem.y(), source_.mode)) {
    divide({0, cut_.nnz()});
    const Dims dims = Contraction(problem.spec().variant, problem.x().dims, problem.y().dims)
                          .result_dims(problem.x().dims, problem.y().dims);
    host_room(0).require("entries of the result on the host", most_entries_,
                         sizeof(Index) * dims.size() + sizeof(float));
    result_ = Coo(dims, DType::f32, most_entries_);
    executed_["result_nonzeros"] = std::to_string(most_entries_);
    executed_["slabs"] = std::to_string(slabs_.size());
  }

  void run(StageTimer& timer) override {
    timer.stage("slabs");
    StreamTimer untimed(timer.stream());
    entries_ = 0;
    for (const Slab& slab : slabs_) {
      const Problem own = problem_of(slab);
      const auto prepared = prepare_(own, {});
      prepared->run(untimed);
      const Coo found = std::get<Coo>(prepared->result());
      append(found, result_, entries_);
      entries_ += found.nnz();
    }
  }

  Result result() override { return *part(result_, 0, entries_); }
  Executed executed() const override { return executed_; }
  Footprint footprint() const override { return footprint_; }
  Work work() const override { return work_model(problem_); }

 private:
  /// Nonzeros `first` to last - 1 of the operand that is cut.
  struct Slab {
    Count first, last;
  };

  Problem problem_of(const Slab& slab) const {
    const auto own = part(cut_, slab.first, slab.last);
    return source_.from_x ? with_x(problem_, own, problem_.spec().alpha) : with_y(problem_, own);
  }

  void divide(const Slab& slab) {
    const Count middle = middle_of(slab);
    try {
      add(slab);
      return;
    } catch (const OutOfMemory&) {
      if (middle == slab.first) throw;
    } catch (const InputError&) {  // 2^32 pairs, entries or more
      if (middle == slab.first) throw;
    }
    divide({slab.first, middle});
    divide({middle, slab.last});
  }

  /// Where an index begins, next to the half; the slab's beginning where it is of one index.
  Count middle_of(const Slab& slab) const {
    const auto& index = cut_.indices[static_cast<std::size_t>(source_.mode)];
    const auto begin = index.begin() + static_cast<std::ptrdiff_t>(slab.first),
               end = index.begin() + static_cast<std::ptrdiff_t>(slab.last);
    if (begin == end) return slab.first;
    const auto range = std::equal_range(begin, end, *(begin + (end - begin) / 2));
    const auto middle = range.first != begin ? range.first : range.second;
    return middle == end ? slab.first : static_cast<Count>(middle - index.begin());
  }

  void add(const Slab& slab) {
    const Problem own = problem_of(slab);
    const auto prepared = prepare_(own, {});
    NoTimer untimed;
    prepared->run(untimed);
    const Footprint bytes = prepared->footprint();
    footprint_.format_bytes = std::max(footprint_.format_bytes, bytes.format_bytes);
    footprint_.device_bytes = std::max(footprint_.device_bytes, bytes.device_bytes);
    executed_ = prepared->executed();
    most_entries_ += std::stoull(executed_.at("result_nonzeros"));
    slabs_.push_back(slab);
  }

  const Problem& problem_;
  const PrepareSum prepare_;
  const Contraction::Source source_;
  const Coo cut_;
  std::vector<Slab> slabs_;
  Executed executed_;
  Footprint footprint_;
  Count most_entries_ = 0;  ///< before zeros are dropped
  Count entries_ = 0;       ///< that the last run left
  Coo result_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_update(const Problem& problem, double beta,
                                         const PrepareSum& prepare) {
  return std::make_unique<UpdateRun>(problem, beta, prepare);
}

std::unique_ptr<Prepared> prepare_slabs(const Problem& problem, const PrepareSum& prepare) {
  return std::make_unique<SlabsRun>(problem, prepare);
}

Coo contract(const std::string& einsum, double alpha, const Coo& x, const Coo& y,
             const Addend& addend, const PrepareSum& prepare) {
  ProblemSpec spec;
  spec.operation = Operation::contraction;
  spec.variant = einsum;
  spec.alpha = alpha;
  const Problem problem(spec, borrowed(x), borrowed(y));
  return result_of(problem, addend, prepare);
}

}  // namespace retensor::bcb_sptc
