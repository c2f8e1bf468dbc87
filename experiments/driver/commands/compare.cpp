// retensor compare: what became faster or slower between two result files, or two methods.
#include "experiments/driver/judge/compare.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/labels.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// One of the two files (or the only one) and what is compared of it.
struct Side {
  std::string name, path, method;
  std::vector<Row> rows;
};

std::string commit_text(const Row& row) {
  const auto& commit = row.field("git.commit");
  const auto known = commit.is_string() ? commit.get<std::string>() : std::string();
  const bool dirty = row.field("git.dirty") == true;
  return fmt::format("{:.12}{}", known.empty() ? "unknown" : known, dirty ? " with changes" : "");
}

/// Machines, commits and number of rows of a side.
json facts(const Side& side) {
  std::set<std::string> machines, commits;
  std::size_t rows = 0;
  for (const auto& row : side.rows) {
    if (!side.method.empty() && row.method() != side.method) continue;
    ++rows;
    machines.insert(row.device());
    commits.insert(commit_text(row));
  }
  json of = {{"file", side.path}, {"rows", rows}, {"machines", machines}, {"commits", commits}};
  if (!side.method.empty()) of["method"] = side.method;
  return of;
}

std::string facts_line(const Side& side) {
  const auto of = facts(side);
  const auto list = [&](const char* member) {
    return boost::algorithm::join(of[member].get<std::vector<std::string>>(), ", ");
  };
  return fmt::format("{}  {}: {}{} rows; {}; commit {}\n", side.name, side.path,
                     side.method.empty() ? "" : fmt::format("{}, ", side.method), of["rows"].dump(),
                     list("machines"), list("commits"));
}

Labels labels_of(const Comparison& comparison) {
  Labels labels;
  for (const auto& pair : comparison.pairs) {
    labels.note(pair.a.row.row_case());
    labels.note(pair.b.row.row_case());
  }
  for (const auto* side : {&comparison.only_a, &comparison.only_b})
    for (const auto& measured : *side) labels.note(measured.row.row_case());
  return labels;
}

std::string label(const Pair& pair, const Labels& labels) {
  return labels.of(pair.a.row.row_case(), pair.b.row.row_case());
}

json to_json(const Measured& m) {
  return {
      {"key", m.row.key()},           {"case", m.row.row_case()}, {"failure", m.failure},
      {"machine", m.row.device()},    {"samples", m.count()},     {"commit", commit_text(m.row)},
      {"launches", m.samples.size()}, {"drifted", m.drifted},     {"noise", m.noise}};
}

json to_json(const Pair& pair) {
  json j = {{"a", to_json(pair.a)}, {"b", to_json(pair.b)}, {"one_machine", pair.one_machine()}};
  if (pair.ok())
    j.update({{"ratio", pair.ratio.value},
              {"ci_low", pair.ratio.ci_low},
              {"ci_high", pair.ratio.ci_high},
              {"change", name(pair.change)}});
  return j;
}

json to_json(const std::vector<Measured>& measured) {
  json list = json::array();
  for (const auto& m : measured) list.push_back(to_json(m));
  return list;
}

json mean_json(const Comparison& comparison) {
  const auto mean = comparison.mean_ratio();
  if (!mean) return nullptr;
  return {{"ratio", mean->value}, {"ci_low", mean->ci_low}, {"ci_high", mean->ci_high}};
}

void print_json(const Side& a, const Side& b, const Comparison& comparison) {
  json pairs = json::array();
  for (const auto& pair : comparison.pairs) pairs.push_back(to_json(pair));
  const json all = {{"a", facts(a)},
                    {"b", facts(b)},
                    {"warnings", comparison.warnings()},
                    {"pairs", pairs},
                    {"only_a", to_json(comparison.only_a)},
                    {"only_b", to_json(comparison.only_b)},
                    {"ignored", comparison.ignored},
                    {"mean", mean_json(comparison)},
                    {"worse", comparison.worse()}};
  std::cout << all.dump(2) << '\n';
}

std::string milliseconds(const Measured& m) {
  return fmt::format("{:.4g}", 1e3 * median(m.samples));
}

/// " (A: samples spread 3-fold)" of a pair with noisy samples.
std::string noise_note(const Pair& pair) {
  std::vector<std::string> notes;
  if (!pair.a.noise.empty()) notes.push_back("A: " + pair.a.noise);
  if (!pair.b.noise.empty()) notes.push_back("B: " + pair.b.noise);
  return notes.empty() ? "" : fmt::format(" ({})", boost::algorithm::join(notes, "; "));
}

/// Lines of measurements without a partner.
std::string alone(const std::vector<Measured>& measured, const std::string& where,
                  const Labels& labels) {
  std::string lines;
  for (const auto& m : measured)
    lines += fmt::format("{}  {}{}\n", where, labels.of(m.row.row_case()),
                         m.failure.empty() ? "" : fmt::format(" ({})", m.failure));
  return lines;
}

std::string failures(const Comparison& comparison, const Labels& labels) {
  std::string lines;
  for (const auto& pair : comparison.pairs)
    for (const auto& [side, m] : {std::pair("A", &pair.a), std::pair("B", &pair.b)})
      if (!m->failure.empty())
        lines += fmt::format("not ok in {}  {}: {}\n", side, label(pair, labels), m->failure);
  return lines;
}

Tone tone_of(Change change) {
  return change == Change::faster   ? Tone::good
         : change == Change::slower ? Tone::bad
                                    : Tone::doubtful;
}

void print_text(const Side& a, const Side& b, const Comparison& comparison) {
  std::cout << facts_line(a) << facts_line(b);
  if (!comparison.ignored.empty())
    std::cout << fmt::format("paired whatever their {}\n", joined(comparison.ignored, ", "));
  for (const auto& warning : comparison.warnings()) std::cout << "warning: " << warning << '\n';
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
                     milliseconds(pair.a), milliseconds(pair.b),
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
  std::cout << fmt::format(
      "{} pairs: {} slower, {} faster, {} without significant change, {} with too few samples, {} "
      "not ok; {} only in A, {} only in B\n",
      comparison.pairs.size(), counts["slower"], counts["faster"], counts["none"],
      counts["too few samples"], counts["not ok"], comparison.only_a.size(),
      comparison.only_b.size());
}

CompareOptions options_of(const Given& given) {
  CompareOptions options;
  options.ignore = given.texts("ignore");
  const auto percent = given.get<double>("threshold");
  if (!(percent >= 0 && percent < 100))
    throw InputError("compare: a threshold is a percentage from 0 to below 100");
  options.threshold = percent / 100;
  const auto methods = given.texts("by-method");
  if (methods.empty()) return options;
  if (methods.size() != 2)
    throw InputError("compare: --by-method takes two methods, after the files");
  options.method_a = methods[0];
  options.method_b = methods[1];
  return options;
}

/// A name that no row has would leave nothing to compare, or ignore nothing.
void check_names(const std::vector<Side>& sides, const CompareOptions& options) {
  for (const auto& side : sides) {
    std::vector<std::string> known;
    for (const auto& row : side.rows) known.push_back(row.method());
    if (!side.method.empty() && std::find(known.begin(), known.end(), side.method) == known.end())
      throw InputError(fmt::format("compare: {} has no row of '{}'{}", side.path, side.method,
                                   suggestion(side.method, known)));
  }
  for (const auto& path : options.ignore) {
    const auto has = [&](const Row& row) { return !field(row.row_case(), path).is_null(); };
    if (std::none_of(sides.begin(), sides.end(), [&](const Side& side) {
          return std::any_of(side.rows.begin(), side.rows.end(), has);
        }))
      throw InputError(fmt::format("compare: no case has a member '{}'", path));
  }
}

/// Two files, or one of two methods.
std::vector<std::string> files_of(const Given& given, bool by_method) {
  auto files = given.positionals();
  if (files.size() == 1 && by_method) files.push_back(files[0]);
  if (files.size() != 2)
    throw InputError("compare: expected two result files, or one with --by-method");
  return files;
}

int compare_command(const Given& given) {
  const auto how = options_of(given);
  const auto files = files_of(given, !how.method_a.empty());
  const Members kept = {"phases.run", "clock_flag"};
  const Side a{"A", files[0], how.method_a, newest_rows({files[0]}, kept)};
  const Side b{"B", files[1], how.method_b, newest_rows({files[1]}, kept)};
  check_names({a, b}, how);
  const auto comparison = compare_rows(a.rows, b.rows, how);
  if (given.flag("json"))
    print_json(a, b, comparison);
  else
    print_text(a, b, comparison);
  return comparison.worse() && given.flag("strict") ? 1 : 0;
}

}  // namespace

Interface compare_interface() {
  const Usage usage{
      "compare A.jsonl [B.jsonl]",
      "Compares the times of B with those of A, case by case: the ratio of the medians (above 1: B "
      "is "
      "slower) with its 95% bootstrap interval, and the geometric mean of the ratios. A change "
      "counts "
      "when the interval excludes 1 and the ratio is beyond the threshold. Files of different "
      "artifacts are compared in the cases that they have in common. With --by-method, A is the "
      "first "
      "method and B the second, in one file or two.",
      "retensor compare before.jsonl after.jsonl --strict", 2};
  po::options_description options;
  auto add = options.add_options();
  add("by-method", words("A B"), "compare two methods in cases that agree in everything else");
  add("ignore", words("FIELD..."),
      "members of the case that may differ, such as artifact or params.threads");
  add("threshold", number("PERCENT", 2.0), "smallest change that counts");
  add("strict", flag(), "exit code 1 when something is significantly slower in B or no longer ok");
  add_json_option(options);
  return {usage, options, compare_command};
}

}  // namespace retensor::driver
