// What the measuring loop asks of code from outside, step by step.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/core/error.hpp"
#include "common/method/problem.hpp"
#include "experiments/driver/run/row.hpp"
#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/spec/foreign.hpp"

namespace retensor::driver {

/// Code from outside did not do a step; ends as the status and reason of its row.
class ForeignFault : public Error {
 public:
  ForeignFault(Status status, const std::string& reason) : Error(reason), status_(status) {}
  Status status() const { return status_; }

 private:
  Status status_;
};

/// A step that was done: what the code says of it, and how long it took as seen from here.
struct Step {
  nlohmann::json said;
  double seconds = 0;
};

/// Code from outside, bound to one problem. The steps come in this order; from `operands` to
/// `result` they repeat, with other operands each time. Each throws ForeignFault.
class ForeignRun {
 public:
  virtual ~ForeignRun() = default;
  virtual Step read() = 0;     ///< the problem and its tensor
  virtual Step prepare() = 0;  ///< the method's own format
  virtual Step ping() = 0;     ///< nothing: what a step costs by itself
  virtual Step operands(const std::vector<Matrix>& dense) = 0;
  virtual Step run() = 0;
  /// Into a matrix of the problem's result, whose values it overwrites.
  virtual Step result(Matrix& into) = 0;
};

using Deadline = std::chrono::steady_clock::time_point;

/// The executable of a case, started in a folder of its own that holds the problem.
std::unique_ptr<ForeignRun> start_program(const Case& c, const ForeignCode& code,
                                          const Problem& problem, Deadline deadline);
/// The library of a case, loaded into this process for good.
std::unique_ptr<ForeignRun> load_library(const Case& c, const ForeignCode& code,
                                         const Problem& problem);

/// A member of an answer that is a number of at least 0; nothing where there is none. Throws
/// ForeignFault for anything else.
std::optional<double> number_said(const nlohmann::json& said, const char* member);

/// A zero matrix of the shape of a problem's result.
Matrix result_matrix(const Problem& problem);

}  // namespace retensor::driver
