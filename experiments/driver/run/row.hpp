// A row of a result file (experiments/schema) with what follows from it and its session: the one
// place where that is computed.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "common/core/types.hpp"
#include "experiments/driver/run/currency.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {

/// How a case ended. The timing loop (common/measure/timing.hpp) names the first five.
enum class Status { ok, unsupported, wrong, failed, oom, timeout, crashed };
std::string_view name(Status status);
/// Throws InputError for a word that is none of them.
Status status_from_name(std::string_view text);

/// The status of a row line or of a worker's answer. Throws InputError where it is no known one.
Status status_of(const nlohmann::json& line);
inline bool is_ok(const nlohmann::json& line) {
  return status_of(line) == Status::ok;
}

inline constexpr std::string_view kUnknownDevice = "unknown";

/// A session line and the ceilings lines of its backends; null and none where a file lacks them.
struct Session {
  nlohmann::json line;
  std::map<Backend, nlohmann::json> ceilings;

  /// Takes a ceilings line and adds `values` by kind; `gbytes`, of DRAM and of the last-level cache
  /// the better of the bandwidths measured; `ridge`, the intensity at which the measured peak takes
  /// over from DRAM; the last two as far as they are known.
  void take_ceilings(nlohmann::json ceilings_line);
  /// Name of the GPU, or of the processor with the cores that the session could use: virtual
  /// machines share the name of a processor. kUnknownDevice where the line does not tell.
  std::string device(Backend backend) const;
  std::set<std::string> devices() const;  ///< of both backends
  std::string processor() const;          ///< without the cores
  /// Fingerprint of the host or the GPU (identity.hpp); empty where the line does not tell.
  std::string machine(Backend backend) const;
};

class Row {
 public:
  /// `line` is one of kind row; a null session tells nothing. Throws InputError unless the line has
  /// a key, a case and a known status.
  explicit Row(nlohmann::json line, std::shared_ptr<const Session> session = nullptr,
               const Confirmations& confirmations = {});

  const std::string& key() const { return line().at("key").get_ref<const std::string&>(); }
  const nlohmann::json& row_case() const { return line().at("case"); }
  std::string method() const;
  std::string dataset() const;
  Status status() const { return status_; }
  bool ok() const { return status_ == Status::ok; }
  std::string failure() const;   ///< "status: reason"
  std::string finished() const;  ///< ISO 8601, empty where the row does not tell

  Backend backend() const { return backend_; }
  std::string device() const { return session_->device(backend_); }
  /// Which machine of its model; empty where that is not known.
  std::string machine() const { return session_->machine(backend_); }
  const Session& session() const { return *session_; }
  bool is_own() const;  ///< false for a time of an original code (retensor import)
  /// Against the code of this build; none of it outdates a time of an original code.
  Currency currency() const { return currency_; }
  bool is_stale() const { return currency_ == Currency::stale; }

  /// The member at a dotted path such as work.intensity; null where there is none. What a row lacks
  /// is looked up in its case. Beside the members of the line, each where its parts are known:
  /// - `code` (own, original), `form` (published, own), `backend`, `device`, `currency`, `stale`;
  /// - `machine`, `git` and `job` of the session, `ceilings.<what>` of the session on the backend;
  /// - `roofline.gbytes` and `.ridge`: its DRAM bandwidth and ridge; `.gflops`: bandwidth times
  ///   intensity (PASTA section V.B); `.share`: the rate over that;
  /// - `rates.index_gbytes`: index bytes of a format that counts them over the median time (HLSTO
  ///   section VII.B.2);
  /// - `seconds.without_zero`: median time of a run but for the zeroing of outputs, as the original
  ///   codes are timed; `noise`: how far its samples can be trusted (noise.hpp); `copy.share` and
  ///   `.compulsory_share`: the time that a copy of the run's bytes, or of those that it cannot do
  ///   without, takes on the same machine, over that time;
  /// - `seconds.task_processing`: median of the stages `tasks` and `pattern` together, which
  ///   BCB-SpTC section V.B.2 counts as one part;
  /// - `seconds.sweep`: median of the stage `sweeps` of a decomposition over the sweeps that it
  ///   made; `seconds.outside_chain_over_eigenvectors`: median of HOOI's stages `gram`,
  ///   `eigenvectors` and `factor` together over that of `eigenvectors`.
  const nlohmann::json& field(std::string_view path) const;
  /// The member as a number; 0 where it is none.
  double number(std::string_view path) const;
  /// The line with what follows, as `retensor rows` prints it: without ceilings, machine and git,
  /// which are the session's.
  const nlohmann::json& line() const { return *line_; }

  /// How far the time of this launch may lie from that of another one by the calibration of its
  /// machine, as a reach of its logarithm; 0 where the machine has none, nothing where the
  /// calibration found that no difference counts.
  const std::optional<double>& between_launches() const { return between_launches_; }
  void set_between_launches(std::optional<double> reach) { between_launches_ = reach; }

  /// Takes the hardware counters (`profile`) of an earlier row of its case where it has none.
  void keep_counters(const Row& earlier);

 private:
  std::shared_ptr<nlohmann::json> line_;  ///< copies of a row share it
  std::shared_ptr<const Session> session_;
  Status status_;
  Backend backend_;
  Currency currency_;
  std::optional<double> between_launches_ = 0;
};

inline constexpr std::string_view kPublishedForm = "published";
inline constexpr std::string_view kOwnForm = "own";

/// One of both, from the case of a row, what it says was executed, and the method's description
/// today.
std::string_view form_of(const nlohmann::json& line);

/// Adds to `names`, the text `executed.chosen_by`, that another `auto` took the same method.
std::string also_chosen_by(const std::string& names, const std::string& name);

/// The row of the problem of `wanted`, a case of `auto` on this data, that says it was chosen for
/// it; null without one. Rows need `executed`.
const Row* chosen_row(const std::map<std::string, Row>& rows, const Case& wanted,
                      const nlohmann::json& data);

}  // namespace retensor::driver
