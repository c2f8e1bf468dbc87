// What of a paper's figures follows from other figures in it and does not fit. Computed from
// findings files; nothing here is typed in.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/judge/audit/findings.hpp"

namespace retensor::driver {

/// `open`: it fits, but so would a number ten times as large or small, or a cell is empty.
enum class Fit { fits, fails, open };

/// One evaluation of a rule.
struct Outcome {
  std::string row;  ///< empty for a rule without a table
  Fit fit = Fit::open;
  Estimate left, right;
  /// For one that fails: "table.row.column: 0.991% as 0.0991%", single digits read otherwise,
  /// missing or too many, with which it would fit and nothing that fits now would fail.
  std::vector<std::string> misread;
};

std::size_t count(const std::vector<Outcome>& outcomes, Fit fit);

struct RuleResult {
  Rule rule;
  std::vector<Outcome> outcomes;
  /// Of each reading of `instead` the outcomes of the same rows.
  std::vector<std::vector<Outcome>> instead;

  bool is_finding() const { return count(outcomes, Fit::fails) > 0; }
};

struct Audit {
  Findings findings;
  std::vector<RuleResult> rules;

  std::size_t count(Fit fit) const;
  /// Rules that fail and listings, of the severities given.
  std::size_t found(const std::vector<std::string>& severities) const;
};

/// Throws ParseError for a name that is neither a column, a figure nor a cell, or a function that
/// is none.
Audit audit(const Findings& findings);

/// `retensor audit --json`, one object a paper (experiments/schema).
nlohmann::json to_json(const Audit& audit);

}  // namespace retensor::driver
