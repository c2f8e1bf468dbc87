// A method as a description: what it is called, what it takes and refuses, and the function that
// prepares it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/method/form.hpp"
#include "common/method/method.hpp"

// A function of a module's CUDA sources. A build without CUDA, where methods decline before one is
// called, has none.
#ifdef RETENSOR_CUDA
#define RETENSOR_DEVICE_PART(...) __VA_ARGS__
#else
#define RETENSOR_DEVICE_PART(...) nullptr
#endif

namespace retensor {

/// What is left of the device's part in a build without CUDA: throws LogicError.
[[noreturn]] void no_cuda();

/// Prepares a run.
using Prepare = std::unique_ptr<Prepared>(const Problem&, const Params&);

/// Whether a method solves a problem.
using Condition = std::function<Support(const Problem&, const Params&)>;

struct MethodSpec {
  /// "<paper or baseline>.<backend>" with or without ".<variant>"; a method of the backend `cuda`
  /// declines where there is no device.
  std::string id;
  std::string summary;  ///< one line with the paper's section or algorithm
  /// What it solves, all else is declined; with mttkrp_all it takes all modes as one problem.
  std::vector<Operation> operations = {};
  /// Must hold of a problem of these operations: the first that does not says why.
  std::vector<Condition> conditions = {};
  /// Why the device that is there cannot run it, an empty text where it can; empty: any can.
  std::function<std::string()> obstacle = {};
  /// Arithmetic that the check assumes; empty: that of the problem's type.
  std::function<reference::Precision(const Problem&, const Params&)> precision = {};
  std::function<Prepare> prepare;
  /// As Method::predict; empty: nothing is known.
  std::function<Prediction(const Problem&, const Params&)> predict = {};
  ParamSchema params = {};
  Form form = {};                  ///< by default every run is the paper's
  bool default_of_passes = false;  ///< as Method::is_default_of_passes
  bool converts_least = false;     ///< as Method::converts_least
  /// As Method::bytes_per_nonzero; by default what sorted coordinates take that are kept: a copy
  /// with its keys.
  double bytes_per_nonzero = 40;
};

/// A description with what the methods of a module share: the operations, unless it states its own,
/// and a condition, which is asked before its own.
MethodSpec with_shared(std::vector<Operation> operations, Condition condition, MethodSpec own);

class DescribedMethod : public Method {
 public:
  /// Throws LogicError for an id that names no backend.
  explicit DescribedMethod(MethodSpec spec);
  std::string_view id() const override { return spec_.id; }
  std::string_view summary() const override { return spec_.summary; }
  Backend backend() const override { return backend_; }
  ParamSchema params() const override { return spec_.params; }
  std::vector<Operation> operations() const override { return spec_.operations; }
  bool converts_least() const override { return spec_.converts_least; }
  double bytes_per_nonzero() const override { return spec_.bytes_per_nonzero; }
  bool takes_all_modes() const override { return takes(Operation::mttkrp_all); }
  bool is_default_of_passes() const override { return spec_.default_of_passes; }
  Support runs_here() const override;
  Support solves(const Problem& problem, const Params& params) const override;
  Support supports(const Problem& problem, const Params& params) const override;
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override;
  std::optional<Prediction> predict(const Problem& outline, const Params& params) const override;
  reference::Precision precision(const Problem& problem, const Params& params) const override;

 private:
  bool takes(Operation operation) const;
  const MethodSpec spec_;
  const Backend backend_;
};

/// `prepare` of a method whose runs are made of the problem and the parameters.
template <class Run>
std::unique_ptr<Prepared> prepare_run(const Problem& problem, const Params& params) {
  return std::make_unique<Run>(problem, params);
}

/// `prepare` of a method whose runs depend on the problem alone.
template <class Prepare>
auto without_params(Prepare prepare) {
  return [prepare](const Problem& problem, const Params&) { return prepare(problem); };
}

}  // namespace retensor
