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

/// X(name, line in `retensor --help`) for every subcommand, in the order of the help. One without a
/// line is hidden: worker is the child process of `run`.
#define RETENSOR_COMMANDS(X)                                                    \
  X(advise, "predict which method is fastest for a tensor")                     \
  X(bench, "time all methods that can run an operation on a tensor")            \
  X(cp, "compute a CP decomposition of a tensor")                               \
  X(tucker, "compute a Tucker decomposition of a tensor")                       \
  X(run, "run the cases of specs and append their rows to result files")        \
  X(submit, "run a spec as tasks on a cluster or on several GPUs")              \
  X(gather, "merge the result files of a submitted spec")                       \
  X(plan, "show what a spec would run: cases, skips, memory")                   \
  X(list, "list methods, data sets, experiments or artifacts")                  \
  X(show, "show the operations, types and parameters of a method")              \
  X(dataset, "list, describe, fetch, make, convert and verify data sets")       \
  X(layout, "print a small tensor in COO, HiCOO and their variants")            \
  X(plot, "draw the figures of specs from result rows")                         \
  X(report, "write the HTML report")                                            \
  X(rows, "print result rows with the quantities derived from them")            \
  X(export, "write result rows as Parquet")                                     \
  X(verdict, "compare result rows with published values")                       \
  X(audit, "check the numbers of a paper against each other")                   \
  X(import, "append times of original code to a result file")                   \
  X(compare, "compare the times of two result files or two methods")            \
  X(calibrate, "find out which differences count on this machine")              \
  X(referee, "say which method is faster, and whether the comparison is fair")  \
  X(confirm, "measure again a sample of the rows that are older than the code") \
  X(bundle, "pack result rows and all that supports them into one archive")     \
  X(replay, "run a bundle again and report what agrees")                        \
  X(schema, "print the JSON Schema of specs and other files")                   \
  X(doctor, "report what this machine can run")                                 \
  X(completion, "print the completion script of a shell")                       \
  X(man, "print the manual page")                                               \
  X(help, "print the help of a command")                                        \
  X(worker, "")

#define RETENSOR_DECLARE(name, summary) Interface name##_interface();
RETENSOR_COMMANDS(RETENSOR_DECLARE)
#undef RETENSOR_DECLARE

struct Command {
  const char* name;
  const char* summary;  ///< one line for `retensor --help`; empty for hidden commands
  Interface (*interface)();
};
/// All subcommands in the order in which the help shows them.
const std::vector<Command>& all_commands();
/// Names of those that are not hidden.
std::vector<std::string> command_names();
/// Throws InputError for a name that no subcommand has.
const Command& command_named(const std::string& name);

inline constexpr const char* kExitCodes =
    "Exit codes: 0 all ok, 1 some rows or checks not ok, 2 bad input, 3 system error\n";

/// What `retensor --help` prints.
std::string overview();

}  // namespace retensor::driver
