// retensor worker: the child process of `run`, not for people.
#include "experiments/driver/run/worker.hpp"

#include "experiments/driver/commands/options.hpp"

namespace retensor::driver {

int worker_command(const Args& args) {
  po::options_description options;
  auto add = options.add_options();
  add("memory", number<Count>("arg", 0), "limit of private writable memory in bytes");
  add("profiled", word("FILE"), "run the case in FILE once for a profiler");
  add_location_options(options);
  const auto given = parse_options(
      {"worker", "Measures what it is asked over its socket.", "started by: retensor run", 0},
      options, args);
  if (!given) return 0;
  const WorkerSetup setup{given->locations(), given->get<Count>("memory")};
  const auto request = given->text("profiled");
  return request.empty() ? worker_main(setup, kWorkerSocket) : profiled_main(setup, request);
}

}  // namespace retensor::driver
