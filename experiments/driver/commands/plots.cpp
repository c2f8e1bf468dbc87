// retensor plot, report and export: all run the Python package of plots/ on result files.
#include <algorithm>
#include <filesystem>
#include <set>

#include "common/io/files.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/data/process.hpp"
#include "experiments/driver/spec/methods.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

Options plot_options(const char* out) {
  Options add;
  add("rows", words("FILE..."),
      "result files and folders of them (default: experiments/results and out/results)");
  add("out", word("DIR", out), "folder to write to");
  add("verdicts", word("FILE"),
      "output of: retensor verdict --json (default: the verdicts on the result files named, else "
      "on the committed ones)");
  add.locations();
  return add;
}

/// Writes a file and returns its path.
std::string write_page(const fs::path& path, const std::string& text) {
  write_file(path.string(), text);
  return path.string();
}

std::string write_json(const fs::path& path, const nlohmann::json& content) {
  return write_page(path, content.dump(1) + '\n');
}

/// Verdicts stand on committed rows, unless the user names others.
std::vector<std::string> judged_files(const Given& given) {
  auto named = given.texts("rows");
  return named.empty() ? committed_results() : required_results(std::move(named));
}

/// The verdicts that the user names, else those on all claims of these papers.
std::string verdicts_file(const Given& given, const std::vector<std::string>& papers,
                          const ScratchFolder& scratch) {
  if (auto named = given.text("verdicts"); !named.empty()) return named;
  return write_json(scratch.path() / "verdicts.json",
                    papers.empty() ? nlohmann::json::array()
                                   : verdicts(papers, judged_files(given), given.locations(),
                                              known_calibrations()));
}

/// Rows and what else Python reads stand in `scratch`, no part of what it writes.
int run_plots(std::vector<std::string> what, const Given& given,
              const std::vector<std::string>& rows, const std::vector<std::string>& papers,
              const ScratchFolder& scratch) {
  const auto out = given.text("out");
  make_folder(out);
  what.insert(what.end(),
              {"--out", out, "--rows", write_page(scratch.path() / "rows.jsonl", rows_text(rows)),
               "--verdicts", verdicts_file(given, papers, scratch)});
  return run_package(what);
}

int plot_command(const Given& given) {
  const auto specs = given.positionals("plot: expected at least one spec");
  std::vector<std::string> what = {"figure", "--spec"};
  std::set<std::string> papers;
  const auto judged = papers_with("claims");
  for (const auto& path : specs) {
    auto spec = load_spec(path);
    check_figure(spec, methods_for(spec));
    what.push_back(spec.path);
    const auto paper = spec.artifact.substr(0, spec.artifact.find('/'));
    const bool has_claims = std::ranges::find(judged, paper) != judged.end();
    if (has_claims) papers.insert(paper);
  }
  return run_plots(std::move(what), given, required_results(given.texts("rows")),
                   {papers.begin(), papers.end()}, {});
}

}  // namespace

Interface plot_interface() {
  const Usage usage{"plot SPEC...",
                    "Draws the figures of specs (SVG, PDF) with their tables (CSV) and prints the "
                    "paths.",
                    "retensor plot experiments/pasta/fig4.yaml --out out/figures", -1};
  return {usage, plot_options("out/figures"), plot_command};
}

namespace {

int report_command(const Given& given) {
  auto specs = given.texts("specs");
  if (specs.empty()) specs = {experiments_root()};
  const auto rows = required_results(given.texts("rows"));
  const ScratchFolder scratch;
  const auto read = [&](const char* name, const nlohmann::json& content) {
    return write_json(scratch.path() / name, content);
  };
  std::vector<std::string> what = {"report", "--specs"};
  what.insert(what.end(), specs.begin(), specs.end());
  what.insert(what.end(), {"--audits", read("audits.json", audits({})), "--methods",
                           read("methods.json", methods()), "--artifacts",
                           read("artifacts.json", artifacts({}, rows, given.locations()))});
  return run_plots(std::move(what), given, rows, papers_with("claims"), scratch);
}

}  // namespace

Interface report_interface() {
  const Usage usage{"report", "Writes the HTML report of all result files and prints its path.",
                    "retensor report --out out/report", 0};
  auto add = plot_options("out/report");
  add("specs", words("PATH..."),
      "specs and folders of specs (default: experiments/); the specs of rows are also looked for "
      "where they were run");
  return {usage, add, report_command};
}

namespace {

int export_command(const Given& given) {
  const fs::path out = given.text("out");
  make_folder(out.parent_path());
  const ScratchFolder scratch;
  const auto rows =
      write_page(scratch.path() / "rows.jsonl", rows_text(required_results(given.positionals())));
  return run_package({"export", "--rows", rows, "--out", out.string()});
}

}  // namespace

Interface export_interface() {
  const Usage usage{
      "export [FILE]...",
      "Writes the rows of result files or folders (default: all below experiments/results and "
      "out/results) as one Parquet file with a typed column for each field, and "
      "prints its path. Needs the Python package pyarrow.",
      "retensor export --out rows.parquet experiments/results/cpu/hlsto-table4.jsonl", -1};
  Options add;
  add("out", word("FILE", "out/rows.parquet"), "file to write");
  return {usage, add, export_command};
}

}  // namespace retensor::driver
