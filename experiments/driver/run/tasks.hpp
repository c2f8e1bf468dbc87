// A plan as tasks for several machines: one a data set, each with a result file of its own, its
// shard. What is finished has a row there; nothing else tells how far a task is.
#pragma once

#include <map>
#include <string>
#include <vector>

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

}  // namespace retensor::driver
