// retensor audit: what in a paper follows from its other figures and does not fit.
#include "experiments/driver/judge/audit/audit.hpp"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/locations.hpp"

namespace retensor::driver {

namespace {

const std::vector<std::string> kFindings = {"result", "choice"};

std::vector<Audit> audits_of(const std::vector<std::string>& papers) {
  return transformed(files_of_papers("findings", papers), [](const std::string& path) {
    return audit(load_findings(path, source_root()));
  });
}

std::string head_text(const Claimed& c) {
  const auto shown =
      c.test_case.empty() ? "" : fmt::format("  shown by {}, \"{}\"\n", c.source, c.test_case);
  return fmt::format("\n{} [{}, confidence {}]\n  {}: {}\n  {}: {}\n{}", c.id, c.severity,
                     c.confidence, c.says.place, c.says.text, c.against.place, c.against.text,
                     shown);
}

std::string outcome_text(const Outcome& o) {
  constexpr std::size_t kShown = 3;
  auto text = fmt::format("    {}{}left {:.5g}, right {:.5g}, left / right {:.4g}\n", o.row,
                          o.row.empty() ? "" : ": ", o.left.value, o.right.value,
                          o.left.value / o.right.value);
  for (std::size_t k = 0; k < std::min(kShown, o.misread.size()); ++k)
    text += fmt::format("      a digit misread? {}\n", o.misread[k]);
  if (o.misread.size() > kShown)
    text += fmt::format("      and {} other digits\n", o.misread.size() - kShown);
  return text;
}

std::string counts_text(const std::vector<Outcome>& outcomes) {
  const auto open = count(outcomes, Fit::open);
  return fmt::format("fits {} of {}", count(outcomes, Fit::fits), outcomes.size()) +
         (open == 0 ? "" : fmt::format(", {} open", open));
}

std::string rule_text(const RuleResult& result) {
  auto text = head_text(result.rule) +
              fmt::format("  {}: {}\n", result.rule.check.text, counts_text(result.outcomes));
  for (const auto& o : result.outcomes)
    if (o.fit == Fit::fails) text += outcome_text(o);
  for (std::size_t k = 0; k < result.instead.size(); ++k)
    text += fmt::format("  instead, {}: {}: {}\n", result.rule.instead[k].states,
                        result.rule.instead[k].check.text, counts_text(result.instead[k]));
  return text;
}

/// Findings first, then wording; with `all` the rules that fit too.
std::string audit_text(const Audit& audit, bool all) {
  std::string found, wording, fitting;
  const auto section = [&](const Claimed& c) -> std::string& {
    return c.severity == "wording" ? wording : found;
  };
  for (const auto& rule : audit.rules)
    (rule.is_finding() ? section(rule.rule) : fitting) += rule_text(rule);
  for (const auto& listing : audit.findings.listings) section(listing) += head_text(listing);
  return fmt::format(
             "{}: checks: {} fit, {} do not, {} open; findings: {} of wording, {} besides\n",
             audit.findings.paper, audit.count(Fit::fits), audit.count(Fit::fails),
             audit.count(Fit::open), audit.found({"wording"}), audit.found(kFindings)) +
         found + wording + (all ? fitting : "") + '\n';
}

nlohmann::json to_json(const std::vector<Audit>& audits) {
  return transformed(audits, [](const Audit& audit) { return driver::to_json(audit); });
}

}  // namespace

nlohmann::json audits(const std::vector<std::string>& papers) {
  return to_json(audits_of(papers));
}

namespace {

int audit_command(const Given& given) {
  const auto all = audits_of(given.positionals());
  if (given.flag("json")) {
    std::cout << to_json(all).dump(2) << '\n';
  } else {
    for (const auto& audit : all) std::cout << audit_text(audit, given.flag("all"));
  }
  const bool any = std::ranges::any_of(all, [](const Audit& a) { return a.found(kFindings) > 0; });
  return any && given.flag("strict") ? 1 : 0;
}

}  // namespace

Interface audit_interface() {
  const Usage usage{
      "audit [PAPER]...",
      "Checks the printed numbers of the papers (default: all) against each other: it recomputes "
      "numbers that follow from others, and lists those that do not fit and the faults of printed "
      "algorithms. A check stays open if rounding allows results that differ tenfold.",
      "retensor audit hlsto --all", -1};
  Options add;
  add("all", flag(), "list the checks that fit too");
  add("strict", flag(), "exit code 1 when there are findings other than of wording");
  add.json();
  return {usage, add, audit_command};
}

}  // namespace retensor::driver
