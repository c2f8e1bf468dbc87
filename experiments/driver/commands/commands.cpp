// The table of subcommands, and help about them.
#include "experiments/driver/commands/commands.hpp"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"

namespace retensor::driver {
namespace {

int help_command(const Given& given) {
  const auto names = given.positionals();
  if (names.empty()) {
    std::cout << overview();
    return 0;
  }
  const auto interface = command_named(names.front()).interface();
  std::cout << help_text(interface.usage, interface.options);
  return 0;
}

}  // namespace

Interface help_interface() {
  const Usage usage{"help [COMMAND]", "Prints the list of commands, or the help of one command.",
                    "retensor help run", 1, "its output is no data"};
  return {usage, {}, help_command};
}

const std::vector<Command>& all_commands() {
#define RETENSOR_ENTRY(name, summary) {#name, summary, name##_interface},
  static const std::vector<Command> commands = {RETENSOR_COMMANDS(RETENSOR_ENTRY)};
#undef RETENSOR_ENTRY
  return commands;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const auto& command : all_commands())
    if (*command.summary != '\0') names.emplace_back(command.name);
  return names;
}

namespace {

/// "dataset convert" for convert: a command takes the word as its first argument; else empty.
std::string command_with(const std::string& word) {
  for (const auto& command : all_commands()) {
    const auto synopsis = command.interface().usage.synopsis;
    const auto choices = synopsis.substr(synopsis.find(' ') + 1);
    std::vector<std::string> words;
    boost::split(words, choices.substr(0, choices.find(' ')), boost::is_any_of("|"));
    if (std::ranges::find(words, word) != words.end())
      return fmt::format("; did you mean '{} {}'?", command.name, word);
  }
  return {};
}

}  // namespace

const Command& command_named(const std::string& name) {
  for (const auto& command : all_commands())
    if (command.name == name) return command;
  const auto with = command_with(name);
  throw input_error("unknown command '{}'{} (see: retensor --help)", name,
                    with.empty() ? suggestion(name, command_names()) : with);
}

std::string overview() {
  std::string text =
      "Usage: retensor COMMAND [arguments]\n\n"
      "Reproduces published measurements of sparse tensor kernels from YAML specs.\n\n"
      "Commands (retensor help COMMAND tells more):\n";
  for (const auto& command : all_commands())
    if (*command.summary != '\0')
      text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  return text + '\n' + kExitCodes;
}

}  // namespace retensor::driver
