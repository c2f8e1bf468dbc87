// The exchange needs rows one after the other, hence a buffer of I_n x R without padding.
#include "common/distribute/passes.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/decompose/als.hpp"

namespace retensor::distribute {
using communicate::Communicator;
using communicate::Parts;

namespace {

/// A run by mode of a method that may take all modes as one problem.
class Local {
 public:
  Local(const Share& share, const ProblemSpec& spec,
        const std::shared_ptr<const std::vector<Matrix>>& factors, const Method& method,
        const std::map<std::string, ParamValue>& given) {
    for (std::size_t m = 0; m < share.tensors.size(); ++m) {
      auto of_tensor = spec;
      if (share.tensors.size() > 1) {
        of_tensor.operation = Operation::mttkrp;
        of_tensor.mode = static_cast<int>(m);
      }
      problems_.push_back(std::make_unique<Problem>(Problem::with_factors(
          of_tensor, {std::shared_ptr<const Coo>(), &share.tensors[m]}, factors)));
      prepared_.push_back(cpd::prepare_or_refuse(method, *problems_.back(), given));
    }
    if (prepared_.size() == 1 && prepared_[0]->passes() == nullptr)
      throw InputError(fmt::format("{} does not run MTTKRP a mode at a time", method.id()));
  }

  Matrix run(int mode, StageTimer& timer) {
    if (prepared_.size() == 1) {
      prepared_[0]->passes()->run_mode(mode, timer);
      return prepared_[0]->passes()->mode_result(mode);
    }
    auto& own = *prepared_[static_cast<std::size_t>(mode)];
    own.run(timer);
    return std::get<Matrix>(own.result());
  }

  const std::vector<std::unique_ptr<Prepared>>& prepared() const { return prepared_; }

 private:
  std::vector<std::unique_ptr<Problem>> problems_;
  std::vector<std::unique_ptr<Prepared>> prepared_;
};

/// Rows of each range.
Parts lengths_of(const Parts& cuts) {
  Parts lengths;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) lengths.push_back(cuts[k + 1] - cuts[k]);
  return lengths;
}

Parts times(Parts parts, Count factor) {
  for (auto& part : parts) part *= factor;
  return parts;
}

template <class T>
class DistributedPasses final : public Prepared, public Passes {
 public:
  DistributedPasses(Communicator& processes, const Share& share, const ProblemSpec& spec,
                    const std::shared_ptr<const std::vector<Matrix>>& factors, const Method& method,
                    const std::map<std::string, ParamValue>& given)
      : processes_(processes),
        share_(share),
        rank_(spec.rank),
        local_(share, spec, factors, method, given) {
    if (share.rule == Rule::medium)
      for (const int at : share.coordinates) layers_.push_back(processes.split(at));
  }

  void run(StageTimer&) override { throw LogicError("runs a mode at a time"); }
  Result result() override { throw LogicError("has the result of a mode at a time"); }
  Executed executed() const override {
    auto said = local_.prepared().front()->executed();
    said["dist"] = name(share_.rule);
    said["processes"] = std::to_string(processes_.size());
    return said;
  }
  Footprint footprint() const override {
    Footprint sum;
    for (const auto& each : local_.prepared()) {
      sum.format_bytes += each->footprint().format_bytes;
      sum.device_bytes += each->footprint().device_bytes;
    }
    return sum;
  }
  Work work() const override { return local_.prepared().front()->work(); }
  void refresh(int m) override {
    for (const auto& each : local_.prepared()) each->refresh(m);
  }
  Passes* passes() override { return this; }

  void run_mode(int mode, StageTimer& timer) override {
    const Matrix part = local_.run(mode, timer);
    const auto view = part.view<T>();
    rows_.resize(view.rows * rank_);
    for (std::uint64_t i = 0; i < view.rows; ++i)
      std::copy_n(view.row(i), rank_, rows_.begin() + static_cast<std::ptrdiff_t>(i * rank_));
    const auto at = static_cast<std::size_t>(mode);
    if (share_.rule == Rule::allreduce) processes_.all_reduce(std::span(rows_));
    if (share_.rule == Rule::owner)
      processes_.all_gather(std::span(rows_), times(lengths_of(share_.cuts[at]), rank_));
    if (share_.rule == Rule::medium) exchange_in_grid(at);
  }

  Matrix mode_result(int) override {
    Matrix result(rows_.size() / rank_, rank_, sizeof(T) == 4 ? DType::f32 : DType::f64);
    std::copy(rows_.begin(), rows_.end(), result.view<T>().data);
    return result;
  }

 private:
  /// Row ranges of all processes in the order of ranks: a range of the grid in even parts over its
  /// layer.
  struct Owned {
    Parts first, rows;
  };
  Owned owned_rows(std::size_t mode) const {
    const auto& cuts = share_.cuts[mode];
    Count stride = 1;
    for (std::size_t m = mode + 1; m < share_.grid.size(); ++m)
      stride *= static_cast<Count>(share_.grid[m]);
    const auto ranges = static_cast<Count>(share_.grid[mode]);
    std::vector<std::size_t> seen(ranges, 0);
    Owned owned;
    for (Count r = 0; r < static_cast<Count>(processes_.size()); ++r) {
      const auto k = r / stride % ranges;
      const auto parts = communicate::even_parts(cuts[k + 1] - cuts[k],
                                                 processes_.size() / static_cast<int>(ranges));
      const auto place = seen[k]++;
      Count first = cuts[k];
      for (std::size_t p = 0; p < place; ++p) first += parts[p];
      owned.first.push_back(first);
      owned.rows.push_back(parts[place]);
    }
    return owned;
  }

  void exchange_in_grid(std::size_t mode) {
    const auto owned = owned_rows(mode);
    const auto me = static_cast<std::size_t>(processes_.rank());
    const auto k = static_cast<std::size_t>(share_.coordinates[mode]);
    const auto first = share_.cuts[mode][k] * rank_, end = share_.cuts[mode][k + 1] * rank_;
    auto& layer = *layers_[mode];
    const auto parts = times(
        communicate::even_parts(share_.cuts[mode][k + 1] - share_.cuts[mode][k], layer.size()),
        rank_);

    gathered_.resize(rows_.size());
    const auto sent = times(owned.rows, rank_);
    Count at = 0;
    for (std::size_t r = 0; r < me; ++r) at += sent[r];
    layer.reduce_scatter(std::span<const T>(rows_).subspan(first, end - first),
                         std::span(gathered_).subspan(at, sent[me]), parts);
    processes_.all_gather(std::span(gathered_), sent);
    at = 0;
    for (std::size_t r = 0; r < sent.size(); at += sent[r++])
      std::copy_n(gathered_.begin() + static_cast<std::ptrdiff_t>(at), sent[r],
                  rows_.begin() + static_cast<std::ptrdiff_t>(owned.first[r] * rank_));
  }

  Communicator& processes_;
  const Share& share_;
  const Count rank_;
  Local local_;
  std::vector<std::unique_ptr<Communicator>> layers_;  // by mode, of medium
  std::vector<T> rows_, gathered_;
};

}  // namespace

std::unique_ptr<Prepared> passes_over(Communicator& processes, const Share& share,
                                      const ProblemSpec& spec,
                                      std::shared_ptr<const std::vector<Matrix>> factors,
                                      const Method& method,
                                      const std::map<std::string, ParamValue>& given) {
  return dispatch(spec.dtype, [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<DistributedPasses<T>>(processes, share, spec, factors, method, given);
  });
}

Count bytes_of_pass(Rule rule, int processes, int in_mode, Count rows, Count row_bytes) {
  const auto others = static_cast<Count>(processes) - 1;
  const auto in_layer = static_cast<Count>(processes / in_mode) - 1;
  const Count sent = rule == Rule::allreduce ? 2 * others
                     : rule == Rule::owner   ? others
                                             : in_layer + others;
  return sent * rows * row_bytes;
}

}  // namespace retensor::distribute
