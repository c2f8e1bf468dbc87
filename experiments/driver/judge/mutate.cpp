// Changes of rows, from small ones to large ones.
#include "experiments/driver/judge/mutate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace retensor::driver {
using nlohmann::json;

namespace {

using Parts = std::vector<Taken>;

/// What a field holds, as far as it decides how a wrong kernel would change it.
enum class Quantity { time, bytes, error, count, other, repeated };

/// Fields that repeat the spec, the machine, the registry or a formula.
bool is_repeated(const std::string& field, const std::vector<RowNumber>& numbers) {
  static const std::vector<std::string> repeated = {
      "case.",   "params.",  "machine.", "data.",           "ceilings.",     "work.",
      "density", "original", "dataset",  "roofline.gbytes", "roofline.ridge"};
  for (const auto& start : repeated)
    if (boost::starts_with(field, start)) return true;
  const auto& first = *numbers.front().row;
  if (!first.row_case().value(field, json()).is_null()) return true;
  static const std::string executed = "executed.";
  if (!boost::starts_with(field, executed)) return false;
  for (const auto* word : {"formula", "published", "equation"})
    if (boost::contains(field, word)) return true;
  const auto name = field.substr(executed.size());
  const auto& parameter = first.field("params." + name);
  return !parameter.is_null() && plain_text(parameter) == plain_text(first.field(field));
}

bool are_counts(const std::vector<RowNumber>& numbers) {
  return std::ranges::all_of(numbers, [](const RowNumber& one) {
    return one.number.value == std::floor(one.number.value);
  });
}

/// The model of a kernel's work is a formula; evaluated at counts in the data it may be a property.
Quantity quantity_of(const Part& part, const std::vector<RowNumber>& numbers, bool property) {
  const auto& field = part.value;
  const auto starts = [&](const char* text) { return boost::starts_with(field, text); };
  if (starts("work.")) return property ? Quantity::other : Quantity::repeated;
  if (part.reduce == "distinct" || is_repeated(field, numbers)) return Quantity::repeated;
  if (starts("check.")) return Quantity::error;
  for (const auto* time :
       {"stats.", "phases.", "seconds.", "rates.", "copy.", "roofline.share", "profile.seconds"})
    if (starts(time)) return Quantity::time;
  if (boost::contains(field, "bytes") || boost::contains(field, "bits")) return Quantity::bytes;
  return are_counts(numbers) ? Quantity::count : Quantity::other;
}

/// What numbers of a kind are called, and the largest factor by which they are changed.
std::pair<std::string, double> scale_of(Quantity quantity, const std::string& field) {
  if (quantity == Quantity::time)
    return {boost::starts_with(field, "phases.prepar") ? "preparation times" : "times", 4};
  if (quantity == Quantity::error) return {"errors", 1000};
  return {field, 2};
}

/// Rows of a part, told from those of the other parts by the conditions that only they have.
std::string label_of(const std::vector<Part>& parts, std::size_t k) {
  std::vector<std::string> told;
  for (const auto& condition : parts[k].where) {
    const auto& field = condition.first;
    const auto& any_of = condition.second;
    const bool common = parts.size() > 1 && std::ranges::all_of(parts, [&](auto& p) {
                          const auto other = p.where.find(field);
                          return other != p.where.end() && other->second == any_of;
                        });
    if (common || (parts.size() == 1 && !boost::ends_with(field, "method"))) continue;
    const bool method = boost::ends_with(field, "method");
    told.push_back((method ? "" : field + " ") +
                   boost::join(transformed(any_of, plain_text), ", "));
  }
  return told.empty() ? "" : " of " + boost::join(told, ", ");
}

RowNumber scaled(RowNumber one, double factor) {
  auto& [low, value, high] = one.number;
  value *= factor;
  low *= factor;
  high *= factor;
  return one;
}

class Mutations {
 public:
  Mutations(const Claim& claim, const Verdict& verdict)
      : claim_(claim), parts_(parts_of(*claim.query)), taken_(verdict.taken) {}

  std::optional<Turn> nearest() {
    for (std::size_t k = 0; k < parts_.size(); ++k) change_part(k);
    if (!nearest_) miss_results();
    if (!nearest_ && parts_.size() > 1) swap_parts();
    return nearest_;
  }

 private:
  bool turns(const Parts& changed) const {
    try {
      return decide(claim_, changed) == Decision::fails;
    } catch (const NotTested&) {
      return false;
    }
  }

  /// Of changes as small as each other the first stays.
  void offer(Turn turn) {
    if (!nearest_ || turn.factor < 0.999 * nearest_->factor) nearest_ = std::move(turn);
  }

  Quantity quantity(std::size_t k) const {
    return quantity_of(parts_[k], taken_[k].numbers, claim_.asks == "property");
  }

  void change_part(std::size_t k) {
    const auto what = quantity(k);
    if (what == Quantity::repeated) return;
    if (what == Quantity::count) add_one(k);
    scale(k, what, "");
    std::set<std::string> datasets;
    for (const auto& one : taken_[k].numbers) datasets.insert(one.row->dataset());
    if (datasets.size() < 2) return;
    for (const auto& dataset : datasets) scale(k, what, dataset);
  }

  /// All numbers of a part, or of one data set in it, by as little as turns the verdict.
  void scale(std::size_t k, Quantity quantity, const std::string& dataset) {
    const auto limits = scale_of(quantity, parts_[k].value);
    const auto where = label_of(parts_, k) + (dataset.empty() ? "" : " on " + dataset);
    const auto changed = [&](double factor) {
      auto parts = taken_;
      for (auto& one : parts[k].numbers)
        if (dataset.empty() || one.row->dataset() == dataset) one = scaled(one, factor);
      return parts;
    };
    offer_least(
        limits.second, [&](double f) { return turns(changed(f)); },
        [&](double f) { return fmt::format("{}{} times {:.4g}", limits.first, where, f); });
    if (quantity != Quantity::error)
      offer_least(
          limits.second, [&](double f) { return turns(changed(1 / f)); },
          [&](double f) { return fmt::format("{}{} over {:.4g}", limits.first, where, f); });
  }

  /// Halves the distance between a factor that turns the verdict and one that does not.
  void offer_least(double most, const std::function<bool(double)>& turned,
                   const std::function<std::string(double)>& text) {
    if (nearest_ && nearest_->factor > 0) most = std::min(most, nearest_->factor);
    if (!turned(most)) return;
    double least = 1;
    for (int step = 0; step < 20; ++step) {
      const auto between = std::sqrt(least * most);
      (turned(between) ? most : least) = between;
    }
    offer({text(most), most});
  }

  void add_one(std::size_t k) {
    for (const double step : {1.0, -1.0}) {
      auto parts = taken_;
      for (auto& one : parts[k].numbers) one.number = one.number + Estimate::exact(step);
      if (turns(parts))
        return offer({fmt::format("{}{} one {}", parts_[k].value, label_of(parts_, k),
                                  step > 0 ? "more" : "less"),
                      1});
    }
  }

  /// A result that is wrong: it fails claims about errors, and its row counts no more.
  void miss_results() {
    auto wrong = taken_;
    ++wrong.front().wrong;
    if (turns(wrong)) return offer({"one result wrong", 0});
    std::set<std::string> datasets;
    for (const auto& one : taken_.front().numbers) datasets.insert(one.row->dataset());
    for (const auto& dataset : datasets) {
      auto fewer = taken_;
      for (auto& part : fewer)
        std::erase_if(part.numbers,
                      [&](const RowNumber& one) { return one.row->dataset() == dataset; });
      if (turns(fewer)) return offer({"results on " + dataset + " wrong", 0});
    }
  }

  void swap_parts() {
    const auto what = quantity(0);
    if (what == Quantity::repeated || what != quantity(parts_.size() - 1)) return;
    auto swapped = taken_;
    std::swap(swapped.front(), swapped.back());
    if (turns(swapped)) offer({"both sides swapped", 0});
  }

  const Claim& claim_;
  const std::vector<Part> parts_;
  const Parts& taken_;
  std::optional<Turn> nearest_;
};

}  // namespace

std::optional<Turn> nearest_turn(const Claim& claim, const Verdict& verdict) {
  if (holds(verdict.word) != true) return {};
  return Mutations(claim, verdict).nearest();
}

}  // namespace retensor::driver
