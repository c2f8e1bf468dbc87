// The subcommands of `retensor`. Each parses its own arguments, writes data to stdout and talk to
// stderr, and returns the exit code: 0 all well, 1 some rows or checks not ok. Bad input leaves as
// InputError (exit code 2), a refusal of the system as SystemError (exit code 3).
#pragma once

#include <string>
#include <vector>

namespace retensor::driver {

using Args = std::vector<std::string>;

int run_command(const Args& args);
int verdict_command(const Args& args);
int audit_command(const Args& args);
int compare_command(const Args& args);
int confirm_command(const Args& args);
int worker_command(const Args& args);  ///< hidden: the child process of `run`

int plan_command(const Args& args);
int list_command(const Args& args);
int show_command(const Args& args);
int dataset_command(const Args& args);
int import_command(const Args& args);
int layout_command(const Args& args);
int tucker_command(const Args& args);
int plot_command(const Args& args);
int report_command(const Args& args);
int export_command(const Args& args);
int rows_command(const Args& args);
int schema_command(const Args& args);
int doctor_command(const Args& args);

struct Command {
  const char* name;
  const char* summary;  ///< one line for `retensor --help`; empty for hidden commands
  int (*call)(const Args&);
};
/// All subcommands in the order in which the help shows them.
const std::vector<Command>& all_commands();

}  // namespace retensor::driver
