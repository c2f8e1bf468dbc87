// The subcommands of `retensor`. Each writes data to stdout and talk to stderr, and returns the
// exit code: 0 all well, 1 some rows or checks not ok. Bad input leaves as InputError (exit code
// 2), a refusal of the system as SystemError (exit code 3).
#pragma once

#include <string>
#include <vector>

#include "experiments/driver/commands/options.hpp"

namespace retensor::driver {

/// What a subcommand takes and does. Help, man page and shell completion are made of it.
struct Interface {
  Usage usage;
  po::options_description options;
  int (*run)(const Given&);
};

Interface run_interface();
Interface plan_interface();
Interface bench_interface();
Interface list_interface();
Interface show_interface();
Interface dataset_interface();
Interface layout_interface();
Interface cp_interface();
Interface tucker_interface();
Interface plot_interface();
Interface report_interface();
Interface rows_interface();
Interface export_interface();
Interface verdict_interface();
Interface audit_interface();
Interface import_interface();
Interface compare_interface();
Interface confirm_interface();
Interface schema_interface();
Interface doctor_interface();
Interface help_interface();
Interface completion_interface();
Interface man_interface();
Interface worker_interface();  ///< hidden: the child process of `run`

struct Command {
  const char* name;
  const char* summary;  ///< one line for `retensor --help`; empty for hidden commands
  Interface (*interface)();
};
/// All subcommands in the order in which the help shows them.
const std::vector<Command>& all_commands();
/// Throws InputError for a name that no subcommand has.
const Command& command_named(const std::string& name);

inline constexpr const char* kExitCodes =
    "Exit codes: 0 all ok, 1 some rows or checks not ok, 2 bad input, 3 system error\n";

/// What `retensor --help` prints.
std::string overview();

}  // namespace retensor::driver
