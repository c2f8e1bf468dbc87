// A plan as tasks for several machines: one a data set, each with a result file of its own, its
// shard. What is finished has a row there; nothing else tells how far a task is. They run as a job
// array of Slurm, or side by side on this machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiments/driver/run/stop.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {

struct Task {
  std::string dataset;
  std::string shard;  ///< path of its result file
  std::vector<Case> cases;
};

/// In the order of the plan; shards are <folder>/shards/<data set>-<hash of its name>.jsonl.
std::vector<Task> tasks_of(const Plan& plan, const std::string& folder);

/// Cases of a task by the newest row that its shard has of them from this build and today's code.
struct TaskState {
  std::size_t ok = 0, unsupported = 0;
  std::size_t failed = 0;  ///< any other status: another run measures them again
  std::size_t open = 0;    ///< no row

  std::size_t left() const { return failed + open; }
};

/// A shard that is not there has no row. Throws as read_results() does.
TaskState state_of(const Task& task);

/// Adds the lines of all shards that the result files do not have yet, and returns the number of
/// rows added by result file. A line goes to results_file() of its session's machine. Throws as
/// for_each_line() and Store do.
std::map<std::string, std::size_t> merge_shards(const std::vector<Task>& tasks,
                                                const std::string& out,
                                                const std::string& artifact);

struct SlurmOptions {
  std::string partition, gres, time;  ///< as sbatch takes them; empty: the cluster's defaults
  int array_limit = 0;                ///< tasks at a time; 0: no limit
  bool shared = false;                ///< other jobs may run on the node of a task
  int notice = 0;                     ///< seconds before the time limit at which a task is told
};

/// The command line that runs a task into its shard.
using TaskCommand = std::vector<std::string>;

/// The script that sbatch takes: element k of the array runs task k by its command. `folder` holds
/// the logs. A task that is told of its time limit stops after its case, or where that takes longer
/// at once, and puts itself back into the queue if any case ended since it began; preempted ones
/// and those of a lost node Slurm puts back itself. A task begins only when no process that a lost
/// node left behind writes its shard any longer.
std::string slurm_script(const std::string& name, const std::vector<Task>& tasks,
                         const std::vector<TaskCommand>& commands, const std::string& folder,
                         const SlurmOptions& options);

/// A command line as a POSIX shell reads it.
std::string shell_words(const TaskCommand& command);

/// Runs the commands, as many at a time as there are lists of visible devices
/// (CUDA_VISIBLE_DEVICES; an empty one leaves the variable alone), and says on standard error how
/// each ended. After a signal none begins and the running ones are asked to stop. Returns the
/// largest exit code.
int run_tasks(const std::vector<Task>& tasks, const std::vector<TaskCommand>& commands,
              const std::vector<std::string>& visible_devices, StopSignals& stop);

/// Devices in as many lists of equal length as there are `slots`; what is left over is not used.
/// Empty lists where no device is named. Throws InputError for fewer devices than slots.
std::vector<std::string> device_lists(const std::vector<std::string>& devices, std::size_t slots);

}  // namespace retensor::driver
