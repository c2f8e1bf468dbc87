// retensor import: times of an original code become rows beside one's own.
#include <iostream>

#include "common/core/error.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/imported.hpp"
#include "experiments/driver/run/store.hpp"

namespace retensor::driver {

namespace {

int import_command(const Given& given) {
  const ImportSource source{given.text("who"), given.text("commit"), given.text("gpu"),
                            given.text("cpu")};
  const auto out = given.text("out");
  if (source.who.empty()) throw InputError("import: expected --who, whose times these are");
  if (source.gpu.empty() == source.cpu.empty())
    throw InputError("import: expected either --gpu or --cpu, the device that was timed");
  if (out.empty()) throw InputError("import: expected --out, the file to append to");
  const auto lines = import_rows(given.positional("a table of times"), source, given.registry());
  Store store(out);
  for (const auto& line : lines) store.append(line);
  std::cout << out << '\n';
  return 0;
}

}  // namespace

Interface import_interface() {
  const Usage usage{
      "import FILE.csv",
      "Appends times that an original code took (columns artifact, method, operation, dataset, "
      "milliseconds, and mode, rank, dtype where they are needed) to a result file. Queries "
      "and figures leave these rows (`code: original`) out unless they ask for them.",
      "retensor import experiments/originals/h200.csv --who 'ParTI, by its authors' --gpu 'NVIDIA "
      "H200' --out rows.jsonl",
      1};
  po::options_description options;
  auto add = options.add_options();
  add("who", word("TEXT"), "whose code it is and who ran it");
  add("commit", word("TEXT"), "version of the code, if known");
  add("gpu", word("NAME"), "the GPU that ran it, under the name that its driver reports");
  add("cpu", word("NAME"), "the processor that ran it, if it was not a GPU");
  add("out", word("FILE"), "result file to append to");
  add_location_options(options);
  return {usage, options, import_command};
}

}  // namespace retensor::driver
