// retensor import: times of an original code become rows beside one's own.
#include <iostream>

#include "common/core/error.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/run/imported.hpp"
#include "experiments/driver/run/store.hpp"

namespace retensor::driver {

int import_command(const Args& args) {
  const Usage usage{
      "import FILE.csv",
      "Appends times that an original code took (columns artifact, method, operation, dataset, "
      "milliseconds, and mode, rank, dtype where they are needed) to a result file. The rows say "
      "`code: original`: queries and figures that do not ask for them leave them out.",
      "retensor import experiments/originals/h200.csv --who 'ParTI, by its authors' --gpu "
      "'NVIDIA "
      "H200' --out rows.jsonl",
      1};
  po::options_description options;
  auto add = options.add_options();
  add("who", word("TEXT"), "whose code it is and who ran it");
  add("commit", word("TEXT"), "version of the code, as far as known");
  add("gpu", word("NAME"), "the GPU that ran it, as its driver calls it");
  add("cpu", word("NAME"), "the processor that ran it, where it was no GPU");
  add("out", word("FILE"), "result file to append to");
  add_location_options(options);
  const auto given = parse_options(usage, options, args);
  if (!given) return 0;
  const ImportSource source{given->text("who"), given->text("commit"), given->text("gpu"),
                            given->text("cpu")};
  const auto out = given->text("out");
  if (source.who.empty()) throw InputError("import: expected --who, whose times these are");
  if (source.gpu.empty() == source.cpu.empty())
    throw InputError("import: expected either --gpu or --cpu, the device that was timed");
  if (out.empty()) throw InputError("import: expected --out, the file to append to");
  const auto lines = import_rows(given->positional("a table of times"), source, given->registry());
  Store store(out);
  for (const auto& line : lines) store.append(line);
  std::cout << out << '\n';
  return 0;
}

}  // namespace retensor::driver
