// retensor calibrate: which differences between times count on a machine.
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/judge/calibration.hpp"

#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "common/io/files.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string percent(const json& share) {
  return fmt::format("{:.1f}%", 100 * share.get<double>());
}

std::string curve_text(const json& rule) {
  std::vector<TableRow> table;
  for (const auto& point : rule["curve"]) {
    TableRow row = {fmt::format("{:g}%", point["threshold"].get<double>()),
                    percent(point["false_alarms"])};
    for (const auto* slowdown : {"1%", "2%", "5%", "10%"})
      row.push_back(percent(point["power"][slowdown]));
    table.push_back(std::move(row));
  }
  return table_text({"threshold", "false alarms", "detects 1%", "2%", "5%", "10%"}, table,
                    out_style());
}

std::string threshold_text(const json& threshold) {
  return threshold.is_null() ? "none" : fmt::format("{:g}%", threshold.get<double>());
}

std::string text_of_rule(const json& rule) {
  return fmt::format(
      "{}, {}\n{}threshold: {}; in the first half of the launches {}, in the second {}\n\n",
      sides_text(rule["launches"].get<std::size_t>()),
      count_text(rule["pairs"].get<std::size_t>(), "pair"), curve_text(rule),
      rule["threshold"].is_null() ? "none keeps false alarms at 1% or less: no difference is called"
                                  : threshold_text(rule["threshold"]),
      threshold_text(rule["halves"][0]), threshold_text(rule["halves"][1]));
}

int calibrate_command(const Given& given) {
  const auto rows = read_results(
      given.positionals("calibrate: expected the result files of a spec with `launches`"), {},
      Machines::each);
  tell_warnings(rows.warnings);
  const auto made = calibrate(rows.rows);
  const auto path = given.text("out");
  if (!path.empty()) write_file(path, made.dump(2) + '\n');
  if (given.flag("json")) {
    std::cout << made.dump(2) << '\n';
    return 0;
  }
  std::cout << fmt::format("{}: launches of the same code in {}; left out: {}\n\n",
                           made["device"].get<std::string>(),
                           count_text(made["cases"].get<std::size_t>(), "case"),
                           count_text(made["noisy_rows"].get<std::size_t>(), "noisy row"));
  for (const auto& rule : made["rules"]) std::cout << text_of_rule(rule);
  return 0;
}

}  // namespace

std::vector<Calibration> calibrations_of(const Given& given) {
  std::vector<Calibration> found;
  for (const auto& path : given.texts("calibration")) found.push_back(read_calibration(path));
  for (auto& known : known_calibrations()) found.push_back(std::move(known));
  return found;
}

std::vector<Calibration> known_calibrations() {
  std::vector<Calibration> found;
  for (const auto& root :
       {fs::path(source_root()) / "experiments" / "results", fs::path("out") / "results"}) {
    std::error_code ignored;
    for (const auto& folder : fs::directory_iterator(root, ignored))
      if (const auto file = folder.path() / "calibration.json"; fs::is_regular_file(file, ignored))
        found.push_back(read_calibration(file.string()));
  }
  return found;
}

Interface calibrate_interface() {
  const Usage usage{
      "calibrate FILE...",
      "Reads repeated launches of the same cases, which are pairs of identical runs. Reports how "
      "often `compare` would find a difference on this machine where there is none, and which "
      "slowdowns it would detect. The smallest threshold with at most 1% of false alarms is "
      "written to a file; `compare` reads calibration.json in the folders of experiments/results "
      "and out/results.",
      "retensor calibrate launches.jsonl --out calibration.json", -1};
  Options add;
  add("out", word("FILE"), "write the calibration to a file");
  add.json();
  return {usage, add, calibrate_command};
}

}  // namespace retensor::driver
