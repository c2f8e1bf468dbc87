// The table of subcommands; one line per command that this build has.
#include "experiments/driver/commands/commands.hpp"

namespace retensor::driver {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {};
  return commands;
}

}  // namespace retensor::driver
