// Each lint looks at the rows of both sides and says in a sentence what it sees, or nothing.
#include "experiments/driver/judge/referee.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "common/core/text.hpp"
#include "experiments/driver/run/labels.hpp"
#include "experiments/driver/run/progress.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// Preparation is told from here on: in runs, and over that of the other side.
constexpr double kRunsOfPreparation = 5, kPreparations = 5;
/// Orders of summation make errors differ by less.
constexpr double kErrors = 30;
/// Tensor cores cut off sums that others round: twice the error in the same type.
constexpr double kRoundings = 2.5;
constexpr double kZeroShare = 0.05;
constexpr double kEmptyStepShare = 0.05;

struct Sides {
  const Contestant &a, &b;
  const Comparison& comparison;
  const std::map<std::string, std::size_t>& variants;
};
using Lint = std::vector<std::string> (*)(const Sides&);

/// The median of a number over the rows of a side that are ok; 0 where there are none.
double typical(const Contestant& side, const std::function<double(const Row&)>& number) {
  std::vector<double> numbers;
  for (const auto& row : side.rows)
    if (row.ok()) numbers.push_back(number(row));
  return numbers.empty() ? 0 : summarise(numbers).median;
}

double typical(const Contestant& side, const char* path) {
  return typical(side, [path](const Row& row) { return row.number(path); });
}

std::size_t count(const Contestant& side, const std::function<bool(const Row&)>& has) {
  return static_cast<std::size_t>(std::ranges::count_if(side.rows, has));
}

std::string in_rows(std::size_t some, const Contestant& side) {
  return fmt::format("in {} of {} rows of {}", some, side.rows.size(), side.name);
}

/// What the rows of a side say at a path, as texts.
std::set<std::string> values(const Contestant& side, const char* path) {
  std::set<std::string> found;
  for (const auto& row : side.rows)
    if (const auto& value = row.field(path); row.ok() && !value.is_null())
      found.insert(plain_text(value));
  return found;
}

std::string listed(const std::set<std::string>& words) {
  return joined(std::vector<std::string>(words.begin(), words.end()), ", ");
}

/// The sentences of both sides.
std::vector<std::string> of_each(const Sides& s,
                                 const std::function<std::string(const Contestant&)>& sentence) {
  std::vector<std::string> lines;
  for (const auto* side : {&s.a, &s.b})
    if (auto line = sentence(*side); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> wrong_results(const Sides& s) {
  return of_each(s, [](const Contestant& side) {
    const auto wrong = count(side, [](const Row& r) { return r.status() == Status::wrong; });
    return wrong == 0 ? "" : fmt::format("Wrong results {}.", in_rows(wrong, side));
  });
}

/// Rows of older programs have the probes that a code declined among their findings.
bool declines_a_probe(const std::string& finding) {
  return finding.rfind("on a probe (", 0) == 0 &&
         finding.find(") it is unsupported: ") != std::string::npos;
}

/// What is doubtful about a row of external code.
std::vector<std::string> findings_of(const Row& row) {
  auto found = texts_at(row.line(), "findings");
  std::erase_if(found, declines_a_probe);
  return found;
}

/// What the code of a row does not take, which is no fault.
std::vector<std::string> declined_by(const Row& row) {
  auto declined = texts_at(row.line().value("foreign", json::object()), "probes_declined");
  for (auto& text : texts_at(row.line(), "findings"))
    if (declines_a_probe(text)) declined.push_back(std::move(text));
  return declined;
}

/// The texts of a side's rows, each once, with the number of rows.
std::vector<std::string> told_by_rows(
    const Sides& s, const char* what,
    const std::function<std::vector<std::string>(const Row&)>& texts) {
  std::vector<std::string> lines;
  for (const auto* side : {&s.a, &s.b}) {
    std::map<std::string, std::size_t> found;
    for (const auto& row : side->rows)
      for (const auto& text : texts(row)) ++found[text];
    std::size_t shown = 0;
    constexpr std::size_t kMostShown = 8;
    for (const auto& [text, rows] : found)
      if (++shown <= kMostShown)
        lines.push_back(fmt::format("{} {}: {}.", what, in_rows(rows, *side), text));
  }
  return lines;
}

/// What was seen while external code ran.
std::vector<std::string> findings(const Sides& s) {
  return told_by_rows(s, "Finding", findings_of);
}

std::vector<std::string> declined_probes(const Sides& s) {
  return told_by_rows(s, "A probe was declined, which is no fault,", declined_by);
}

std::vector<std::string> unchecked(const Sides& s) {
  return of_each(s, [](const Contestant& side) {
    const auto imported = count(side, [](const Row& r) { return !r.is_own(); });
    return imported == 0
               ? ""
               : fmt::format("Times measured by others, whose results nobody checked here, {}.",
                             in_rows(imported, side));
  });
}

std::vector<std::string> cases_left_out(const Sides& s) {
  const auto all =
      s.comparison.pairs.size() + s.comparison.only_a.size() + s.comparison.only_b.size();
  const auto failed = [&](const MeasuredPtr Pair::*side) {
    return std::ranges::count_if(s.comparison.pairs,
                                 [&](const Pair& pair) { return !(pair.*side)->failure.empty(); });
  };
  std::vector<std::string> lines;
  const auto add = [&](const std::string& name, std::size_t missing, std::size_t not_ok) {
    if (missing + not_ok > 0)
      lines.push_back(
          fmt::format("{} has no time on {} of {} problems: {} without a row, {} not "
                      "ok.",
                      name, missing + not_ok, all, missing, not_ok));
  };
  add(s.a.name, s.comparison.only_b.size(), static_cast<std::size_t>(failed(&Pair::a)));
  add(s.b.name, s.comparison.only_a.size(), static_cast<std::size_t>(failed(&Pair::b)));
  return lines;
}

/// What the check allowed: the arithmetic that each side declares.
std::vector<std::string> declared_precision(const Sides& s) {
  const auto coarsest = [](const Contestant& side, const char* path) {
    double most = 0;
    for (const auto& row : side.rows) most = std::max(most, row.number(path));
    return most;
  };
  std::vector<std::string> lines;
  for (const auto& [path, what] :
       {std::pair("arithmetic.operand_eps", "Operands are rounded by up to"),
        std::pair("arithmetic.accumulate_eps", "Sums are rounded by up to")}) {
    const auto a = coarsest(s.a, path), b = coarsest(s.b, path);
    if (std::max(a, b) > kRoundings * std::min(a, b))
      lines.push_back(fmt::format("{} {:.2g} for {} and {:.2g} for {}, as they declare.", what, a,
                                  s.a.name, b, s.b.name));
  }
  return lines;
}

std::vector<std::string> precision(const Sides& s) {
  const auto error = [](const Contestant& side) {
    return typical(side, "check.relative_frobenius");
  };
  const auto a = error(s.a), b = error(s.b);
  if (a <= 0 || b <= 0 || std::max(a, b) < kErrors * std::min(a, b)) return {};
  return {
      fmt::format("They compute with different precision: the relative error of {} is {:.2g}, "
                  "that of {} {:.2g}.",
                  s.a.name, a, s.b.name, b)};
}

std::vector<std::string> preparation(const Sides& s) {
  const auto prepare = [](const Contestant& side) { return typical(side, "phases.prepare"); };
  const auto run = [](const Contestant& side) { return typical(side, "stats.median"); };
  const auto tell = [&](const Contestant& side, const Contestant& other) -> std::string {
    const auto mine = prepare(side), theirs = prepare(other), gained = run(other) - run(side);
    if (run(side) <= 0 || mine < kRunsOfPreparation * run(side) || mine < kPreparations * theirs)
      return "";
    return fmt::format(
        "{} prepares (its format, reordering, tuning) for {}, {:.0f} of its runs, {} "
        "for {}; no time includes that.{}",
        side.name, duration_text(mine), mine / run(side), other.name, duration_text(theirs),
        gained > 0
            ? fmt::format(" It pays off after {:.0f} runs.", std::ceil((mine - theirs) / gained))
            : "");
  };
  std::vector<std::string> lines;
  for (auto& line : {tell(s.a, s.b), tell(s.b, s.a)})
    if (!line.empty()) lines.push_back(line);
  return lines;
}

std::vector<std::string> best_of_variants(const Sides& s) {
  const auto tries = [&](const Contestant& side) {
    const auto found = s.variants.find(side.rows.front().method());
    return found == s.variants.end() ? std::size_t{1} : found->second;
  };
  const auto a = tries(s.a), b = tries(s.b);
  if (a == b) return {};
  const auto& more = a > b ? s.a : s.b;
  return {
      fmt::format("{} is one of {} variants that were measured, the other one of {}: whoever "
                  "shows the best of them for each problem gives it more tries.",
                  more.name, std::max(a, b), std::min(a, b))};
}

std::vector<std::string> zeroing(const Sides& s) {
  const auto share = [](const Contestant& side) {
    return typical(side, [](const Row& row) {
      const auto zero = numbers_in(row.field("phases.stages.zero"));
      const auto run = row.number("stats.median");
      return zero.empty() || run <= 0 ? 0 : summarise(zero).median / run;
    });
  };
  const auto a = share(s.a), b = share(s.b);
  if (std::max(a, b) < kZeroShare || std::min(a, b) > 0) return {};
  const auto& zeroes = a > b ? s.a : s.b;
  const auto& other = a > b ? s.b : s.a;
  return {fmt::format("{:.0f}% of the time of {} is zeroing its output; {} reports no such stage.",
                      100 * std::max(a, b), zeroes.name, other.name)};
}

std::vector<std::string> warmth(const Sides& s) {
  const auto a = values(s.a, "cache"), b = values(s.b, "cache");
  std::vector<std::string> lines;
  if (!a.empty() && !b.empty() && a != b)
    lines.push_back(fmt::format("Caches are {} for {} and {} for {}.", listed(a), s.a.name,
                                listed(b), s.b.name));
  const auto outside = [](const Contestant& side) {
    return count(side, [](const Row& row) { return row.row_case().contains("foreign"); }) > 0;
  };
  if (outside(s.a) != outside(s.b))
    lines.push_back(
        fmt::format("{} loads other operands before each run, {} runs back to back: on small "
                    "problems the latter has warmer caches.",
                    (outside(s.a) ? s.a : s.b).name, (outside(s.a) ? s.b : s.a).name));
  return lines;
}

std::vector<std::string> clocks(const Sides& s) {
  return of_each(s, [](const Contestant& side) -> std::string {
    const auto rough = count(side, [](const Row& row) {
      return text_of(row.line().value("foreign", json::object()), "times") == "outside" &&
             row.number("foreign.empty_step") > kEmptyStepShare * row.number("stats.median");
    });
    return rough == 0 ? ""
                      : fmt::format(
                            "Times by ReTensor's clock, of which an empty step may take more than "
                            "{:.0f}%, {}.",
                            100 * kEmptyStepShare, in_rows(rough, side));
  });
}

std::vector<std::string> threads(const Sides& s) {
  const auto a = values(s.a, "executed.threads"), b = values(s.b, "executed.threads");
  if (a.empty() || b.empty() || a == b) return {};
  return {fmt::format("Threads: {} for {}, {} for {}.", listed(a), s.a.name, listed(b), s.b.name)};
}

std::vector<std::string> machines_and_noise(const Sides& s) {
  auto lines = s.comparison.warnings();
  for (auto& line : lines) {
    line.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(line.front())));
    line += '.';
  }
  const auto a = values(s.a, "session"), b = values(s.b, "session");
  if (std::ranges::none_of(a, [&](const auto& id) { return b.count(id) != 0; }))
    lines.emplace_back("No session measured both: clocks and load may have differed.");
  return lines;
}

constexpr std::array<Lint, 14> kLints = {
    wrong_results,  findings,           declined_probes, unchecked,
    cases_left_out, declared_precision, precision,       preparation,
    zeroing,        best_of_variants,   warmth,          clocks,
    threads,        machines_and_noise};

/// Why a pair decides nothing, whatever its ratio.
std::string objection(const Pair& pair, const std::set<std::string>& doubtful) {
  if (!pair.ok()) return "not ok";
  if (doubtful.count(pair.a->key) + doubtful.count(pair.b->key) > 0) return "a finding";
  if (!pair.one_machine()) return "different machines";
  if (pair.a->row_case()["cache"] != pair.b->row_case()["cache"]) return "different caches";
  if (pair.change == Change::undecided)
    return "no difference counts with " +
           sides_text(std::min(pair.a->samples.size(), pair.b->samples.size()));
  return pair.change == Change::too_few || pair.change == Change::too_noisy ? name(pair.change)
                                                                            : "";
}

std::set<std::string> rows_with_findings(const Contestant& side) {
  std::set<std::string> keys;
  for (const auto& row : side.rows)
    if (!findings_of(row).empty()) keys.insert(row.key());
  return keys;
}

}  // namespace

const Members kMembersForReferee = {"phases",   "stats",   "check",    "arithmetic", "executed",
                                    "findings", "foreign", "cpu_load", "clock_flag", "gpu_state"};

std::vector<Contestant> contestants(const std::vector<Row>& rows) {
  Labels labels;
  for (const auto& row : rows) labels.note(row.row_case());
  std::map<std::string, Contestant> by_name;
  for (const auto& row : rows) {
    const auto name = labels.method(row.row_case());
    by_name[name].name = name;
    by_name[name].rows.push_back(row);
  }
  std::vector<Contestant> list;
  for (auto& [name, contestant] : by_name) list.push_back(std::move(contestant));
  return list;
}

Bout referee(const Contestant& a, const Contestant& b,
             const std::map<std::string, std::size_t>& variants,
             const std::vector<Calibration>& calibrations) {
  CompareOptions options;
  options.calibrations = calibrations;
  options.ignore = {"params", "cache", "order"};
  options.method_a = a.rows.front().method();
  options.method_b = b.rows.front().method();
  Side left(options, options.method_a), right(options, options.method_b);
  for (const auto& row : a.rows) left.add(row);
  for (const auto& row : b.rows) right.add(row);
  const auto comparison = compare_sides(left, right, options);
  auto doubtful = rows_with_findings(a);
  doubtful.merge(rows_with_findings(b));
  Bout bout{a.name, b.name, {}, 0, 0, 0, comparison.mean_ratio(), {}, comparison.rules};
  for (const auto& pair : comparison.pairs) {
    bout.rounds.push_back({pair, objection(pair, doubtful)});
    if (!bout.rounds.back().undecided.empty()) continue;
    bout.a_faster += pair.change == Change::slower;
    bout.b_faster += pair.change == Change::faster;
    bout.equal += pair.change == Change::none;
  }
  const Sides sides{a, b, comparison, variants};
  for (const auto lint : kLints)
    for (auto& line : lint(sides)) bout.lints.push_back(std::move(line));
  return bout;
}

}  // namespace retensor::driver
