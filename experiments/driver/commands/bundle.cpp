// retensor bundle and replay: both are the Python package of plots/, which calls this program.
#include <filesystem>
#include <string>

#include "common/core/error.hpp"
#include "common/core/message.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/process.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

using Words = std::vector<std::string>;

/// The command of the package that has the same name, with what both of its commands take.
Words package_command(const std::string& name, const Given& given) {
  return {name,          "--program",       fs::read_symlink("/proc/self/exe").string(),
          "--out",       given.text("out"), "--cache",
          given.cache(), "--recipes",       given.locations().recipes};
}

void append(Words& to, const char* option, const Words& values) {
  to.emplace_back(option);
  to.insert(to.end(), values.begin(), values.end());
}

bool is_file(const std::string& name) {
  return fs::path(name).extension() == ".yaml";
}

/// The spec, or all specs of a paper.
Words specs_named(const std::string& name) {
  if (is_file(name)) return {load_spec(name).path};
  files_of_papers("claims", {name});  // refuses what is no paper
  Words paths;
  for (const auto& spec : all_specs(""))
    if (spec.artifact.starts_with(name + '/')) paths.push_back(spec.path);
  if (paths.empty()) throw InputError(name + ": no spec has an artifact of it");
  return paths;
}

int bundle_command(const Given& given) {
  const auto name = given.positional("a spec or a paper"), out = given.text("out");
  if (!out.empty() && !out.ends_with(".tar.gz") && !out.ends_with(".tgz"))
    throw input_error(
        "--out: found {}, expected a name that ends in .tar.gz or .tgz, which the "
        "archive is",
        out);
  auto what = package_command("bundle", given);
  what.insert(what.end(), {"--name", is_file(name) ? fs::path(name).stem().string() : name,
                           "--registry", given.locations().registry});
  append(what, "--specs", specs_named(name));
  append(what, "--rows", required_results(given.texts("rows")));
  if (given.flag("measure")) what.emplace_back("--measure");
  return run_package(what);
}

int replay_command(const Given& given) {
  auto what = package_command("replay", given);
  what.insert(what.end(),
              {"--bundle", given.positional("a bundle"), "--registry", given.text("registry"),
               "--time-limit", std::to_string(given.get<int>("time-limit"))});
  return run_package(what);
}

}  // namespace

Interface bundle_interface() {
  const Usage usage{
      "bundle SPEC|PAPER",
      "Writes one archive with everything that a reader needs to check the result rows of a spec, "
      "or of all specs of a paper: specs, rows, figures, verdicts, data recipes and checksums, the "
      "environment, RO-Crate metadata and a checklist for the badges of the ACM. Prints the path "
      "of the archive. Tensors that may not be passed on are left out.",
      "retensor bundle experiments/tca_spmm/fig4.yaml --out fig4.tar.gz", 1};
  Options add;
  add("out", word("FILE"), "archive to write (default: out/<name>.tar.gz)");
  add("rows", words("FILE..."),
      "result files and folders of them (default: experiments/results and out/results)");
  add("measure", flag(), "measure the quick profile first, so that a replay finds its rows");
  add.locations();
  return {usage, add, bundle_command};
}

Interface replay_interface() {
  const Usage usage{
      "replay BUNDLE",
      "Unpacks a bundle, checks its files, runs the quick profile of its specs on the CPU without "
      "network, and reports for each row and claim whether it agrees with the bundle. Times are "
      "not compared. Exit code 1 if something differs or nothing could be compared.",
      "retensor replay fig4.tar.gz --out replayed", 1, "its report is the file replay.json"};
  Options add;
  add("out", word("DIR", "replayed"), "folder to unpack to, which must be empty or absent");
  add("time-limit", number("SECONDS", 600),
      "time limit for all runs together; cases that are left are not compared");
  add.locations();
  return {usage, add, replay_command};
}

}  // namespace retensor::driver
