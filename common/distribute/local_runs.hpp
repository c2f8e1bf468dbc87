// MTTKRP of the share of one process by any method, a mode at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/distribute/partition.hpp"
#include "common/method/method.hpp"

namespace retensor::distribute {

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

}  // namespace retensor::distribute
