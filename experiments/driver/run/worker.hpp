// Cases run in child processes: one that dies costs its row alone.
//
// Parent and child speak JSON lines over a socket pair. A request names what to `do`; the answer
// always carries `status` and `reason`:
//   {"do":"machine"}                        -> {"machine":{...}}
//   {"do":"ceilings","backend":"cpu"}       -> {"ceilings":[...]}
//   {"do":"facts","dataset":NAME}           -> {"data":{kind, sha256, dims, nnz}}
//   {"do":"shape","dataset":NAME}           -> {"facts":{...}} of its sparsity
//   {"do":"load","dataset":NAME}            -> {}
//   {"do":"probe","case":{...},"order","timeout"}
//                                           -> {"failed":[...],"declined":[...]}, Probed
//   {"do":"measure","cases":[...],"warmup","samples","preparations","timeout","seed"}
//                                           -> {"rows":[row body ...]}, and "unfit", why, where one
//                                              left the process or the GPU's context unusable
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/run/row.hpp"
#include "experiments/driver/run/stop.hpp"
#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

struct ConnectedChild;

inline constexpr int kWorkerSocket = 3;  ///< the descriptor on which a child finds its socket
inline constexpr int kOomExit = 77;      ///< exit code of a child that ran out of memory

struct WorkerSetup {
  Locations at;
  Count memory_limit = 0;       ///< private writable memory of the child in bytes, 0: no limit
  DType paths_in = DType::f32;  ///< DatasetRegistry::read_paths_in()
};

/// What every answer of a worker holds.
nlohmann::json ended(Status status, const std::string& reason = "");

/// argv of a worker; worker_command() reads it.
std::vector<std::string> worker_command_line(const WorkerSetup& setup);

/// The second stop signal came, or one that killed the worker too: what ran leaves no row.
class StoppedAtOnce : public Error {
 public:
  using Error::Error;
};

/// A child process (this executable with the hidden subcommand `worker`), spawned when first needed
/// and again after every death. Throws StoppedAtOnce from any request.
class Worker {
 public:
  Worker(WorkerSetup setup, StopSignals& stop);
  ~Worker();

  /// The answer, or {status: crashed | timeout | oom, reason} when the child died over it or was
  /// killed at the limit.
  nlohmann::json ask(const nlohmann::json& request, std::chrono::milliseconds limit);
  /// The machine object of a session. A death over it is tried again once, as it is over facts():
  /// what kills a worker from outside should cost no more than the case that runs.
  nlohmann::json machine(std::chrono::milliseconds limit);
  /// The `data` object of a data set, which is obtained and cached where that was not done before.
  nlohmann::json facts(const std::string& dataset, std::chrono::milliseconds limit);
  /// What tensor_facts() says of a data set, {reason} where it can't be had within the limits.
  nlohmann::json shape(const std::string& dataset, std::chrono::milliseconds limit);
  /// Under `choice` the case with the planner's choice in place of `auto`, and what its row says of
  /// it under `executed`.
  nlohmann::json choose(const Case& c, std::chrono::milliseconds limit);
  /// One row body (status, phases, check ...) per case, in order; the cases share a data set. When
  /// a group dies, each of its cases runs alone to find the one that kills, then the rest together.
  /// The cases fail when what is loaded is not `data`: files change while a sweep runs.
  std::vector<nlohmann::json> run(const std::vector<Case>& together, const MeasureSpec& measure,
                                  const nlohmann::json& data);
  /// `failed`, `declined`: what probe_foreign() says of the external code that a case names.
  nlohmann::json probe(const Case& c, std::size_t order, std::chrono::milliseconds limit);
  /// Ends the child, so that the next request meets a fresh process.
  void restart();

 private:
  nlohmann::json ask_twice(const nlohmann::json& request, std::chrono::milliseconds limit);
  nlohmann::json load(const std::string& dataset, const nlohmann::json& data,
                      std::chrono::milliseconds limit);
  nlohmann::json attempt(const std::vector<Case>& together, const MeasureSpec& measure,
                         const nlohmann::json& data);
  nlohmann::json wait_for_answer(std::chrono::milliseconds limit);
  bool is_taken_away(int status);
  nlohmann::json autopsy();

  WorkerSetup setup_;
  StopSignals& stop_;
  std::unique_ptr<ConnectedChild> child_;
  std::string loaded_;
};

/// Where the oracles of a data set are kept for the process that takes over after a death.
std::string oracle_folder(const std::string& cache_dir, const std::string& data_sha256);

/// The child's main loop; returns its exit code when the parent closes the socket.
int worker_main(const WorkerSetup& setup, int socket);
/// One run of one case for a profiler around this process (Profiler): `request_path` is a file with
/// {case, limit}. The process ends itself after `limit` seconds, whoever started it.
int profiled_main(const WorkerSetup& setup, const std::string& request_path);

}  // namespace retensor::driver
