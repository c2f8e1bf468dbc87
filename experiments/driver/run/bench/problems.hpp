// The problems of a worker's last request with their oracles. Oracles are kept on disk too, so that
// the process that takes over after a death does not compute them again. And the planner's choice
// for a case of the method `auto`.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/method/problem.hpp"
#include "common/method/registry.hpp"
#include "common/tensor/coo.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {

struct PosedProblem {
  std::shared_ptr<const Problem> problem;
  std::filesystem::path oracle;  ///< where it is kept
  double oracle_seconds = 0;
  bool has_oracle = false;

  /// Reads the oracle, or computes and keeps it.
  void provide_oracle();
};

class PosedProblems {
 public:
  explicit PosedProblems(std::string cache_dir) : cache_dir_(std::move(cache_dir)) {}

  /// What the request before posed is at hand until forget_others().
  void begin_request() { before_ = std::move(now_), now_.clear(); }
  void forget_others() { before_.clear(); }
  void forget() { before_.clear(), now_.clear(); }

  /// The problem of a case on `tensor`, whose row says `data` of it.
  PosedProblem& pose(const Case& c, const std::shared_ptr<const Coo>& tensor,
                     const nlohmann::json& data);

 private:
  std::string cache_dir_;
  std::map<std::string, PosedProblem> before_, now_;
};

/// {case, executed}: the case with what the planner takes for `auto`, and what it expects, for a
/// tensor of which tensor_facts() says `facts`. Throws InputError where nothing solves it.
nlohmann::json choose_planned(const Registry& methods, Case c,
                              const std::shared_ptr<const Coo>& tensor,
                              const nlohmann::json& facts);

}  // namespace retensor::driver
