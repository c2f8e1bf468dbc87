// retensor worker: the child process of `run`, not for people.
#include "experiments/driver/run/worker.hpp"

#include "experiments/driver/commands/options.hpp"

namespace retensor::driver {

int worker_command(const Args& args) {
  po::options_description options;
  options.add_options()("memory", po::value<Count>()->default_value(0),
                        "limit of private writable memory in bytes")(
      "profiled", po::value<std::string>()->value_name("FILE")->default_value(""),
      "run the case in FILE once for a profiler");
  add_location_options(options);
  const auto given = parse_options(
      {"worker", "Measures what it is asked over its socket.", "started by: retensor run", 0},
      options, args);
  if (!given) return 0;
  const WorkerSetup setup{locations_of(*given), (*given)["memory"].as<Count>()};
  const auto request = (*given)["profiled"].as<std::string>();
  return request.empty() ? worker_main(setup, kWorkerSocket) : profiled_main(setup, request);
}

}  // namespace retensor::driver
