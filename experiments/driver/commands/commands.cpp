// The table of subcommands, and help about them.
#include "experiments/driver/commands/commands.hpp"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <boost/algorithm/string.hpp>

#include "common/core/build_info.hpp"
#include "common/core/error.hpp"
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
  return {usage, po::options_description(), help_command};
}

const std::vector<Command>& all_commands() {
#define RETENSOR_ENTRY(name, summary) {#name, summary, name##_interface},
  static const std::vector<Command> commands = {RETENSOR_COMMANDS(RETENSOR_ENTRY)};
#undef RETENSOR_ENTRY
  return commands;
}

namespace {

/// "dataset convert" for convert: a command takes the word as its first argument; else empty.
std::string command_with(const std::string& word) {
  for (const auto& command : all_commands()) {
    const auto synopsis = command.interface().usage.synopsis;
    const auto choices = synopsis.substr(synopsis.find(' ') + 1);
    std::vector<std::string> words;
    boost::split(words, choices.substr(0, choices.find(' ')), boost::is_any_of("|"));
    if (std::find(words.begin(), words.end(), word) != words.end())
      return fmt::format("; did you mean '{} {}'?", command.name, word);
  }
  return {};
}

}  // namespace

const Command& command_named(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& command : all_commands()) {
    if (command.name == name) return command;
    if (*command.summary != '\0') names.emplace_back(command.name);
  }
  const auto with = command_with(name);
  throw InputError(fmt::format("unknown command '{}'{} (see: retensor --help)", name,
                               with.empty() ? suggestion(name, names) : with));
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

namespace {

/// Text that roff prints as it stands: no escapes, no line that looks like a request.
std::string roff(std::string text) {
  boost::replace_all(text, "\\", "\\e");
  boost::replace_all(text, "-", "\\-");
  boost::replace_all(text, "\n", "\n.br\n");
  if (text.starts_with('.') || text.starts_with('\'')) text.insert(0, "\\&");
  return text;
}

std::string option_text(const OptionFacts& option) {
  auto text = fmt::format(".TP\n\\fB\\-\\-{}\\fR", roff(option.name));
  if (!option.value.empty()) text += fmt::format(" \\fI{}\\fR", roff(option.value));
  text += '\n' + roff(option.help);
  if (!option.standard.empty()) text += fmt::format(" (default: {})", roff(option.standard));
  return text + '\n';
}

std::string command_text(const Command& command) {
  const auto interface = command.interface();
  auto text = fmt::format(".SS \"retensor {}\"\n{}\n", roff(interface.usage.synopsis),
                          roff(interface.usage.summary));
  for (const auto& option : facts_of(interface.options)) text += option_text(option);
  return text +
         fmt::format(".PP\nExample:\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n", roff(interface.usage.example));
}

int man_command(const Given&) {
  std::cout << fmt::format(
      ".TH RETENSOR 1 \"\" \"ReTensor {}\" \"User Commands\"\n"
      ".SH NAME\nretensor \\- reproduces published measurements of sparse tensor kernels\n"
      ".SH SYNOPSIS\n.B retensor\n.I COMMAND\n[arguments]\n.SH COMMANDS\n",
      roff(build_info().version));
  for (const auto& command : all_commands())
    if (*command.summary != '\0') std::cout << command_text(command);
  std::cout << ".SH EXIT STATUS\n"
            << roff(kExitCodes)
            << ".SH ENVIRONMENT\n"
               ".TP\n\\fBRETENSOR_CACHE\\fR\nfolder of converted tensors, instead of cache/\n"
               ".TP\n\\fBNO_COLOR\\fR\nwhere it is set and not empty, nothing is coloured\n"
               ".TP\n\\fBOMP_NUM_THREADS\\fR\nthreads of methods on the CPU that are given none\n";
  return 0;
}

}  // namespace

Interface man_interface() {
  const Usage usage{"man", "Prints the manual page of retensor, for man(1).",
                    "retensor man > retensor.1", 0, "its output is no data"};
  return {usage, po::options_description(), man_command};
}

}  // namespace retensor::driver
