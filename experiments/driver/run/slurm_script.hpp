// Tasks as a job array of Slurm.
#pragma once

#include <string>
#include <vector>

#include "experiments/driver/run/tasks.hpp"

namespace retensor::driver {

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

}  // namespace retensor::driver
