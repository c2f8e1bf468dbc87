// What rows say of a claim.
#include "experiments/driver/judge/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "common/core/text.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/row.hpp"

namespace retensor::driver {

using nlohmann::json;

namespace {

constexpr auto kNoRows = "no rows yet";
constexpr std::array<std::string_view, 10> kWords = {
    "reproduced",        "deviates",  "consistent", "inconsistent", "transfers",
    "does not transfer", "undecided", "fitted",     "not tested",   "contradicts itself"};

/// The kind of a row's data; real data, also a real pattern, that the claim's paper does not use is
/// "other real".
std::string data_kind(const Row& row, const std::string& paper) {
  const auto& kind = row.field("case.data.kind");
  if (!kind.is_string()) return "unknown";
  if (kind != "real" && kind != "real pattern") return kind;
  const auto& papers = row.field("case.data.papers");
  const bool of_paper =
      papers.is_array() && std::find(papers.begin(), papers.end(), json(paper)) != papers.end();
  return of_paper ? kind.get<std::string>() : "other real";
}

/// 0 for the paper's data; the larger, the less a verdict on it says.
int weakness(const std::string& kind) {
  const auto& order = verdict_data();
  return static_cast<int>(std::ranges::find(order, kind) - order.begin());
}

bool within(const Claim& claim, double value) {
  const auto& [low, high] = claim.interval;
  const auto& tolerance = claim.tolerance;
  const auto slack = [&](double end) {
    return std::isinf(end) ? 0 : tolerance.absolute + tolerance.relative * std::abs(end);
  };
  // A published decimal has no exact binary form.
  const double rounding = 1e-12 * std::abs(value);
  return value >= low / tolerance.factor - slack(low) - rounding &&
         value <= high * tolerance.factor + slack(high) + rounding;
}

/// A ratio that is published on one side of 1 says that something is more, or less: 1 for more, -1
/// for less, 0 for neither.
int direction(const Claim& claim) {
  const auto& [low, high] = claim.interval;
  if (claim.asks != "measurement" || !claim.query->ratio_to || (low == 1 && high == 1)) return 0;
  if (low >= 1) return 1;
  return high <= 1 ? -1 : 0;
}

/// Never on the other side of 1, whatever the tolerance, and undecided where the interval has 1 in
/// it.
Decision outcome_of(const Claim& claim, const Estimate& found) {
  const auto side = direction(claim);
  const auto fits = [&](double x) { return within(claim, x) && side * (x - 1) >= 0; };
  if (side != 0 && found.low < 1 && found.high > 1 &&
      (fits(found.low) || fits(found.value) || fits(found.high)))
    return Decision::undecided;
  return fits(found.value) ? Decision::holds : Decision::fails;
}

/// A share of cases in order, with the cases that may be.
Decision outcome_of_order(const Claim& claim, const Estimate& share) {
  const bool low = within(claim, share.low), high = within(claim, share.high);
  if (low && high) return Decision::holds;
  const bool between = share.low < claim.interval.low && share.high > claim.interval.high;
  return low || high || between ? Decision::undecided : Decision::fails;
}

/// "From a to b" is a statement about each case.
bool is_case_by_case(const Claim& claim) {
  return claim.published.contains("range");
}

Decision outcome_of(const Claim& claim, const Answer& found) {
  if (!claim.query->orders.empty()) return outcome_of_order(claim, found.number);
  if (!is_case_by_case(claim) || found.cases.empty()) return outcome_of(claim, found.number);
  auto worst = Decision::holds;
  for (const auto& one : found.cases) {
    const auto outcome = outcome_of(claim, one);
    if (outcome == Decision::fails) return outcome;
    if (outcome == Decision::undecided) worst = outcome;
  }
  return worst;
}

/// An error that a method has by itself; errors that are compared may be large.
bool bounds_errors(const Query& query) {
  return reads_errors(query) && !query.compares();
}

Decision decided(const Claim& claim, const Answer& found, const std::vector<Taken>& parts) {
  const bool wrong = bounds_errors(*claim.query) && parts.front().wrong > 0;
  return wrong ? Decision::fails : outcome_of(claim, found);
}

bool names_data(const Selection& where) {
  return std::ranges::any_of(where, [](const auto& condition) {
    return boost::ends_with(condition.first, "dataset") ||
           boost::contains(condition.first, "data.");
  });
}

/// A list of data sets is a promise about all of them.
void expect_all_datasets(const Selection& where, const Rows& counted) {
  for (const std::string path : {"dataset", "case.dataset"}) {
    const auto condition = where.find(path);
    if (condition == where.end()) continue;
    const auto& named = condition->second;
    const auto present = std::ranges::count_if(named, [&](const json& name) {
      return std::ranges::any_of(counted, [&](const Row* row) { return row->field(path) == name; });
    });
    if (static_cast<std::size_t>(present) < named.size())
      throw NotTested(
          fmt::format("rows for {} of {} data sets that the query names", present, named.size()));
  }
}

std::string hardware_of(const Claim& claim, const std::string& device) {
  if (claim.hardware == "any") return "any";
  return boost::icontains(device, claim.hardware) ? "paper" : "other";
}

Verdict::Word word_of(const Claim& claim, const Verdict& v, Decision outcome) {
  if (outcome == Decision::undecided) return Verdict::undecided;
  const bool held = outcome == Decision::holds;
  if (held && v.named < claim.whole) return Verdict::consistent;
  if (v.hardware == "other") return held ? Verdict::transfers : Verdict::does_not_transfer;
  if (v.data == "real") return held ? Verdict::reproduced : Verdict::deviates;
  return held ? Verdict::consistent : Verdict::inconsistent;
}

/// Times and rates are compared across machines as ratios alone, and never between a GPU and the
/// processor that emulates it.
void expect_comparable(const Claim& claim, const Verdict& v, const Rows& rows) {
  if (v.hardware != "other") return;
  const bool gpu_claim = claim.hardware_kind == "gpu";
  if (!claim.hardware_kind.empty() && std::ranges::any_of(rows, [&](const Row* row) {
        return (row->backend() == Backend::cuda) != gpu_claim;
      }))
    throw NotTested(fmt::format("the claim is about a {}, the rows are from a {}",
                                claim.hardware_kind, gpu_claim ? "cpu" : "gpu"));
  if (!claim.query->compares())
    throw NotTested(fmt::format("needs {}: an absolute value does not transfer to {}",
                                claim.hardware, v.machine));
}

/// Rows that are ok; of a claim about errors those that are wrong too.
bool counts(const Row& row, const Query& query) {
  return row.ok() || (reads_errors(query) && row.status() == Status::wrong);
}

/// A method that should have had a result and has none, or a wrong one. What declines a case and
/// what lacks its data tells nothing of the method.
bool is_broken(const Row& row) {
  const auto status = row.status();
  return status == Status::wrong || status == Status::crashed || status == Status::oom ||
         status == Status::timeout;
}

/// What a form of the project's own does says nothing about a paper, unless the claim sets it
/// beside the paper's.
bool may_judge(const Row& row, const Claim& claim, const Selection& where) {
  const bool any = claim.any_form || claim.paper == kProject || where.count("form") > 0;
  if (any || row.field("form") == kPublishedForm) return true;
  return !claim.can_fail() && !boost::ends_with(row.method(), ".tuned");
}

/// Rows whose counters nobody took say nothing of them.
bool lacks_counters(const Row& row, const Part& part) {
  return row.ok() && boost::starts_with(part.value, "profile.") && row.field(part.value).is_null();
}

/// Takes the part's rows, or throws NotTested with the reason why none counts.
Rows rows_of(const Part& part, const Rows& group, const Claim& claim, Verdict& v) {
  Rows counted;
  std::string first_failure;
  for (const auto* row : group) {
    if (!matches(*row, part.where) || !may_judge(*row, claim, part.where)) continue;
    ++v.of;
    if (lacks_counters(*row, part)) {
      v.failures.insert(fmt::format("{} on {}: no counters", row->method(), row->dataset()));
      continue;
    }
    if (counts(*row, *claim.query)) {
      counted.push_back(row);
      continue;
    }
    v.broken += is_broken(*row);
    v.failures.insert(fmt::format("{} on {}: {}", row->method(), row->dataset(), row->failure()));
    if (first_failure.empty()) first_failure = row->failure();
  }
  v.rows += counted.size();
  for (const auto* row : counted) {
    v.keys.push_back(row->key());
    ++v.currency[std::string(name(row->currency()))];
    v.stale += row->is_stale();
    const auto data = data_kind(*row, claim.paper);
    if (v.data.empty() || weakness(data) > weakness(v.data)) v.data = data;
  }
  if (counted.empty())
    throw NotTested(first_failure.empty() ? kNoRows
                                          : "no matching row is ok; the first is " + first_failure);
  expect_all_datasets(part.where, counted);
  return counted;
}

/// The tensors of the claim's paper that rows are about, themselves or in stand-ins.
std::size_t named_of(const Claim& claim, const Rows& rows, const DataSets& data) {
  std::set<std::string> named;
  for (const auto* row : rows) {
    const auto original = data.original.find(row->dataset());
    if (original == data.original.end()) continue;
    const auto papers = data.papers.find(original->second);
    if (papers != data.papers.end() && papers->second.count(claim.paper) > 0)
      named.insert(original->second);
  }
  return named.size();
}

bool is_fitted(const Claim& claim, const Rows& rows, const DataSets& data) {
  return !claim.fitted.empty() || std::ranges::any_of(rows, [&](const Row* row) {
    const auto known = data.fitted_to.find(row->dataset());
    return known != data.fitted_to.end() && known->second.count(claim.id) > 0;
  });
}

/// What the number alone does not say.
std::string reason_of(const Claim& claim, const Verdict& v, Decision outcome) {
  std::vector<std::string> parts;
  if (v.word == Verdict::fitted)
    return claim.fitted.empty() ? "a stand-in was fitted to it" : claim.fitted;
  if (v.wrong > 0) parts.push_back(fmt::format("{} of {} rows are wrong", v.wrong, v.rows));
  if (!v.times_count) {
    parts.push_back("no difference between times counts on this machine, by its calibration");
  } else if (!claim.query->orders.empty()) {
    static const std::map<Decision, std::string> said = {
        {Decision::holds, "ordering holds"},
        {Decision::fails, "ordering fails"},
        {Decision::undecided, "intervals of an ordering overlap"}};
    parts.push_back(said.at(outcome));
  } else if (is_case_by_case(claim)) {
    const auto [least, most] =
        std::ranges::minmax_element(v.cases, [](auto& a, auto& b) { return a.value < b.value; });
    parts.push_back(fmt::format("{} of {} cases inside, {:.4g} to {:.4g}", v.inside, v.cases.size(),
                                least->value, most->value));
  } else if (outcome == Decision::undecided && v.broken == 0) {
    parts.push_back(fmt::format("between {:.4g} and {:.4g}", v.measured->low, v.measured->high));
  }
  if (v.broken > 0)
    parts.push_back(fmt::format("{} of {} rows have no right result", v.broken, v.of));
  if (v.named < claim.whole)
    parts.push_back(fmt::format("subset: {} of {} data sets", v.named, claim.whole));
  for (const auto& one : v.excluded) parts.push_back(text_of(one));
  return boost::join(parts, "; ");
}

/// The verdict on rows that may stand together.
Verdict judge_group(const Claim& claim, const Rows& group, const DataSets& data,
                    const std::vector<LeftOut>& excluded) {
  const auto& query = *claim.query;
  Verdict v;
  v.competitor = query.compares() ? query.competitor : "";
  v.machine = group.front()->device();
  v.hardware = hardware_of(claim, v.machine);
  Rows used;
  auto outcome = Decision::undecided;
  try {
    for (const auto& part : parts_of(query)) {
      const auto counted = rows_of(part, group, claim, v);
      used.insert(used.end(), counted.begin(), counted.end());
      v.taken.push_back(read_rows(counted, part));
      if (!reads_times(part)) continue;
      for (const auto* row : counted) {
        const auto& reach = row->between_launches();
        v.times_count = v.times_count && reach.has_value();
        v.between_launches = std::max(v.between_launches, std::expm1(reach.value_or(0)));
      }
    }
    expect_comparable(claim, v, used);
    const auto found = answer(query, v.taken);
    outcome = v.times_count ? decided(claim, found, v.taken) : Decision::undecided;
    if (outcome == Decision::holds && v.broken > 0) outcome = Decision::undecided;
    v.measured = found.number;
    if (is_case_by_case(claim))
      v.cases = found.cases.empty() ? std::vector{found.number} : found.cases;
  } catch (const NotTested& e) {
    v.reason = e.what();
    return v;
  }
  v.inside = static_cast<std::size_t>(std::ranges::count_if(
      v.cases, [&](const Estimate& one) { return outcome_of(claim, one) == Decision::holds; }));
  if (bounds_errors(query)) v.wrong = v.taken.front().wrong;
  v.named = named_of(claim, used, data);
  v.excluded = excluded;
  v.word = is_fitted(claim, used, data) ? Verdict::fitted : word_of(claim, v, outcome);
  v.reason = reason_of(claim, v, outcome);
  return v;
}

/// Leaves out rows that are older than their code where another machine has a result of the same
/// case by the code of now.
void drop_outdated(Rows& group) {
  std::set<std::string> current;
  for (const auto* row : group)
    if (row->ok() && !row->is_stale()) current.insert(row->key());
  std::erase_if(group,
                [&](const Row* row) { return row->is_stale() && current.contains(row->key()); });
}

/// Rows that may stand together in one verdict: of one machine, unless no machine changes them, and
/// of one kind of data, unless the query names its own. Errors stand together.
std::map<std::pair<std::string, std::string>, Rows> comparable_groups(
    const Claim& claim, const std::vector<Row>& rows) {
  const auto wanted = parts_of(*claim.query);
  const bool errors = bounds_errors(*claim.query);
  const bool any_machine = claim.query->all_machines || (errors && claim.hardware == "any");
  const bool any_data = errors || std::ranges::all_of(wanted, [](const auto& part) {
                          return names_data(part.where);
                        });
  std::map<std::pair<std::string, std::string>, Rows> groups;
  for (const auto& row : rows)
    if (std::ranges::any_of(wanted, [&](const auto& w) {
          return matches(row, w.where) && may_judge(row, claim, w.where);
        }))
      groups[{any_machine ? "" : row.device(), any_data ? "" : data_kind(row, claim.paper)}]
          .push_back(&row);
  for (auto& [what, group] : groups) drop_outdated(group);
  return groups;
}

/// The larger, the more a verdict says.
auto weight(const Verdict& v) {
  return std::make_tuple(v.word != Verdict::not_tested, v.hardware != "other", -weakness(v.data),
                         v.rows);
}

/// Rows may match a part that are no row of the paper's form.
std::string reason_of_none(const Claim& claim, const std::vector<Row>& rows) {
  for (const auto& part : parts_of(*claim.query)) {
    Rows matching;
    std::set<std::string> methods;
    for (const auto& row : rows)
      if (matches(row, part.where)) {
        matching.push_back(&row);
        methods.insert(row.method());
      }
    const bool none = std::ranges::none_of(
        matching, [&](const Row* row) { return may_judge(*row, claim, part.where); });
    if (none && !matching.empty())
      return fmt::format("none of {} of {} has the form that the paper describes (form: published)",
                         count_text(matching.size(), "row"), joined(methods, ", "));
  }
  return kNoRows;
}

json numbers_of(const Estimate& found) {
  return json::array({found.low, found.high});
}

/// What the rows of these claims say is for who has their verdicts.
json shown_by(const Cause& cause) {
  json shown = json::object();
  for (const auto& id : cause.shown_by) shown[id] = nullptr;
  return shown;
}

json cases_of(const Verdict& v) {
  if (v.cases.empty()) return {};
  const auto values = transformed(v.cases, &Estimate::value);
  const auto [least, most] = std::ranges::minmax_element(values);
  return {{"inside", v.inside}, {"of", values.size()}, {"least", *least}, {"most", *most}};
}

}  // namespace

std::string_view name(Verdict::Word word) {
  return kWords[static_cast<std::size_t>(word)];
}

std::vector<std::string> verdict_words() {
  return {kWords.begin(), kWords.end()};
}

const std::vector<std::string>& verdict_data() {
  static const std::vector<std::string> kinds = {"real", "real pattern", "other real", "stand-in",
                                                 "generated"};
  return kinds;
}

std::optional<bool> holds(Verdict::Word word) {
  switch (word) {
    case Verdict::reproduced:
    case Verdict::consistent:
    case Verdict::transfers:
      return true;
    case Verdict::deviates:
    case Verdict::inconsistent:
    case Verdict::does_not_transfer:
      return false;
    default:
      return {};
  }
}

Verdict judge(const Claim& claim, const std::vector<Row>& rows, const DataSets& data,
              const std::vector<LeftOut>& exclusions) {
  Verdict best;
  best.word = claim.contradicts.empty() ? Verdict::not_tested : Verdict::contradicts_itself;
  best.reason = claim.contradicts.empty() ? claim.untested : claim.contradicts;
  if (!claim.query) return best;
  const auto groups = comparable_groups(claim, rows);
  const auto excluded = exclusions_from(*claim.query, exclusions);
  bool first = true;
  for (const auto& [what, group] : groups) {
    auto verdict = judge_group(claim, group, data, excluded);
    if (first || weight(verdict) > weight(best)) best = std::move(verdict);
    first = false;
  }
  if (groups.empty() || best.reason == kNoRows) best.reason = reason_of_none(claim, rows);
  return best;
}

Decision decide(const Claim& claim, const std::vector<Taken>& parts) {
  return decided(claim, answer(*claim.query, parts), parts);
}

json to_json(const Claim& claim, const Verdict& v) {
  const auto speaks = holds(v.word);
  const bool plain = claim.query && !claim.query->compares();
  const bool divisible = v.measured && claim.published.contains("value") && claim.interval.low != 0;
  return {
      {"paper", claim.paper},
      {"id", claim.id},
      {"place", claim.place},
      {"kind", claim.kind},
      {"asks", claim.asks},
      {"set_up", !claim.can_fail()},
      {"headline", claim.headline.empty() ? json() : json(claim.headline)},
      {"cause", claim.cause
                    ? json{{"says", claim.cause->says}, {"shown_by", shown_by(*claim.cause)}}
                    : json()},
      {"states", claim.states},
      {"published", claim.published},
      {"tolerance", claim.allowed},
      {"claimed_hardware", claim.hardware},
      {"verdict", name(v.word)},
      {"holds", speaks ? json(*speaks) : json()},
      {"reason", v.reason},
      {"value", plain ? json(claim.query->value) : json()},
      {"measured", v.measured ? json(v.measured->value) : json()},
      {"interval", v.measured ? numbers_of(*v.measured) : json()},
      {"ratio", divisible ? json(v.measured->value / claim.interval.low) : json()},
      {"cases", cases_of(v)},
      {"subset",
       claim.whole > v.named && v.measured ? json{{"of", claim.whole}, {"has", v.named}} : json()},
      {"data", v.data},
      {"hardware", v.hardware},
      {"competitor_code", v.competitor},
      {"machine", v.machine},
      {"times_count", v.times_count},
      {"between_launches", v.between_launches > 0 ? json(v.between_launches) : json()},
      {"rows", v.rows},
      {"of", v.of},
      {"left_out", v.failures},
      {"excluded", v.excluded},
      {"stale", v.stale},
      {"currency", v.currency},
      {"keys", v.keys}};
}

}  // namespace retensor::driver
