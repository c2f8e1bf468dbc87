// retensor plot and retensor report: both run the Python package plots/ on result files.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/data/process.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

po::options_description plot_options(const std::string& out) {
  po::options_description options;
  options.add_options()("rows",
                        po::value<std::vector<std::string>>()->multitoken()->value_name("FILE..."),
                        "result files (default: all below experiments/results and out/results)")(
      "out", po::value<std::string>()->value_name("DIR")->default_value(out), "folder to write to")(
      "verdicts", po::value<std::string>()->value_name("FILE"),
      "output of: retensor verdict --json (default: the verdicts on these result files)");
  add_location_options(options);
  return options;
}

/// Writes a file and returns its path.
std::string write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw SystemError(path.string() + ": can't be written");
  return path.string();
}

std::string write_json(const fs::path& path, const nlohmann::json& content) {
  return write_text(path, content.dump(1) + '\n');
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw SystemError(fmt::format("{}: {}", path, error.message()));
}

std::vector<std::string> rows_of(const po::variables_map& given) {
  return required_results(given.count("rows") != 0 ? given["rows"].as<Args>() : Args{});
}

int run_plots(std::vector<std::string> what, const po::variables_map& given) {
  const auto out = given["out"].as<std::string>();
  make_folder(out);
  const auto rows = rows_of(given);
  std::vector<std::string> argv = {python_interpreter(), "-m", "plots"};
  argv.insert(argv.end(), what.begin(), what.end());
  const auto folder = fs::path(out);
  argv.insert(argv.end(), {"--out", out});
  argv.insert(argv.end(), {"--rows", write_text(folder / "rows.jsonl", rows_text(rows))});
  argv.insert(argv.end(),
              {"--verdicts", given.count("verdicts") != 0
                                 ? given["verdicts"].as<std::string>()
                                 : write_json(folder / "verdicts.json",
                                              verdicts({}, rows, locations_of(given)))});
  return run_process(argv, source_root());
}

}  // namespace

int plot_command(const Args& args) {
  const Usage usage{"plot SPEC...",
                    "Draws the figures of specs (SVG, PNG) with their tables (CSV) and prints the "
                    "paths.",
                    "retensor plot experiments/pasta/fig4.yaml --out out/figures", -1};
  const auto given = parse_options(usage, plot_options("out/figures"), args);
  if (!given) return 0;
  const auto specs = positionals(*given);
  if (specs.empty()) throw InputError("plot: expected at least one spec");
  std::vector<std::string> what = {"figure", "--spec"};
  for (const auto& spec : specs) what.push_back(load_spec(spec).path);
  return run_plots(std::move(what), *given);
}

int report_command(const Args& args) {
  const Usage usage{"report", "Writes the HTML report of all result files and prints its path.",
                    "retensor report --out out/report", 0};
  auto options = plot_options("out/report");
  options.add_options()("specs", po::value<std::string>()->value_name("DIR"),
                        "folder of the specs (default: experiments/)");
  const auto given = parse_options(usage, options, args);
  if (!given) return 0;
  const auto specs =
      given->count("specs") != 0 ? (*given)["specs"].as<std::string>() : experiments_root();
  const auto rows = rows_of(*given);
  const auto out = (*given)["out"].as<std::string>();
  make_folder(out);
  return run_plots(
      {"report", "--specs", specs, "--audits",
       write_json(fs::path(out) / "audits.json", audits({})), "--methods",
       write_json(fs::path(out) / "methods.json", methods()), "--artifacts",
       write_json(fs::path(out) / "artifacts.json", artifacts({}, rows, locations_of(*given)))},
      *given);
}

}  // namespace retensor::driver
