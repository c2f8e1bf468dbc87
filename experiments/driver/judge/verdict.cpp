// Queries over rows and what follows from their result.
#include "experiments/driver/judge/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "common/core/error.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

using Rows = std::vector<const Row*>;

/// Why a query has no number; becomes the reason of `not tested`.
class NotTested : public Error {
 public:
  using Error::Error;
};

constexpr std::array<std::string_view, 9> kWords = {
    "reproduced",        "deviates", "consistent", "inconsistent",      "transfers",
    "does not transfer", "fitted",   "not tested", "contradicts itself"};

/// The kind of a row's data; real data that the claim's paper does not use is "other real".
std::string data_kind(const Row& row, const std::string& paper) {
  const auto& kind = row.field("case.data.kind");
  if (!kind.is_string()) return "unknown";
  if (kind != "real") return kind;
  const auto& papers = row.field("case.data.papers");
  const bool of_paper =
      papers.is_array() && std::find(papers.begin(), papers.end(), json(paper)) != papers.end();
  return of_paper ? "real" : "other real";
}

/// 0 for the paper's data; the larger, the less a verdict on it says.
int weakness(const std::string& kind) {
  static const std::vector<std::string> order = {"real", "other real", "stand-in", "generated"};
  return static_cast<int>(std::find(order.begin(), order.end(), kind) - order.begin());
}

/// Times of original codes count only where a selection asks for them.
bool matches(const Row& row, const Selection& where) {
  return (where.count("code") > 0 || row.is_own()) &&
         std::all_of(where.begin(), where.end(), [&](const auto& condition) {
           const auto& found = row.field(condition.first);
           const auto& any_of = condition.second;
           return std::find(any_of.begin(), any_of.end(), found) != any_of.end();
         });
}

Rows select(const Rows& rows, const Selection& where) {
  Rows result;
  for (const auto* row : rows)
    if (matches(*row, where)) result.push_back(row);
  return result;
}

Rows ok_rows(const Rows& rows) {
  Rows result;
  for (const auto* row : rows)
    if (row->ok()) result.push_back(row);
  return result;
}

/// What the query looks at, in the order in which its rows are handed on.
std::vector<Part> parts_of(const Query& query) {
  if (!query.orders.empty()) return query.orders;
  std::vector<Part> all = {query};
  if (query.ratio_to) all.push_back(*query.ratio_to);
  return all;
}

double middle(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const auto half = v.size() / 2;
  return v.size() % 2 == 1 ? v[half] : (v[half - 1] + v[half]) / 2;
}

double geometric_mean(const std::vector<double>& v) {
  double sum = 0;
  for (const auto x : v) {
    if (!(x > 0)) throw NotTested("a geometric mean of values that are not all positive");
    sum += std::log(x);
  }
  return std::exp(sum / static_cast<double>(v.size()));
}

double reduced(const std::vector<double>& v, const std::string& how) {
  if (how == "count") return static_cast<double>(v.size());
  if (v.empty()) throw NotTested("no row that is ok");
  if (how == "median") return middle(v);
  if (how == "min") return *std::min_element(v.begin(), v.end());
  if (how == "max") return *std::max_element(v.begin(), v.end());
  if (how == "spread") return reduced(v, "max") / reduced(v, "min");
  if (how == "geomean") return geometric_mean(v);
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

/// A number, or a text that is one as a whole (`executed` holds texts alone), or the median of
/// samples (`phases.stages`).
std::optional<double> number_in(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (auto samples = numbers_in(value); !samples.empty()) return middle(std::move(samples));
  if (!value.is_string()) return {};
  const auto& text = value.get_ref<const std::string&>();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::vector<double> values(const Rows& rows, const std::string& path) {
  std::vector<double> numbers;
  for (const auto* row : rows) {
    const auto number = number_in(row->field(path));
    if (!number) throw NotTested(fmt::format("'{}' is no number in the rows selected", path));
    numbers.push_back(*number);
  }
  return numbers;
}

double reduced(const Rows& rows, const Part& part) {
  if (part.reduce != "distinct") return reduced(values(rows, part.value), part.reduce);
  std::set<std::string> distinct;
  for (const auto* row : rows) distinct.insert(row->field(part.value).dump());
  return static_cast<double>(distinct.size());
}

/// Rows by the values of the fields `per`; one group without any.
std::map<std::string, Rows> groups_of(const Rows& rows, const std::vector<std::string>& per) {
  std::map<std::string, Rows> groups;
  for (const auto* row : rows) {
    std::string key;
    for (const auto& name : per) key += row->field(name).dump() + '\n';
    groups[key].push_back(row);
  }
  return groups;
}

double ratio(const Query& query, const Rows& over, const Rows& under) {
  const auto divide = [](double a, double b) {
    if (b == 0) throw NotTested("a ratio to zero");
    return a / b;
  };
  if (query.per.empty()) return divide(reduced(over, query), reduced(under, *query.ratio_to));
  const auto partners = groups_of(under, query.per);
  std::vector<double> ratios;
  for (const auto& [key, rows] : groups_of(over, query.per))
    if (const auto partner = partners.find(key); partner != partners.end())
      ratios.push_back(
          divide(reduced(values(rows, query.value), query.within),
                 reduced(values(partner->second, query.ratio_to->value), query.within)));
  if (ratios.empty()) throw NotTested("no rows that differ in nothing but the selection");
  return reduced(ratios, query.reduce);
}

/// Share of groups in which the selections' values ascend; groups that lack one do not count.
double share_in_order(const Query& query, const std::vector<Rows>& parts) {
  std::map<std::string, std::vector<double>> sequences;
  for (std::size_t k = 0; k < parts.size(); ++k)
    for (const auto& [key, rows] : groups_of(parts[k], query.per))
      sequences[key].push_back(reduced(rows, query.orders[k]));
  double complete = 0, ascending = 0;
  for (const auto& [key, sequence] : sequences) {
    if (sequence.size() != parts.size()) continue;
    ++complete;
    if (std::is_sorted(sequence.begin(), sequence.end(), std::less_equal<>())) ++ascending;
  }
  if (complete == 0) throw NotTested("no rows for all parts of the ordering");
  return ascending / complete;
}

double measured(const Query& query, const std::vector<Rows>& parts) {
  if (!query.orders.empty()) return share_in_order(query, parts);
  if (query.ratio_to) return ratio(query, parts[0], parts[1]);
  return reduced(parts[0], query);
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

bool names_data(const Selection& where) {
  return std::any_of(where.begin(), where.end(), [](const auto& condition) {
    return boost::ends_with(condition.first, "dataset") ||
           boost::contains(condition.first, "data.");
  });
}

/// A list of data sets is a promise about all of them.
void expect_all_datasets(const Selection& where, const Rows& ok) {
  for (const std::string path : {"dataset", "case.dataset"}) {
    const auto condition = where.find(path);
    if (condition == where.end()) continue;
    const auto& named = condition->second;
    const auto present = std::count_if(named.begin(), named.end(), [&](const json& name) {
      return std::any_of(ok.begin(), ok.end(),
                         [&](const Row* row) { return row->field(path) == name; });
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

Verdict::Word word_of(const Verdict& v, bool held) {
  if (v.hardware == "other") return held ? Verdict::transfers : Verdict::does_not_transfer;
  if (v.data == "real") return held ? Verdict::reproduced : Verdict::deviates;
  return held ? Verdict::consistent : Verdict::inconsistent;
}

/// Times and rates are compared across machines as ratios alone, and never between a GPU and the
/// processor that emulates it.
void expect_comparable(const Claim& claim, const Verdict& v, const Rows& rows) {
  if (v.hardware != "other") return;
  const bool gpu_claim = claim.hardware_kind == "gpu";
  if (!claim.hardware_kind.empty() && std::any_of(rows.begin(), rows.end(), [&](const Row* row) {
        return (row->backend() == Backend::cuda) != gpu_claim;
      }))
    throw NotTested(fmt::format("the claim is about a {}, the rows are from a {}",
                                claim.hardware_kind, gpu_claim ? "cpu" : "gpu"));
  if (!claim.query->compares())
    throw NotTested(fmt::format("needs {}: an absolute value does not transfer to {}",
                                claim.hardware, v.machine));
}

void count_rows(const Rows& matching, const Rows& ok, const std::string& paper, Verdict& v) {
  v.of += matching.size();
  v.rows += ok.size();
  for (const auto* row : ok) {
    v.keys.push_back(row->key());
    ++v.currency[std::string(name(row->currency()))];
    v.stale += row->is_stale();
    const auto data = data_kind(*row, paper);
    if (v.data.empty() || weakness(data) > weakness(v.data)) v.data = data;
  }
}

std::string failures_text(const Rows& matching) {
  for (const auto* row : matching)
    if (!row->ok()) return "no matching row is ok; the first is " + row->failure();
  return "no rows yet";
}

/// The verdict on rows that may stand together.
Verdict judge_group(const Claim& claim, const Rows& group, const FittedTo& fitted_to) {
  const auto& query = *claim.query;
  Verdict v;
  v.competitor = query.compares() ? query.competitor : "";
  v.machine = group.front()->device();
  v.hardware = hardware_of(claim, v.machine);
  std::vector<Rows> parts;
  Rows used;
  bool fitted = !claim.fitted.empty();
  try {
    for (const auto& part : parts_of(query)) {
      const auto matching = select(group, part.where);
      parts.push_back(ok_rows(matching));
      count_rows(matching, parts.back(), claim.paper, v);
      if (parts.back().empty()) throw NotTested(failures_text(matching));
      expect_all_datasets(part.where, parts.back());
      used.insert(used.end(), parts.back().begin(), parts.back().end());
    }
    expect_comparable(claim, v, used);
    v.measured = measured(query, parts);
  } catch (const NotTested& e) {
    v.reason = e.what();
    return v;
  }
  for (const auto* row : used)
    if (const auto known = fitted_to.find(row->dataset());
        known != fitted_to.end() && known->second.count(claim.id) > 0)
      fitted = true;
  const bool held = within(claim, *v.measured);
  v.word = fitted ? Verdict::fitted : word_of(v, held);
  if (fitted)
    v.reason = claim.fitted.empty() ? "a stand-in was fitted to it" : claim.fitted;
  else if (!query.orders.empty())
    v.reason = held ? "ordering holds" : "ordering fails";
  return v;
}

/// A tuned kernel says nothing about a paper.
bool may_judge(const Row& row, const Claim& claim) {
  return claim.paper == kProject || !boost::ends_with(row.method(), ".tuned");
}

/// Rows that may stand together in one verdict: of one machine, unless no machine changes them.
std::map<std::pair<std::string, std::string>, Rows> comparable_groups(
    const Claim& claim, const std::vector<Row>& rows) {
  const auto wanted = parts_of(*claim.query);
  const bool named = std::all_of(wanted.begin(), wanted.end(),
                                 [](const auto& part) { return names_data(part.where); });
  std::map<std::pair<std::string, std::string>, Rows> groups;
  for (const auto& row : rows)
    if (may_judge(row, claim) && std::any_of(wanted.begin(), wanted.end(),
                                             [&](const auto& w) { return matches(row, w.where); }))
      groups[{claim.query->all_machines ? "" : row.device(),
              named ? "" : data_kind(row, claim.paper)}]
          .push_back(&row);
  return groups;
}

/// The larger, the more a verdict says.
auto weight(const Verdict& v) {
  return std::make_tuple(v.word != Verdict::not_tested, v.hardware != "other", -weakness(v.data),
                         v.rows);
}

}  // namespace

std::string_view name(Verdict::Word word) {
  return kWords[static_cast<std::size_t>(word)];
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

Verdict judge(const Claim& claim, const std::vector<Row>& rows, const FittedTo& fitted_to) {
  Verdict best;
  best.word = claim.contradicts.empty() ? Verdict::not_tested : Verdict::contradicts_itself;
  best.reason = claim.contradicts.empty() ? claim.untested : claim.contradicts;
  if (!claim.query) return best;
  best.reason = "no rows yet";
  bool first = true;
  for (const auto& [what, group] : comparable_groups(claim, rows)) {
    auto verdict = judge_group(claim, group, fitted_to);
    if (first || weight(verdict) > weight(best)) best = std::move(verdict);
    first = false;
  }
  return best;
}

json to_json(const Claim& claim, const Verdict& v) {
  const auto speaks = holds(v.word);
  const bool plain = claim.query && !claim.query->compares();
  const bool divisible = v.measured && claim.published.contains("value") && claim.interval.low != 0;
  return {{"paper", claim.paper},
          {"id", claim.id},
          {"place", claim.place},
          {"kind", claim.kind},
          {"states", claim.states},
          {"published", claim.published},
          {"tolerance", claim.allowed},
          {"claimed_hardware", claim.hardware},
          {"verdict", name(v.word)},
          {"holds", speaks ? json(*speaks) : json()},
          {"reason", v.reason},
          {"value", plain ? json(claim.query->value) : json()},
          {"measured", v.measured ? json(*v.measured) : json()},
          {"ratio", divisible ? json(*v.measured / claim.interval.low) : json()},
          {"data", v.data},
          {"hardware", v.hardware},
          {"competitor_code", v.competitor},
          {"machine", v.machine},
          {"rows", v.rows},
          {"of", v.of},
          {"stale", v.stale},
          {"currency", v.currency},
          {"keys", v.keys}};
}

}  // namespace retensor::driver
