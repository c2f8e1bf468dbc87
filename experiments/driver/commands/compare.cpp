// retensor compare: what became faster or slower between two result files, or two methods.
#include "experiments/driver/judge/compare.hpp"
#include "experiments/driver/data/bytes.hpp"

#include <iostream>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/replace.hpp>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/labels.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// One of the two files (or the only one) and what is compared of it.
struct File {
  std::string name, path;
  Side side;
};

/// Machines, commits and number of rows of a file.
json facts(const File& file) {
  const auto& side = file.side;
  json of = {{"file", file.path},
             {"rows", side.rows},
             {"machines", side.machines},
             {"commits", side.commits}};
  if (!side.method.empty()) of["method"] = side.method;
  return of;
}

std::string facts_line(const File& file) {
  const auto& side = file.side;
  return fmt::format("{}  {}: {}{}; {}; commit {}\n", file.name, file.path,
                     side.method.empty() ? "" : fmt::format("{}, ", side.method),
                     count_text(side.rows, "row"), boost::algorithm::join(side.machines, ", "),
                     boost::algorithm::join(side.commits, ", "));
}

Labels labels_of(const Comparison& comparison) {
  Labels labels;
  for (const auto& pair : comparison.pairs) {
    labels.note(pair.a->row_case());
    labels.note(pair.b->row_case());
  }
  for (const auto* side : {&comparison.only_a, &comparison.only_b})
    for (const auto& measured : *side) labels.note(measured->row_case());
  return labels;
}

std::string label(const Pair& pair, const Labels& labels) {
  return labels.of(pair.a->row_case(), pair.b->row_case());
}

json to_json(const Measured& m) {
  return {{"key", m.key},        {"case", m.row_case()},         {"failure", m.failure},
          {"machine", m.device}, {"machine_id", m.machine},      {"samples", m.count()},
          {"commit", m.commit},  {"launches", m.samples.size()}, {"drifted", m.drifted},
          {"noise", m.noise}};
}

json to_json(const Pair& pair) {
  json j = {{"a", to_json(*pair.a)}, {"b", to_json(*pair.b)}, {"one_machine", pair.one_machine()}};
  if (!pair.ok()) return j;
  j.update(ratio_json(pair.ratio));
  j["change"] = name(pair.change);
  return j;
}

/// A list as json::dump(2) writes it one level down, an element at a time: as one value the lists
/// of a large file take ten times its bytes.
template <class List, class Convert>
void print_list(const char* name, const List& list, const Convert& convert) {
  std::cout << fmt::format("  \"{}\": [", name);
  for (std::size_t k = 0; k < list.size(); ++k)
    std::cout << (k == 0 ? "" : ",") << "\n    "
              << boost::algorithm::replace_all_copy(convert(list[k]).dump(2), "\n", "\n    ");
  std::cout << (list.empty() ? "]" : "\n  ]");
}

void print_json(const File& a, const File& b, const Comparison& comparison) {
  const auto alone = [](const MeasuredPtr& m) { return to_json(*m); };
  const auto mean = comparison.mean_ratio();
  const json others = {{"a", facts(a)},
                       {"b", facts(b)},
                       {"warnings", comparison.warnings()},
                       {"ignored", comparison.ignored},
                       {"rules", comparison.rules},
                       {"mean", mean ? ratio_json(*mean) : json()},
                       {"worse", comparison.worse()}};
  const auto text = others.dump(2);
  std::cout << text.substr(0, text.rfind("\n}")) << ",\n";
  print_list("pairs", comparison.pairs, [](const Pair& pair) { return to_json(pair); });
  std::cout << ",\n";
  print_list("only_a", comparison.only_a, alone);
  std::cout << ",\n";
  print_list("only_b", comparison.only_b, alone);
  std::cout << "\n}\n";
}

std::string milliseconds(const Measured& m) {
  return fmt::format("{:.4g}", 1e3 * median(m.samples));
}

/// " (A: samples spread 3-fold)" of a pair with noisy samples.
std::string noise_note(const Pair& pair) {
  std::vector<std::string> notes;
  if (!pair.a->noise.empty()) notes.push_back("A: " + pair.a->noise);
  if (!pair.b->noise.empty()) notes.push_back("B: " + pair.b->noise);
  return notes.empty() ? "" : fmt::format(" ({})", boost::algorithm::join(notes, "; "));
}

/// Lines of measurements without a partner.
std::string alone(const std::vector<MeasuredPtr>& measured, const std::string& where,
                  const Labels& labels) {
  std::string lines;
  for (const auto& m : measured)
    lines += fmt::format("{}  {}{}\n", where, labels.of(m->row_case()),
                         m->failure.empty() ? "" : fmt::format(" ({})", m->failure));
  return lines;
}

std::string failures(const Comparison& comparison, const Labels& labels) {
  std::string lines;
  for (const auto& pair : comparison.pairs)
    for (const auto& [side, m] : {std::pair("A", pair.a), std::pair("B", pair.b)})
      if (!m->failure.empty())
        lines += fmt::format("not ok in {}  {}: {}\n", side, label(pair, labels), m->failure);
  return lines;
}

Tone tone_of(Change change) {
  return change == Change::faster   ? Tone::good
         : change == Change::slower ? Tone::bad
                                    : Tone::doubtful;
}

void print_text(const File& a, const File& b, const Comparison& comparison) {
  std::cout << facts_line(a) << facts_line(b);
  if (!comparison.ignored.empty())
    std::cout << fmt::format("paired whatever their {}\n", joined(comparison.ignored, ", "));
  for (const auto& warning : comparison.warnings()) std::cout << "warning: " << warning << '\n';
  for (const auto& rule : comparison.rules) std::cout << rule << '\n';
  const auto labels = labels_of(comparison);
  std::vector<TableRow> table;
  std::map<std::string, int> counts;
  for (const auto& pair : comparison.pairs) {
    ++counts[pair.ok() ? name(pair.change) : "not ok"];
    if (!pair.ok()) continue;
    const auto change = pair.change == Change::none
                            ? std::string()
                            : out_style()(tone_of(pair.change), name(pair.change));
    table.push_back({fmt::format("{:.3f}", pair.ratio.value),
                     fmt::format("[{:.3f}, {:.3f}]", pair.ratio.ci_low, pair.ratio.ci_high), change,
                     milliseconds(*pair.a), milliseconds(*pair.b),
                     label(pair, labels) + noise_note(pair)});
  }
  if (!table.empty())
    std::cout << '\n'
              << table_text({"B/A", "95% interval", "change", "A (ms)", "B (ms)", "case"}, table,
                            out_style());
  std::cout << '\n'
            << failures(comparison, labels) << alone(comparison.only_a, "only in A", labels)
            << alone(comparison.only_b, "only in B", labels);
  if (const auto mean = comparison.mean_ratio())
    std::cout << fmt::format("geometric mean of B/A: {:.3f} [{:.3f}, {:.3f}]\n", mean->value,
                             mean->ci_low, mean->ci_high);
  std::string untold;
  for (const auto change : {Change::too_noisy, Change::undecided})
    if (const auto count = counts[name(change)]; count > 0)
      untold += fmt::format(", {} {}", count, name(change));
  std::cout << fmt::format(
      "{}: {} slower, {} faster, {} without significant change, {} with too few samples{}, "
      "{} not ok; {} only in A, {} only in B\n",
      count_text(comparison.pairs.size(), "pair"), counts["slower"], counts["faster"],
      counts["none"], counts["too few samples"], untold, counts["not ok"], comparison.only_a.size(),
      comparison.only_b.size());
}

CompareOptions options_of(const Given& given) {
  CompareOptions options;
  options.calibrations = calibrations_of(given);
  options.ignore = given.texts("ignore");
  const auto percent = given.get<double>("threshold");
  if (!(percent >= 0 && percent < 100))
    throw input_error("compare: a threshold is a percentage from 0 to below 100");
  options.threshold = percent / 100;
  const auto methods = given.texts("by-method");
  if (methods.empty()) return options;
  if (methods.size() != 2)
    throw input_error("compare: --by-method takes two methods, after the files");
  options.method_a = methods[0];
  options.method_b = methods[1];
  return options;
}

/// A name that no row has would leave nothing to compare, or ignore nothing.
void check_names(const File& a, const File& b, const CompareOptions& options) {
  for (const auto* file : {&a, &b}) {
    const auto& [method, methods] = std::tie(file->side.method, file->side.methods);
    if (!method.empty() && !methods.contains(method))
      throw input_error("compare: {} has no row of '{}'{}", file->path, method,
                        suggestion(method, {methods.begin(), methods.end()}));
  }
  for (const auto& path : options.ignore)
    if (!a.side.ignored.contains(path) && !b.side.ignored.contains(path))
      throw input_error("compare: no case has a member '{}'", path);
}

File file_of(const char* name, const std::string& path, const std::string& method,
             const CompareOptions& options) {
  File file{name, path, Side(options, method)};
  for_each_newest_row(
      {path}, {"phases.run", "clock_flag", "cpu_load", "gpu_state"},
      [&](const Row& row) { file.side.add(row); }, Machines::each);
  return file;
}

/// Two files, or one of two methods.
std::vector<std::string> files_of(const Given& given, bool by_method) {
  auto files = given.positionals();
  if (files.size() == 1 && by_method) files.push_back(files[0]);
  if (files.size() != 2)
    throw input_error("compare: expected two result files, or one with --by-method");
  return files;
}

int compare_command(const Given& given) {
  const auto how = options_of(given);
  const auto files = files_of(given, !how.method_a.empty());
  auto a = file_of("A", files[0], how.method_a, how);
  auto b = file_of("B", files[1], how.method_b, how);
  check_names(a, b, how);
  const auto comparison = compare_sides(a.side, b.side, how);
  if (given.flag("json"))
    print_json(a, b, comparison);
  else
    print_text(a, b, comparison);
  const bool passed = !comparison.worse() && !comparison.undecided();
  return given.flag("strict") && !passed ? 1 : 0;
}

}  // namespace

Interface compare_interface() {
  const Usage usage{
      "compare A.jsonl [B.jsonl]",
      "Compares the times of B with those of A, case by case: the ratio of the medians (above 1: B "
      "is slower) with its 95% bootstrap interval, and the geometric mean of the ratios. A change "
      "counts if the interval excludes 1 and the ratio is beyond the threshold. Files of different "
      "artifacts are compared in the cases that they have in common. With --by-method, A is the "
      "first method and B the second, in one file or two.",
      "retensor compare before.jsonl after.jsonl --strict", 2};
  Options add;
  add("by-method", words("A B"), "compare two methods in cases that agree in everything else");
  add("ignore", words("FIELD..."),
      "fields of the case that may differ, such as artifact or params.threads");
  add("threshold", number("PERCENT", 2.0), "smallest change that counts");
  add("strict", flag(),
      "exit code 1 if a case is significantly slower in B or no longer ok, or if the calibration "
      "of the machine leaves a pair undecided");
  add.calibration();
  add.json();
  return {usage, add, compare_command};
}

}  // namespace retensor::driver
