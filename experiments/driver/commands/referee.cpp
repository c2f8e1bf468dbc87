// retensor referee: which of two methods is faster where, and whether the comparison is fair.
#include "experiments/driver/judge/referee.hpp"
#include "experiments/driver/data/bytes.hpp"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/labels.hpp"
#include "experiments/driver/run/progress.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr std::size_t kMostBouts = 28;  ///< of eight contestants

std::string outcome(const Round& round, const Bout& bout) {
  if (!round.undecided.empty()) return "undecided: " + round.undecided;
  return round.pair.change == Change::slower   ? bout.a
         : round.pair.change == Change::faster ? bout.b
                                               : "neither";
}

/// Columns of one width, as Markdown.
std::string markdown_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const auto& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  std::string text;
  const auto add = [&](const auto& cell) {
    for (std::size_t k = 0; k < widths.size(); ++k)
      text += fmt::format("| {:<{}} ", cell(k), widths[k]);
    text += "|\n";
  };
  for (std::size_t n = 0; n < rows.size(); ++n) {
    add([&](std::size_t k) { return rows[n][k]; });
    if (n == 0) add([&](std::size_t k) { return std::string(widths[k], '-'); });
  }
  return text;
}

/// What is computed, without what the operation does not have.
json shown_problem(const json& row_case) {
  auto problem = problem_of(row_case);
  if (problem["variant"] == "") problem.erase("variant");
  return problem;
}

std::string page_of(const Bout& bout, const Labels& labels) {
  auto text = fmt::format("## {} (A) against {} (B)\n\n", bout.a, bout.b);
  if (bout.rounds.empty()) return text + "They have no problem in common.\n\n";
  const auto undecided = bout.rounds.size() - bout.a_faster - bout.b_faster - bout.equal;
  text += fmt::format("Of {} A is faster on {}, B on {}, neither on {}; {} undecided.",
                      count_text(bout.rounds.size(), "problem"), bout.a_faster, bout.b_faster,
                      bout.equal, undecided);
  if (bout.mean)
    text += fmt::format(" Geometric mean of the time of B over that of A: {:.3f} [{:.3f}, {:.3f}].",
                        bout.mean->value, bout.mean->ci_low, bout.mean->ci_high);
  std::vector<std::vector<std::string>> rows = {
      {"problem", "A", "B", "B / A", "95% interval", "faster"}};
  for (const auto& round : bout.rounds) {
    const auto& [a, b, ratio, change] = round.pair;
    const auto time = [](const MeasuredPtr& m) {
      return m->failure.empty() ? duration_text(median(m->samples)) : "-";
    };
    const bool ok = round.pair.ok();
    rows.push_back({labels.of(shown_problem(a->row_case())), time(a), time(b),
                    ok ? fmt::format("{:.3f}", ratio.value) : "-",
                    ok ? fmt::format("[{:.3f}, {:.3f}]", ratio.ci_low, ratio.ci_high) : "-",
                    outcome(round, bout)});
  }
  text += "\n\n" + markdown_table(rows) + "\n";
  for (const auto& line : bout.lints) text += "- " + line + '\n';
  if (bout.lints.empty()) text += "The rows show nothing unfair.\n";
  for (const auto& rule : bout.rules) text += fmt::format("\n{}.\n", rule);
  return text + '\n';
}

json to_json(const Bout& bout) {
  auto rounds = json::array();
  for (const auto& round : bout.rounds) {
    rounds.push_back(
        {{"problem", problem_of(round.pair.a->row_case())}, {"faster", outcome(round, bout)}});
    if (round.pair.ok()) rounds.back().update(ratio_json(round.pair.ratio));
  }
  return {{"a", bout.a},
          {"b", bout.b},
          {"a_faster", bout.a_faster},
          {"b_faster", bout.b_faster},
          {"neither", bout.equal},
          {"rounds", rounds},
          {"rules", bout.rules},
          {"lints", bout.lints}};
}

std::vector<Contestant> chosen(std::vector<Contestant> all, const std::vector<std::string>& names) {
  if (names.empty()) return all;
  if (names.size() != 2) throw input_error("--between: expected two methods");
  const auto known = transformed(all, &Contestant::name);
  return transformed(names, [&](const std::string& name) {
    return all[place_among(known, name, "--between: no rows of")];
  });
}

std::vector<Bout> bouts_of(const std::vector<Contestant>& all,
                           const std::vector<Contestant>& chosen_ones,
                           const std::vector<Calibration>& calibrations) {
  std::map<std::string, std::size_t> variants;
  for (const auto& one : all) ++variants[one.rows.front().method()];
  std::vector<Bout> bouts;
  for (std::size_t a = 0; a < chosen_ones.size(); ++a)
    for (std::size_t b = a + 1; b < chosen_ones.size(); ++b)
      bouts.push_back(referee(chosen_ones[a], chosen_ones[b], variants, calibrations));
  return bouts;
}

int referee_command(const Given& given) {
  const auto spec = measuring_spec(load_spec(given.positional("a spec"), given.profile()));
  std::vector<Row> rows;
  for_each_newest_row(
      required_results(given.texts("rows")), kMembersForReferee,
      [&](const Row& row) {
        if (text_of(row.row_case(), "artifact") == spec.artifact) rows.push_back(row);
      },
      Machines::each);
  const auto all = contestants(rows);
  const auto names = given.texts("between");
  const auto list = chosen(all, names);
  if (list.size() < 2)
    throw input_error(
        "{}: found rows of {} of {}, expected two or more; "
        "`retensor run` measures them, --rows names their file",
        spec.path, count_text(list.size(), "method"), spec.artifact);
  if (list.size() * (list.size() - 1) / 2 > kMostBouts)
    throw input_error(
        "{}: {} methods are too many for all pairs; name two: --between A "
        "B",
        spec.path, list.size());
  const auto bouts = bouts_of(all, list, calibrations_of(given));
  if (given.flag("json")) {
    std::cout << json(transformed(bouts, [](const Bout& bout) { return to_json(bout); })).dump(2)
              << '\n';
    return 0;
  }
  Labels labels;
  for (const auto& row : rows) labels.note(shown_problem(row.row_case()));
  std::cout << fmt::format("# {}\n\n", spec.title);
  for (const auto& bout : bouts) std::cout << page_of(bout, labels);
  return 0;
}

}  // namespace

Interface referee_interface() {
  const Usage usage{
      "referee SPEC",
      "Says for each pair of methods of a spec which is faster on which problem, from measured "
      "rows, and what makes the comparison unfair: wrong results, findings about external code, "
      "problems left out, different precision, preparation or zeroing on one side, the best of "
      "several variants, different caches, clocks, threads or machines. A pair with a finding "
      "decides nothing. The page is Markdown.",
      "retensor referee mine.yaml --rows rows.jsonl > referee.md", 1};
  Options add;
  add("rows", words("FILE..."),
      "result files and folders of them (default: the committed ones and those below out/results)");
  add("between", words("A B"),
      "only these two methods, with their parameters as the page shows them");
  add.calibration();
  add.profile();
  add.json();
  return {usage, add, referee_command};
}

}  // namespace retensor::driver
