// The table of subcommands.
#include "experiments/driver/commands/commands.hpp"

namespace retensor::driver {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      {"run", "run the cases of specs and append their rows", run_command},
      {"plan", "show what a spec would run: cases, skips, memory", plan_command},
      {"list", "list methods, data sets, experiments or artifacts", list_command},
      {"show", "show a method and its parameters", show_command},
      {"dataset", "list, describe, fetch, make, convert and verify data sets", dataset_command},
      {"layout", "print a small tensor in COO, HiCOO and their variants", layout_command},
      {"tucker", "decompose a tensor with the TTM-chain of a method", tucker_command},
      {"plot", "draw the figures of specs from result rows", plot_command},
      {"report", "write the HTML report", report_command},
      {"rows", "print result rows with what follows from them", rows_command},
      {"export", "write result rows as Parquet", export_command},
      {"verdict", "compare result rows with published values", verdict_command},
      {"audit", "check a paper's own figures against each other", audit_command},
      {"import", "append times of an original code to a result file", import_command},
      {"compare", "compare the times of two result files or two methods", compare_command},
      {"confirm", "measure a sample of rows that are older than the code", confirm_command},
      {"schema", "write the JSON Schema of specs and other files", schema_command},
      {"doctor", "tell what this machine can run", doctor_command},
      {"worker", "", worker_command},
  };
  return commands;
}

}  // namespace retensor::driver
