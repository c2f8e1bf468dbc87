// retensor worker: the child process of `run`, not for people.
#include "experiments/driver/worker.hpp"

#include "experiments/driver/commands/options.hpp"

namespace retensor::driver {

int worker_command(const Args& args) {
  po::options_description options;
  options.add_options()("memory", po::value<Count>()->default_value(0),
                        "limit of private writable memory in bytes");
  add_location_options(options);
  const auto given = parse_options(
      {"worker", "Measures what it is asked over its socket.", "started by: retensor run", 0},
      options, args);
  if (!given) return 0;
  return worker_main({registry_of(*given), cache_of(*given), (*given)["memory"].as<Count>()},
                     kWorkerSocket);
}

}  // namespace retensor::driver
