// Queries over rows.
#include "experiments/driver/judge/query.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cmath>
#include <map>
#include <set>

#include "common/core/text.hpp"
#include "common/measure/statistics.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// How far the ends of intervals reach that add up, since their samples are independent.
double together(const std::vector<double>& reaches) {
  double squares = 0;
  for (const auto reach : reaches) squares += reach * reach;
  return std::sqrt(squares);
}

/// The mean, with the interval of independent samples.
Estimate mean_of(const std::vector<Estimate>& all) {
  const auto count = static_cast<double>(all.size());
  double sum = 0;
  std::vector<double> below, above;
  for (const auto& one : all) {
    sum += one.value;
    below.push_back(one.value - one.low);
    above.push_back(one.high - one.value);
  }
  return {(sum - together(below)) / count, sum / count, (sum + together(above)) / count};
}

Estimate mapped(const Estimate& one, double (*to)(double)) {
  return {to(one.low), to(one.value), to(one.high)};
}

Estimate geometric_mean(std::vector<Estimate> all) {
  for (auto& one : all) {
    if (!(one.value > 0)) throw NotTested("a geometric mean of values that are not all positive");
    if (!(one.low > 0)) one = Estimate::exact(one.value);
    one = mapped(one, std::log);
  }
  return mapped(mean_of(all), std::exp);
}

/// The ratio of numbers whose samples are independent.
Estimate divide(const Estimate& a, const Estimate& b) {
  if (b.value == 0) throw NotTested("a ratio to zero");
  const auto value = a.value / b.value;
  if (!(a.low > 0 && b.low > 0)) return Estimate::exact(value);
  const auto below = together({std::log(a.value / a.low), std::log(b.high / b.value)});
  const auto above = together({std::log(a.high / a.value), std::log(b.value / b.low)});
  return {value * std::exp(-below), value, value * std::exp(above)};
}

/// Where one number alone decides, the ends of the intervals bound it: no reduction falls where a
/// number rises.
Estimate reduced(const std::vector<Estimate>& all, const std::string& how) {
  if (how == "count") return Estimate::exact(static_cast<double>(all.size()));
  if (all.empty()) throw NotTested("no row that is ok");
  if (how == "geomean") return geometric_mean(all);
  if (how == "mean") return mean_of(all);
  if (how == "spread") return divide(reduced(all, "max"), reduced(all, "min"));
  const auto of = [&](double Estimate::*end) {
    auto ends = transformed(all, end);
    if (how == "median") return middle_of(std::move(ends));
    const auto [least, most] = std::ranges::minmax_element(ends);
    return how == "min" ? *least : *most;
  };
  return {of(&Estimate::low), of(&Estimate::value), of(&Estimate::high)};
}

/// A number, or a text that is one as a whole: `executed` holds texts alone.
std::optional<double> number_told(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return {};
  const auto number = number_in<double>(value.get_ref<const std::string&>());
  return number && std::isfinite(*number) ? number : std::nullopt;
}

bool rises_with_time(const std::string& path) {
  return path == "stats.median" || path.starts_with("seconds.");
}

bool falls_with_time(const std::string& path) {
  return path.starts_with("rates.") || path.starts_with("copy.") || path == "roofline.share";
}

/// Widened by what another launch of the same code may differ by.
Estimate with_launches(const Estimate& one, const Row& row) {
  const auto reach = row.between_launches().value_or(0);
  if (reach == 0 || !(one.low > 0)) return one;
  const auto below = together({std::log(one.value / one.low), reach});
  const auto above = together({std::log(one.high / one.value), reach});
  return {one.value * std::exp(-below), one.value, one.value * std::exp(above)};
}

/// A number that follows from the median time, rising with it or falling.
Estimate with_time(double value, const Row& row, bool rises) {
  const auto median = row.number("stats.median");
  const auto low = row.number("stats.ci_low"), high = row.number("stats.ci_high");
  if (!(low > 0 && low <= median && median <= high)) return Estimate::exact(value);
  return rises ? Estimate{value * low / median, value, value * high / median}
               : Estimate{value * median / high, value, value * median / low};
}

std::optional<Estimate> estimate_in(const Row& row, const std::string& path) {
  const auto& found = row.field(path);
  if (const auto samples = numbers_in(found); !samples.empty()) {
    const auto summary = summarise(samples);
    return with_launches({summary.ci_low, summary.median, summary.ci_high}, row);
  }
  const auto number = number_told(found);
  if (!number) return {};
  if (rises_with_time(path)) return with_launches(with_time(*number, row, true), row);
  if (falls_with_time(path)) return with_launches(with_time(*number, row, false), row);
  return Estimate::exact(*number);
}

/// 1 where the field, which a row may lack, has the part's text, else 0.
Estimate has_text(const Row& row, const Part& part) {
  const auto& found = row.field(part.value);
  const bool has =
      found.is_string() && boost::contains(found.get_ref<const std::string&>(), part.contains);
  return Estimate::exact(has ? 1 : 0);
}

std::vector<Estimate> estimates(const std::vector<RowNumber>& numbers) {
  return transformed(numbers, &RowNumber::number);
}

Estimate reduced(const std::vector<RowNumber>& numbers, const Part& part) {
  if (part.reduce != "distinct") return reduced(estimates(numbers), part.reduce);
  std::set<std::string> distinct;
  for (const auto& one : numbers) distinct.insert(one.row->field(part.value).dump());
  return Estimate::exact(static_cast<double>(distinct.size()));
}

/// Numbers by the values of the fields `per`; one group without any.
std::map<std::string, std::vector<RowNumber>> groups_of(const Taken& taken,
                                                        const std::vector<std::string>& per) {
  std::map<std::string, std::vector<RowNumber>> groups;
  for (const auto& one : taken.numbers) {
    std::string key;
    for (const auto& name : per) key += one.row->field(name).dump() + '\n';
    groups[key].push_back(one);
  }
  return groups;
}

/// The ratio of two of the query's parts, the k-th and the next.
Answer ratio(const Query& query, const std::vector<Taken>& parts, std::size_t k) {
  const auto &over = parts[k], &under = parts[k + 1];
  if (query.per.empty()) {
    const auto read = parts_of(query);
    const auto one = divide(reduced(over.numbers, read[k]), reduced(under.numbers, read[k + 1]));
    return {one, {one}};
  }
  const auto partners = groups_of(under, query.per);
  std::vector<Estimate> ratios;
  for (const auto& [key, numbers] : groups_of(over, query.per))
    if (const auto partner = partners.find(key); partner != partners.end())
      ratios.push_back(divide(reduced(estimates(numbers), query.within),
                              reduced(estimates(partner->second), query.within)));
  if (ratios.empty()) throw NotTested("no rows that differ in nothing but the selection");
  return {reduced(ratios, query.reduce), ratios};
}

/// Whether every step from one number to the next is one.
bool every_step(const std::vector<Estimate>& sequence,
                bool (*is)(const Estimate&, const Estimate&)) {
  return std::adjacent_find(sequence.begin(), sequence.end(), [is](const auto& a, const auto& b) {
           return !is(a, b);
         }) == sequence.end();
}

bool rises(const Estimate& a, const Estimate& b) {
  return a.value < b.value;
}

bool surely_rises(const Estimate& a, const Estimate& b) {
  return b.value - a.value > together({a.high - a.value, b.value - b.low});
}

bool may_rise(const Estimate& a, const Estimate& b) {
  return a.value - b.value < together({a.value - a.low, b.high - b.value});
}

/// Share of groups in which the selections' values ascend; groups that lack one do not count. At
/// the low end are those that surely ascend, at the high end those that may.
Answer share_in_order(const Query& query, const std::vector<Taken>& parts) {
  std::map<std::string, std::vector<Estimate>> sequences;
  for (std::size_t k = 0; k < parts.size(); ++k)
    for (const auto& [key, numbers] : groups_of(parts[k], query.per))
      sequences[key].push_back(reduced(numbers, query.orders[k]));
  double complete = 0;
  Estimate ascending;
  for (const auto& [key, sequence] : sequences) {
    if (sequence.size() != parts.size()) continue;
    ++complete;
    ascending.value += every_step(sequence, rises);
    ascending.low += every_step(sequence, surely_rises);
    ascending.high += every_step(sequence, may_rise);
  }
  if (complete == 0) throw NotTested("no rows for all parts of the ordering");
  return {ascending / Estimate::exact(complete), {}};
}

}  // namespace

bool reads_errors(const Query& query) {
  return query.value.starts_with("check.");
}

bool reads_times(const Part& part) {
  return rises_with_time(part.value) || falls_with_time(part.value) ||
         part.value.starts_with("phases.");
}

std::vector<Part> parts_of(const Query& query) {
  if (!query.orders.empty()) return query.orders;
  std::vector<Part> all = {query};
  if (query.ratio_to) all.push_back(*query.ratio_to);
  all.insert(all.end(), query.over.begin(), query.over.end());
  return all;
}

bool matches(const Row& row, const Selection& where) {
  return std::ranges::all_of(where,
                             [&](const auto& condition) {
                               const auto& found = row.field(condition.first);
                               const auto& any_of = condition.second;
                               return std::find(any_of.begin(), any_of.end(), found) !=
                                      any_of.end();
                             }) &&
         (where.count("code") > 0 || row.is_own());
}

Taken read_rows(const Rows& rows, const Part& part) {
  Taken taken;
  for (const auto* row : rows) {
    taken.wrong += row->status() == Status::wrong;
    if (part.reduce == "distinct") {
      taken.numbers.push_back({row, {}});
      continue;
    }
    const auto number =
        part.contains.empty() ? estimate_in(*row, part.value) : std::optional(has_text(*row, part));
    if (!number)
      throw NotTested(fmt::format("the row of {} on {} has no number '{}'", row->method(),
                                  row->dataset(), part.value));
    taken.numbers.push_back({row, *number});
  }
  return taken;
}

Answer answer(const Query& query, const std::vector<Taken>& parts) {
  if (!query.orders.empty()) return share_in_order(query, parts);
  if (!query.over.empty()) {
    const auto one = divide(ratio(query, parts, 0).number, ratio(query, parts, 2).number);
    return {one, {one}};
  }
  if (query.ratio_to) return ratio(query, parts, 0);
  return {reduced(parts[0].numbers, query),
          query.reduce == "distinct" ? std::vector<Estimate>{} : estimates(parts[0].numbers)};
}

}  // namespace retensor::driver
