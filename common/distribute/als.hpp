// CP-ALS of a tensor whose nonzeros lie in several processes: the sweeps of common/decompose, on
// the host or on devices, over distributed passes. Every process updates all factors by itself from
// the same results, so that only passes communicate. Models agree to the last bit where the
// engine's sums do (Communicator::all_reduce).
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "common/decompose/sweeps.hpp"
#include "common/distribute/passes.hpp"

namespace retensor::distribute {

class Als {
 public:
  /// `mine` is any part of the nonzeros, without duplicates over all processes; `spec` is of
  /// operation cpd. `devices`, the same processes over NCCL, exchanges what the passes leave on
  /// devices, where factors and sums stay too if the method lends them. Throws InputError where the
  /// method does not take the problem.
  Als(communicate::Communicator& processes, const Coo& mine, Rule rule, ProblemSpec spec,
      const Method& method, const std::map<std::string, ParamValue>& given = {},
      communicate::Communicator* devices = nullptr);

  /// The first factors, or a model after some sweeps.
  void begin(const KruskalModel& model);
  void sweep(StageTimer& timer);
  KruskalModel model() const;
  const std::vector<double>& fit() const { return fit_; }
  bool finished() const;

  const Share& share() const { return share_; }
  const Prepared& mttkrp() const { return *mttkrp_; }

 private:
  const ProblemSpec spec_;
  const Share share_;
  const std::shared_ptr<const std::vector<Matrix>> factors_;
  const Problem passes_problem_;
  const std::unique_ptr<Prepared> mttkrp_;
  const std::unique_ptr<cpd::Sweeps> sweeps_;
  std::vector<double> fit_;
};

}  // namespace retensor::distribute
