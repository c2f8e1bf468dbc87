// The one interface that papers and baselines implement.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/stage_timer.hpp"
#include "common/core/types.hpp"
#include "common/method/params.hpp"
#include "common/method/problem.hpp"
#include "common/method/work.hpp"
#include "common/reference/expected.hpp"
#include "common/tensor/result.hpp"

namespace retensor {

/// Whether a method can solve a problem, and if not, why. Returned, never printed.
struct Support {
  bool ok = true;
  std::string reason;
  static Support yes() { return {}; }
  static Support no(std::string why) { return {false, std::move(why)}; }
};

/// What really ran: the kernel's name and every choice made at prepare time (threads, launch shape,
/// path taken). Goes into the row; a silent fallback is an error.
using Executed = std::map<std::string, std::string>;

/// Bytes of the method's own format (operands it made, not the shared problem) and peak memory.
struct Footprint {
  Count format_bytes = 0;
  Count device_bytes = 0;  ///< peak device memory, 0 on the host
};

/// What a run is expected to take before its tensor is there.
struct Prediction {
  double seconds = 0;
  Count device_bytes = 0;
  Count host_bytes = 0;  ///< of the method's own, beside the tensor
};

/// MTTKRP over all modes a mode at a time. Between two passes the factors may change, as they do in
/// the sweeps of an alternating decomposition.
class Passes {
 public:
  virtual ~Passes() = default;
  /// The pass over `mode`, which overwrites its result. Modes come in turn from 0 to N - 1 and
  /// again from 0; a method that moves its tensor along throws LogicError for any other.
  virtual void run_mode(int mode, StageTimer& timer) = 0;
  /// What the last pass over `mode` left: I_mode x R.
  virtual Matrix mode_result(int mode) = 0;
};

/// A method bound to one problem, ready to run many times.
class Prepared {
 public:
  virtual ~Prepared() = default;
  /// One run: no allocation, no output; overwrites its result. Announces its stages to the timer.
  virtual void run(StageTimer& timer) = 0;
  /// Fetches the result of the last run (timed as its own phase).
  virtual Result result() = 0;
  virtual Executed executed() const = 0;
  virtual Footprint footprint() const = 0;
  /// Flops, bytes and atomics of one run; by default the operation's model.
  virtual Work work() const = 0;
  /// Told when the owner of the problem's dense operand m changed its values in place: the next run
  /// uses them. By default nothing, for methods that read operands where they lie; others copy
  /// again.
  virtual void refresh([[maybe_unused]] int m) {}
  /// MTTKRP over all modes a mode at a time; null where the operation or the method has no passes.
  virtual Passes* passes() { return nullptr; }
};

class Method {
 public:
  virtual ~Method() = default;
  /// "<paper or baseline>.<backend>.<variant>", such as pasta.cpu.coo.
  virtual std::string_view id() const = 0;
  virtual std::string_view summary() const = 0;  ///< one line with the paper's section or algorithm
  virtual Backend backend() const = 0;
  virtual ParamSchema params() const { return {}; }
  /// What it may solve; supports() declines all else.
  virtual std::vector<Operation> operations() const { return {}; }
  /// Whether it takes coordinates or CSR as they are: conversions of others are weighed against it.
  virtual bool converts_least() const { return false; }
  /// Host memory that preparing takes for each nonzero, beside the problem and the result.
  virtual double bytes_per_nonzero() const { return 0; }
  /// Whether it takes MTTKRP over all modes as one problem; others run it mode by mode.
  virtual bool takes_all_modes() const { return false; }
  /// Whether a decomposition takes its MTTKRP where no other method is asked for; one a backend.
  virtual bool is_default_of_passes() const { return false; }
  /// Whether this machine can run it, whatever the problem.
  virtual Support runs_here() const { return Support::yes(); }
  /// Whether it solves a problem on a machine that can run it.
  virtual Support solves(const Problem& problem, const Params& params) const {
    return supports(problem, params);
  }
  virtual Support supports(const Problem&, const Params&) const = 0;
  /// Builds the method's format and buffers; the caller times it.
  virtual std::unique_ptr<Prepared> prepare(const Problem&, const Params&) const = 0;
  /// Arithmetic that the check assumes.
  virtual reference::Precision precision(const Problem& p, const Params&) const {
    return reference::Precision::of(p.dtype());
  }
  /// Of a run of an outline on this machine, where the method knows its own cost; may run kernels.
  virtual std::optional<Prediction> predict(const Problem&, const Params&) const {
    return std::nullopt;
  }
};

}  // namespace retensor
