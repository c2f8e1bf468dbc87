// The table of subcommands, and help about them.
#include "experiments/driver/commands/commands.hpp"

#include <iostream>

#include <fmt/format.h>

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
  static const std::vector<Command> commands = {
      {"bench", "time all methods that can run an operation on a tensor", bench_interface},
      {"cp", "compute a CP decomposition of a tensor", cp_interface},
      {"tucker", "compute a Tucker decomposition of a tensor", tucker_interface},
      {"run", "run the cases of specs and append their rows to result files", run_interface},
      {"plan", "show what a spec would run: cases, skips, memory", plan_interface},
      {"list", "list methods, data sets, experiments or artifacts", list_interface},
      {"show", "show what a method takes, and its parameters", show_interface},
      {"dataset", "list, describe, fetch, make, convert and verify data sets", dataset_interface},
      {"layout", "print a small tensor in COO, HiCOO and their variants", layout_interface},
      {"plot", "draw the figures of specs from result rows", plot_interface},
      {"report", "write the HTML report", report_interface},
      {"rows", "print result rows with the quantities derived from them", rows_interface},
      {"export", "write result rows as Parquet", export_interface},
      {"verdict", "compare result rows with published values", verdict_interface},
      {"audit", "check the figures of a paper against each other", audit_interface},
      {"import", "append times of an original code to a result file", import_interface},
      {"compare", "compare the times of two result files or two methods", compare_interface},
      {"confirm", "measure a sample of the rows that are older than the code", confirm_interface},
      {"schema", "print the JSON Schema of specs and other files", schema_interface},
      {"doctor", "tell what this machine can run", doctor_interface},
      {"completion", "print the completion script of a shell", completion_interface},
      {"man", "print the manual page", man_interface},
      {"help", "print the help of a command", help_interface},
      {"worker", "", worker_interface},
  };
  return commands;
}

const Command& command_named(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& command : all_commands()) {
    if (command.name == name) return command;
    if (*command.summary != '\0') names.emplace_back(command.name);
  }
  throw InputError(
      fmt::format("unknown command '{}'{} (see: retensor --help)", name, suggestion(name, names)));
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
