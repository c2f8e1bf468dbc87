// What processes send one another after a pass: rows of its result, on the host or the device
// alike. How many is said in passes.hpp.
#pragma once

#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/communicate/communicator.hpp"
#include "common/distribute/partition.hpp"
#include "common/distribute/passes.hpp"

namespace retensor::distribute {

/// Row ranges of all processes in the order of ranks: each range of a mode in even parts over the
/// processes of its layer.
struct OwnedRows {
  communicate::Parts first, rows;
};
OwnedRows owned_rows(const Share& share, std::size_t mode, int processes);

template <class T>
class RowExchange {
 public:
  /// Of rows with `width` values. Both outlive the object.
  RowExchange(communicate::Communicator& processes, const Share& share, Count width)
      : processes_(processes), share_(share), width_(width) {
    if (share.rule != Rule::medium) return;
    for (const int at : share.coordinates) layers_.push_back(processes.split(at));
  }
  virtual ~RowExchange() = default;
  RowExchange(const RowExchange&) = delete;
  RowExchange& operator=(const RowExchange&) = delete;

  /// `rows`, I_mode x width, are those of this process's nonzeros; afterwards those of all.
  void run(std::size_t mode, std::span<T> rows) {
    if (share_.rule == Rule::allreduce) return processes_.all_reduce(rows);
    if (share_.rule == Rule::owner) return processes_.all_gather(rows, in_values(range_rows(mode)));
    run_in_grid(mode, rows);
  }

 protected:
  /// So many values where `rows` lie, on the host or on the device; a second call may move them.
  virtual T* room(Count values) = 0;
  virtual void copy(T* to, const T* from, Count values) = 0;

 private:
  communicate::Parts in_values(communicate::Parts parts) const {
    for (auto& part : parts) part *= width_;
    return parts;
  }
  communicate::Parts range_rows(std::size_t mode) const {
    const auto& cuts = share_.cuts[mode];
    communicate::Parts lengths;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) lengths.push_back(cuts[k + 1] - cuts[k]);
    return lengths;
  }

  void run_in_grid(std::size_t mode, std::span<T> rows) {
    const auto owned = owned_rows(share_, mode, processes_.size());
    const auto sent = in_values(owned.rows);
    const auto me = static_cast<std::size_t>(processes_.rank());
    const auto k = static_cast<std::size_t>(share_.coordinates[mode]);
    const auto range = range_rows(mode)[k];
    auto& layer = *layers_[mode];
    const std::span<T> gathered(room(rows.size()), rows.size());
    const auto own = std::accumulate(sent.begin(), sent.begin() + processes_.rank(), Count{0});
    layer.reduce_scatter(
        std::span<const T>(rows.subspan(share_.cuts[mode][k] * width_, range * width_)),
        gathered.subspan(own, sent[me]), in_values(communicate::even_parts(range, layer.size())));
    processes_.all_gather(gathered, sent);
    Count at = 0;
    for (std::size_t r = 0; r < sent.size(); at += sent[r++])
      copy(rows.data() + owned.first[r] * width_, gathered.data() + at, sent[r]);
  }

  communicate::Communicator& processes_;
  const Share& share_;
  const Count width_;
  std::vector<std::unique_ptr<communicate::Communicator>> layers_;  // by mode, of medium
};

/// MTTKRP of the share of one process by any method, a mode at a time.
class LocalRuns {
 public:
  /// `spec` has operation mttkrp_all; a share of one tensor a mode takes a method that solves
  /// MTTKRP of single modes. The share and the factors outlive the runs. Throws InputError where
  /// the method does not take the problem.
  LocalRuns(const Share& share, const ProblemSpec& spec,
            const std::shared_ptr<const std::vector<Matrix>>& factors, const Method& method,
            const std::map<std::string, ParamValue>& given);

  void run(int mode, StageTimer& timer);
  /// What the last run of the mode left: I_mode x R.
  Matrix result(int mode);
  /// One, or one a mode.
  const std::vector<std::unique_ptr<Prepared>>& all() const { return prepared_; }
  Prepared& of_mode(int mode) const {
    return *prepared_[prepared_.size() == 1 ? 0 : static_cast<std::size_t>(mode)];
  }

 private:
  std::vector<std::unique_ptr<Problem>> problems_;
  std::vector<std::unique_ptr<Prepared>> prepared_;
};

class DistributedPasses : public Prepared, public Passes {
 public:
  DistributedPasses(int processes, const Share& share, const ProblemSpec& spec, LocalRuns local)
      : processes_(processes), share_(share), spec_(spec), local_(std::move(local)) {}

  void run(StageTimer& timer) override;
  Result result() override;
  Executed executed() const override;
  Footprint footprint() const override;
  Work work() const override { return local_.all().front()->work(); }
  void refresh(int m) override {
    for (const auto& each : local_.all()) each->refresh(m);
  }
  Passes* passes() override { return this; }

 protected:
  /// Where rows are exchanged, for `executed`.
  virtual std::string exchanged() const = 0;
  int order() const { return static_cast<int>(share_.grid.size()); }
  Count length(int mode) const { return share_.of_mode(0).dims[static_cast<std::size_t>(mode)]; }

  const int processes_;
  const Share& share_;
  const ProblemSpec spec_;
  LocalRuns local_;
};

/// Null where the runs of the method keep factors and results to themselves, and in a build without
/// CUDA.
std::unique_ptr<Prepared> passes_on_device(communicate::Communicator& processes, const Share& share,
                                           const ProblemSpec& spec, LocalRuns& local);

}  // namespace retensor::distribute
