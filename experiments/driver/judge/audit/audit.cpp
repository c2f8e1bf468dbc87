// Rules are evaluated row by row. Which misread digit would explain a failure is found by trial:
// each cell that the rule used, with each digit changed, against all rules.
#include "experiments/driver/judge/audit/audit.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <boost/algorithm/string.hpp>

#include "common/core/message.hpp"
#include "common/core/text.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// A figure in the findings: of a table by row and column, or one of its own.
struct Address {
  std::string name;  ///< table or figure
  bool in_table = false;
  std::size_t row = 0, column = 0;
  auto operator<=>(const Address&) const = default;
};

using Used = std::set<Address>;

/// `f` is Findings or const Findings.
template <class F>
auto& at(F& f, const Address& a) {
  return a.in_table ? f.tables.at(a.name).cells[a.row][a.column] : f.figures.at(a.name).cell;
}

std::string text(const Findings& f, const Address& a) {
  if (!a.in_table) return a.name;
  const auto& t = f.tables.at(a.name);
  return fmt::format("{}.{}.{}", a.name, t.rows[a.row], t.columns[a.column]);
}

template <class Words>
std::optional<std::size_t> position(const Words& words, const std::string& word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return {};
  return static_cast<std::size_t>(found - words.begin());
}

/// How far a printed number may lie from what it stands for: half a unit of its last digit, or a
/// whole one where a paper rounds up or down.
enum class Rounding { nearest, any };

std::optional<Estimate> rounded(const std::optional<Estimate>& number, Rounding rounding) {
  if (!number || rounding == Rounding::any) return number;
  const auto& [low, value, high] = *number;
  return Estimate{(low + value) / 2, value, (value + high) / 2};
}

/// The names of a paper, with a row of a table at hand or, where that has no name, without. Notes
/// in `used` what was asked.
class Figures : public Names {
 public:
  Figures(const Findings& f, Rounding rounding, Used& used, const std::string& table,
          std::size_t row)
      : f_(f), rounding_(rounding), used_(used), table_(table), row_(row) {}

  std::optional<Estimate> value(const std::string& name) const override {
    std::vector<std::string> parts;
    boost::split(parts, name, boost::is_any_of("."));
    const auto address = parts.size() == 1   ? plain(name)
                         : parts.size() == 2 ? in_row(parts[0], row_name(), parts[1])
                         : parts.size() == 3 ? in_row(parts[0], parts[1], parts[2])
                                             : std::optional<Address>();
    if (!address)
      throw input_error(
          "found name '{}', expected a column, a figure, table.column or "
          "table.row.column{}",
          name, suggestion(name, known()));
    used_.insert(*address);
    return rounded(at(f_, *address).number, rounding_);
  }

  std::vector<std::unique_ptr<Names>> rows(const std::string& table) const override {
    const auto found = f_.tables.find(table);
    if (found == f_.tables.end())
      throw input_error("unknown table '{}'{}", table, suggestion(table, known()));
    std::vector<std::unique_ptr<Names>> all;
    for (std::size_t r = 0; r < found->second.rows.size(); ++r)
      all.push_back(std::make_unique<Figures>(f_, rounding_, used_, table, r));
    return all;
  }

 private:
  std::string row_name() const { return table_.empty() ? "" : f_.tables.at(table_).rows[row_]; }

  std::optional<Address> plain(const std::string& name) const {
    if (!table_.empty())
      if (const auto column = position(f_.tables.at(table_).columns, name))
        return Address{table_, true, row_, *column};
    if (f_.figures.count(name) == 0) return {};
    return Address{name};
  }

  std::optional<Address> in_row(const std::string& table, const std::string& row,
                                const std::string& column) const {
    const auto found = f_.tables.find(table);
    if (found == f_.tables.end()) return {};
    const auto r = position(found->second.rows, row), c = position(found->second.columns, column);
    if (!r || !c) return {};
    return Address{table, true, *r, *c};
  }

  std::vector<std::string> known() const {
    std::vector<std::string> names;
    for (const auto& [name, figure] : f_.figures) names.push_back(name);
    for (const auto& [name, t] : f_.tables) {
      names.push_back(name);
      for (const auto& column : t.columns) {
        names.push_back(name + "." + column);
        if (name == table_) names.push_back(column);
      }
    }
    return names;
  }

  const Findings& f_;
  Rounding rounding_;
  Used& used_;
  std::string table_;
  std::size_t row_ = 0;
};

Outcome judged(const Check& check, const std::optional<Estimate>& left,
               const std::optional<Estimate>& right) {
  Outcome outcome;
  if (!left || !right) return outcome;
  outcome.left = *left;
  outcome.right = *right;
  if (!related(*left, check.relation, *right))
    outcome.fit = Fit::fails;
  else if (check.relation == "==" || (!is_coarse(*left) && !is_coarse(*right)))
    outcome.fit = Fit::fits;
  return outcome;
}

Outcome evaluated(const Findings& f, const Rule& rule, const Check& check, std::size_t row,
                  Rounding rounding, Used& used) {
  const Figures names(f, rounding, used, rule.table, row);
  return in_context(fmt::format("{}:{}: {}", f.file, rule.at.line, rule.id), [&] {
    auto outcome = judged(check, evaluate(check.left, names), evaluate(check.right, names));
    if (!rule.table.empty()) outcome.row = f.tables.at(rule.table).rows[row];
    return outcome;
  });
}

/// What fits with one of the two ways of rounding alone is open.
Outcome evaluated(const Findings& f, const Rule& rule, const Check& check, std::size_t row,
                  Used& used) {
  auto outcome = evaluated(f, rule, check, row, Rounding::nearest, used);
  const auto other = evaluated(f, rule, check, row, Rounding::any, used);
  if (outcome.fit != other.fit) outcome.fit = Fit::open;
  return outcome;
}

/// The rows at which a rule is evaluated; one of no table for a rule without.
std::vector<std::size_t> places(const Rule& rule) {
  return rule.table.empty() ? std::vector<std::size_t>{0} : rule.rows;
}

std::vector<Outcome> outcomes(const Findings& f, const Rule& rule, const Check& check) {
  std::vector<Outcome> all;
  Used used;
  for (const auto row : places(rule)) all.push_back(evaluated(f, rule, check, row, used));
  return all;
}

/// Whether a zero stands before another digit, as no paper prints it.
bool is_padded(const std::string& number) {
  return number.size() > 1 && number[0] == '0' &&
         std::isdigit(static_cast<unsigned char>(number[1])) != 0;
}

/// Twice the unit of the last digit, 0 for an exact number.
double last_unit(const Estimate& x) {
  return x.high - x.low;
}

/// The number with one digit replaced, left out or put in, never with fewer decimals.
std::vector<Cell> one_digit_otherwise(const Cell& printed) {
  std::vector<Cell> all;
  const auto& text = printed.text;
  const auto add = [&](const std::string& candidate) {
    const auto number = parse_printed(candidate);
    if (!number || candidate[0] == '.' || is_padded(candidate)) return;
    if (last_unit(*number) <= last_unit(*printed.number)) all.push_back({candidate, number, false});
  };
  for (std::size_t k = 0; k <= text.size(); ++k) {
    const auto before = text.substr(0, k), after = text.substr(std::min(k + 1, text.size()));
    const bool digit = k < text.size() && std::isdigit(static_cast<unsigned char>(text[k])) != 0;
    for (char d = '0'; digit && d <= '9'; ++d)
      if (d != text[k]) add(before + d + after);
    if (digit) add(before + after);
    for (char d = '0'; d <= '9'; ++d) add(before + d + text.substr(k));
  }
  return all;
}

/// Whether a check still fits at all places where it did.
bool still_fits(const Findings& f, const Rule& rule, const Check& check,
                const std::vector<Outcome>& before) {
  Used used;
  for (std::size_t k = 0; k < before.size(); ++k)
    if (before[k].fit == Fit::fits &&
        evaluated(f, rule, check, places(rule)[k], used).fit != Fit::fits)
      return false;
  return true;
}

/// The same of all checks, and of the readings of all rules but `rule`, which they may replace.
bool all_still_fit(const Findings& f, const std::vector<RuleResult>& results, const Rule& rule) {
  return std::ranges::all_of(results, [&](const RuleResult& result) {
    for (std::size_t k = 0; k < result.instead.size(); ++k)
      if (result.rule.id != rule.id &&
          !still_fits(f, result.rule, result.rule.instead[k].check, result.instead[k]))
        return false;
    return still_fits(f, result.rule, result.rule.check, result.outcomes);
  });
}

/// Readings of single digits that explain why `rule` fails at `row`.
std::vector<std::string> misreadings(Findings f, const Rule& rule, std::size_t row,
                                     const std::vector<RuleResult>& results) {
  std::vector<std::string> found;
  Used used, again;
  evaluated(f, rule, rule.check, row, used);
  for (const auto& address : used) {
    const auto printed = at(f, address);
    if (!printed.number || printed.certain) continue;
    for (const auto& candidate : one_digit_otherwise(printed)) {
      at(f, address) = candidate;
      if (evaluated(f, rule, rule.check, row, again).fit == Fit::fits &&
          all_still_fit(f, results, rule))
        found.push_back(
            fmt::format("{}: {} as {}", text(f, address), printed.text, candidate.text));
    }
    at(f, address) = printed;
  }
  return found;
}

/// Interval ends and quotients may be infinite, which JSON has no number for.
json finite(double x) {
  return std::isfinite(x) ? json(x) : json();
}

const char* name(Fit fit) {
  return fit == Fit::fits ? "fits" : fit == Fit::fails ? "does not fit" : "open";
}

}  // namespace

// What a list of these becomes where it is handed to json.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Statement, place, text)

void to_json(json& j, const Estimate& e) {
  j = {{"value", finite(e.value)}, {"low", finite(e.low)}, {"high", finite(e.high)}};
}

void to_json(json& j, const Claimed& claimed) {
  const bool shown = !claimed.test_case.empty();
  j = {{"id", claimed.id},
       {"says", claimed.says},
       {"against", claimed.against},
       {"severity", claimed.severity},
       {"confidence", claimed.confidence},
       {"test", shown ? json{{"file", claimed.source}, {"case", claimed.test_case}} : json()}};
}

void to_json(json& j, const Outcome& o) {
  j = {{"row", o.row},
       {"status", name(o.fit)},
       {"left", o.left},
       {"right", o.right},
       {"ratio", finite(o.left.value / o.right.value)},
       {"misread", o.misread}};
}

void to_json(json& j, const RuleResult& result) {
  j = static_cast<const Claimed&>(result.rule);
  j["check"] = result.rule.check.text;
  j["table"] = result.rule.table;
  j["status"] = result.is_finding() ? "does not fit" : "fits";
  j["rows"] = result.outcomes;
  j["instead"] = json::array();
  for (std::size_t k = 0; k < result.instead.size(); ++k)
    j["instead"].push_back({{"states", result.rule.instead[k].states},
                            {"check", result.rule.instead[k].check.text},
                            {"rows", result.instead[k]}});
}

std::size_t count(const std::vector<Outcome>& outcomes, Fit fit) {
  return static_cast<std::size_t>(
      std::ranges::count_if(outcomes, [&](const auto& o) { return o.fit == fit; }));
}

std::size_t Audit::count(Fit fit) const {
  std::size_t sum = 0;
  for (const auto& rule : rules) sum += driver::count(rule.outcomes, fit);
  return sum;
}

std::size_t Audit::found(const std::vector<std::string>& severities) const {
  const auto wanted = [&](const Claimed& c) {
    return position(severities, c.severity).has_value();
  };
  const auto failing =
      std::ranges::count_if(rules, [&](const auto& r) { return r.is_finding() && wanted(r.rule); });
  return static_cast<std::size_t>(failing + std::ranges::count_if(findings.listings, wanted));
}

Audit audit(const Findings& findings) {
  Audit result{findings, {}};
  for (const auto& rule : findings.rules) {
    auto& entry =
        result.rules.emplace_back(RuleResult{rule, outcomes(findings, rule, rule.check), {}});
    for (const auto& reading : rule.instead)
      entry.instead.push_back(outcomes(findings, rule, reading.check));
  }
  for (auto& entry : result.rules)
    for (std::size_t k = 0; k < entry.outcomes.size(); ++k)
      if (entry.outcomes[k].fit == Fit::fails)
        entry.outcomes[k].misread =
            misreadings(findings, entry.rule, places(entry.rule)[k], result.rules);
  return result;
}

json to_json(const Audit& audit) {
  json listings = audit.findings.listings;
  for (auto& listing : listings) listing["status"] = "shown by a test";
  return {{"paper", audit.findings.paper},
          {"fit", audit.count(Fit::fits)},
          {"fail", audit.count(Fit::fails)},
          {"open", audit.count(Fit::open)},
          {"findings", audit.found({"result", "choice"})},
          {"wording", audit.found({"wording"})},
          {"rules", audit.rules},
          {"listings", listings}};
}

}  // namespace retensor::driver
