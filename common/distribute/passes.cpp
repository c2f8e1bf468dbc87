// On the host the exchange needs rows one after the other, hence a buffer of I_n x R without
// padding.
#include "common/distribute/passes.hpp"

#include <algorithm>

#include "common/core/message.hpp"
#include "common/decompose/als.hpp"
#include "common/distribute/exchange.hpp"

namespace retensor::distribute {
using communicate::Communicator;
using communicate::Parts;

OwnedRows owned_rows(const Share& share, std::size_t mode, int processes) {
  const auto& cuts = share.cuts[mode];
  Count stride = 1;
  for (std::size_t m = mode + 1; m < share.grid.size(); ++m)
    stride *= static_cast<Count>(share.grid[m]);
  const auto ranges = static_cast<Count>(share.grid[mode]);
  std::vector<std::size_t> seen(ranges, 0);
  OwnedRows owned;
  for (Count r = 0; r < static_cast<Count>(processes); ++r) {
    const auto k = r / stride % ranges;
    const auto parts =
        communicate::even_parts(cuts[k + 1] - cuts[k], processes / static_cast<int>(ranges));
    const auto place = seen[k]++;
    Count first = cuts[k];
    for (std::size_t p = 0; p < place; ++p) first += parts[p];
    owned.first.push_back(first);
    owned.rows.push_back(parts[place]);
  }
  return owned;
}

LocalRuns::LocalRuns(const Share& share, const ProblemSpec& spec,
                     const std::shared_ptr<const std::vector<Matrix>>& factors,
                     const Method& method, const std::map<std::string, ParamValue>& given) {
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
    throw input_error("{} does not run MTTKRP a mode at a time", method.id());
}

void LocalRuns::run(int mode, StageTimer& timer) {
  auto& own = of_mode(mode);
  if (prepared_.size() == 1) return own.passes()->run_mode(mode, timer);
  own.run(timer);
}

Matrix LocalRuns::result(int mode) {
  auto& own = of_mode(mode);
  if (prepared_.size() == 1) return own.passes()->mode_result(mode);
  return std::get<Matrix>(own.result());
}

void DistributedPasses::run(StageTimer& timer) {
  for (int mode = 0; mode < order(); ++mode) run_mode(mode, timer);
}

Result DistributedPasses::result() {
  Count rows = 0;
  for (int mode = 0; mode < order(); ++mode) rows += length(mode);
  Matrix all(rows, spec_.rank, spec_.dtype);
  dispatch(spec_.dtype, [&]<class T>() {
    const auto to = all.view<T>();
    Count first = 0;
    for (int mode = 0; mode < order(); first += length(mode++)) {
      const Matrix one = mode_result(mode);
      const auto from = one.view<T>();
      for (Count i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.cols, to.row(first + i));
    }
  });
  return all;
}

Executed DistributedPasses::executed() const {
  auto said = local_.all().front()->executed();
  said["dist"] = name(share_.rule);
  said["processes"] = std::to_string(processes_);
  said["rows exchanged"] = exchanged();
  return said;
}

Footprint DistributedPasses::footprint() const {
  Footprint sum;
  for (const auto& each : local_.all()) {
    sum.format_bytes += each->footprint().format_bytes;
    sum.device_bytes += each->footprint().device_bytes;
  }
  return sum;
}

namespace {

template <class T>
class HostExchange final : public RowExchange<T> {
 public:
  using RowExchange<T>::RowExchange;

 private:
  T* room(Count values) override {
    room_.resize(std::max<Count>(room_.size(), values));
    return room_.data();
  }
  void copy(T* to, const T* from, Count values) override { std::copy_n(from, values, to); }

  std::vector<T> room_;
};

template <class T>
class HostPasses final : public DistributedPasses {
 public:
  HostPasses(Communicator& processes, const Share& share, const ProblemSpec& spec, LocalRuns local)
      : DistributedPasses(processes.size(), share, spec, std::move(local)),
        exchange_(processes, share, spec.rank),
        rows_(share.grid.size()) {}

  void run_mode(int mode, StageTimer& timer) override {
    local_.run(mode, timer);
    timer.stage("exchange");
    const Matrix part = local_.result(mode);
    const auto view = part.view<T>();
    auto& rows = rows_[static_cast<std::size_t>(mode)];
    rows.resize(view.rows * view.cols);
    for (Count i = 0; i < view.rows; ++i)
      std::copy_n(view.row(i), view.cols,
                  rows.begin() + static_cast<std::ptrdiff_t>(i * view.cols));
    exchange_.run(static_cast<std::size_t>(mode), std::span(rows));
  }

  Matrix mode_result(int mode) override {
    const auto& rows = rows_[static_cast<std::size_t>(mode)];
    Matrix result(length(mode), spec_.rank, spec_.dtype);
    const auto view = result.view<T>();
    for (Count i = 0; i < view.rows; ++i)
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i * view.cols), view.cols,
                  view.row(i));
    return result;
  }

 private:
  std::string exchanged() const override { return "on the host"; }

  HostExchange<T> exchange_;
  std::vector<std::vector<T>> rows_;  // by mode
};

}  // namespace

std::unique_ptr<Prepared> passes_over(Communicator& processes, const Share& share,
                                      const ProblemSpec& spec,
                                      std::shared_ptr<const std::vector<Matrix>> factors,
                                      const Method& method,
                                      const std::map<std::string, ParamValue>& given) {
  LocalRuns local(share, spec, factors, method, given);
  if (processes.takes_device_memory())
    if (auto made = passes_on_device(processes, share, spec, local)) return made;
  return dispatch(spec.dtype, [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<HostPasses<T>>(processes, share, spec, std::move(local));
  });
}

#ifndef RETENSOR_NCCL
std::unique_ptr<Prepared> passes_on_device(Communicator&, const Share&, const ProblemSpec&,
                                           LocalRuns&) {
  return nullptr;
}
#endif

Count bytes_of_pass(Rule rule, int processes, int in_mode, Count rows, Count row_bytes) {
  const auto others = static_cast<Count>(processes) - 1;
  const auto in_layer = static_cast<Count>(processes / in_mode) - 1;
  const Count sent = rule == Rule::allreduce ? 2 * others
                     : rule == Rule::owner   ? others
                                             : in_layer + others;
  return sent * rows * row_bytes;
}

}  // namespace retensor::distribute
