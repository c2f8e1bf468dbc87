// retensor worker: the child process of `run`, not for people.
#include "experiments/driver/run/worker.hpp"

#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/foreign/foreign_run.hpp"

namespace retensor::driver {

namespace {

int worker_command(const Given& given) {
  const WorkerSetup setup{given.locations(), given.get<Count>("memory"),
                          dtype_from_name(given.text("paths-in"))};
  if (const auto launch = given.text("launch"); !launch.empty()) return launch_main(launch);
  const auto request = given.text("profiled");
  return request.empty() ? worker_main(setup, kWorkerSocket) : profiled_main(setup, request);
}

}  // namespace

Interface worker_interface() {
  Options add;
  add("memory", number<Count>("arg", 0), "limit of private writable memory in bytes");
  add("paths-in", word("f32|f64", "f32"), "type of the values of files that are named by paths");
  add("profiled", word("FILE"), "run the case in FILE once for a profiler");
  add("launch", word("JSON"), "become the executable that a worker measures");
  add.locations();
  return {{"worker", "Measures what it is asked over its socket.", "started by: retensor run", 0},
          add,
          worker_command};
}

}  // namespace retensor::driver
