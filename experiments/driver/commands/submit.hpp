// What `submit` and `gather` share: where the tasks of a spec lie.
#pragma once

#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/run/tasks.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {

/// Of the spec on the command line: its plan, the folder of its shards and its tasks.
struct Submission {
  explicit Submission(const Given& given);

  std::string spec, folder;
  Plan plan;
  std::vector<Task> tasks;
};

/// --with, --folder, --allow-foreign and the locations.
void add_submission_options(po::options_description& options);

}  // namespace retensor::driver
