// What the measuring loop asks of external code, step by step.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/method/problem.hpp"
#include "common/tensor/result.hpp"
#include "experiments/driver/run/row.hpp"
#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/spec/foreign.hpp"

namespace retensor::driver {

/// External code did not do a step; ends as the status and reason of its row.
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

/// External code, bound to one problem. The steps come in this order; from `operands` to
/// `result` they repeat, with other operands each time. Each throws ForeignFault.
class ForeignRun {
 public:
  virtual ~ForeignRun() = default;
  virtual Step read() = 0;     ///< the problem and its tensor
  virtual Step prepare() = 0;  ///< the method's own format
  virtual Step ping() = 0;     ///< nothing: what a step costs by itself
  virtual Step operands(const std::vector<Matrix>& dense) = 0;
  virtual Step run() = 0;
  /// Overwrites what empty_result() made of the problem.
  virtual Step result(Result& into) = 0;
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

/// What an operation takes beside the tensor, new in each round: the dense operands, the values of
/// the second tensor (tew, contraction) or the scalar (ts) as a matrix.
std::vector<Matrix> operands_of(const Problem& problem);

/// Of the shape of a problem's result: a matrix of zeros, or a sparse tensor without entries.
Result empty_result(const Problem& problem);

/// The entries of a sparse result: a coordinate in each of `dims`, and `width` values.
struct EntriesView {
  Dims dims;
  std::vector<std::vector<Index>>* indices;
  Values* values;
  std::uint64_t width;

  /// Throws InputError for more entries than there are coordinates.
  void resize(Count entries) const;
};
/// Nothing for a matrix.
std::optional<EntriesView> entries_of(Result& result);

inline constexpr int kNoLaunch = 127;  ///< exit code where the executable can't be started

/// argv of this program that becomes the executable in a folder; worker_command() reads it.
std::vector<std::string> launch_command(const ForeignCode& code, const std::string& folder);
/// Ties the process to its parent, whose death it shall not outlive, and becomes the executable.
/// Returns kNoLaunch where that fails.
int launch_main(const std::string& request);

}  // namespace retensor::driver
