#include "experiments/driver/run/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/run/labels.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

struct Tally {
  std::size_t rows = 0, ok = 0, fastest = 0;
  std::vector<double> over_fastest;  ///< on problems that another method solves too
  double spread = 0;
};

std::vector<Row> rows_of(const SweepResult& result) {
  auto rows = newest_rows({result.path}, {"stats"});
  std::erase_if(rows, [&](const Row& row) { return !result.keys.contains(row.key()); });
  return rows;
}

/// Rows with samples by what they compute.
std::map<std::string, std::vector<const Row*>> by_problem(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<const Row*>> problems;
  for (const auto& row : rows)
    if (row.ok() && row.field("stats.median").is_number())
      problems[problem_of(row.row_case()).dump() + row.device()].push_back(&row);
  return problems;
}

std::map<std::string, Tally> tallies_of(const std::vector<Row>& rows, const Labels& labels) {
  std::map<std::string, Tally> tallies;
  for (const auto& row : rows) {
    auto& tally = tallies[labels.method(row.row_case())];
    ++tally.rows;
    tally.ok += row.ok();
    if (const auto least = row.number("stats.min"); least > 0)
      tally.spread = std::max(tally.spread, row.number("stats.max") / least);
  }
  for (const auto& [problem, solved] : by_problem(rows)) {
    std::map<std::string, double> best;  // by method: the fastest of its launches
    for (const auto* row : solved) {
      const auto [at, fresh] =
          best.try_emplace(labels.method(row->row_case()), row->number("stats.median"));
      if (!fresh) at->second = std::min(at->second, row->number("stats.median"));
    }
    if (best.size() < 2) continue;
    const auto fastest = std::ranges::min_element(
        best, [](const auto& a, const auto& b) { return a.second < b.second; });
    ++tallies[fastest->first].fastest;
    for (const auto& [method, seconds] : best)
      tallies[method].over_fastest.push_back(seconds / fastest->second);
  }
  return tallies;
}

json failures_of(const std::vector<Row>& rows) {
  std::map<std::vector<std::string>, std::size_t> counts;
  for (const auto& row : rows)
    if (!row.ok())
      ++counts[{std::string(name(row.status())), row.method(), text_of(row.line(), "reason")}];
  auto list = json::array();
  for (const auto& [what, count] : counts)
    list.push_back(
        {{"status", what[0]}, {"method", what[1]}, {"reason", what[2]}, {"rows", count}});
  return list;
}

}  // namespace

double geometric_mean(std::span<const double> numbers) {
  double sum = 0;
  for (const auto number : numbers) sum += std::log(number);
  return std::exp(sum / static_cast<double>(numbers.size()));
}

json summary_of(const Plan& plan, const SweepResult& result) {
  const auto rows = rows_of(result);
  auto methods = json::array();
  for (const auto& [method, tally] : tallies_of(rows, Labels(plan.cases)))
    methods.push_back(
        {{"method", method},
         {"rows", tally.rows},
         {"ok", tally.ok},
         {"compared", tally.over_fastest.size()},
         {"fastest", tally.fastest},
         {"over_fastest",
          tally.over_fastest.empty() ? json() : json(geometric_mean(tally.over_fastest))},
         {"spread", tally.spread > 0 ? json(tally.spread) : json()}});
  std::stable_sort(methods.begin(), methods.end(), [](const json& a, const json& b) {
    return a["over_fastest"].is_number() &&
           (!b["over_fastest"].is_number() || a["over_fastest"] < b["over_fastest"]);
  });
  const auto ok = std::ranges::count_if(rows, [](const Row& row) { return row.ok(); });
  const auto beyond =
      std::ranges::count_if(plan.skips, [](const Skip& skip) { return skip.memory > 0; });
  return {{"skipped", {{"cases", plan.skips.size()}, {"memory", beyond}}},
          {"artifact", plan.artifact},
          {"file", result.path},
          {"rows", rows.size()},
          {"ok", ok},
          {"stored", result.stored},
          {"methods", methods},
          {"not_ok", failures_of(rows)}};
}

std::string summary_text(const json& summary) {
  const auto& style = talk_style();
  std::vector<TableRow> rows;
  for (const auto& m : summary["methods"]) {
    const bool compared = m["over_fastest"].is_number();
    rows.push_back(
        {m["method"], fmt::format("{} of {}", m["ok"].dump(), m["rows"].dump()),
         compared ? fmt::format("{} of {}", m["fastest"].dump(), m["compared"].dump()) : "-",
         compared ? fmt::format("{:.2f}x", m["over_fastest"].get<double>()) : "-",
         m["spread"].is_number() ? fmt::format("{:.2f}x", m["spread"].get<double>()) : "-"});
  }
  auto text = fmt::format("{}: {} of {} rows ok, {} of them measured earlier\n",
                          text_of(summary, "artifact"), summary["ok"].dump(),
                          summary["rows"].dump(), summary["stored"].dump());
  if (const auto cases = summary["skipped"]["cases"].get<Count>(); cases > 0) {
    text += count_text(cases, "case") + " skipped";
    if (const auto memory = summary["skipped"]["memory"].get<Count>(); memory > 0)
      text += fmt::format(", {} of them because of the memory that the spec allows", memory);
    text += "; `retensor plan` gives each reason\n";
  }
  if (!rows.empty())
    text += table_text({"method", "ok", "fastest", "time / fastest", "widest spread"}, rows, style);
  for (const auto& f : summary["not_ok"])
    text += fmt::format(
        "{} {} of {}: {}\n", f["rows"].dump(),
        style(f["status"] == "unsupported" ? Tone::doubtful : Tone::bad, text_of(f, "status")),
        text_of(f, "method"), text_of(f, "reason"));
  return text;
}

}  // namespace retensor::driver
