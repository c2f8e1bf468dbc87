// One table row per axis holds its check, its setter and its getter.
#include "experiments/driver/spec/axes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "common/generate/values.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace {

template <class Enum>
std::vector<std::string> names_up_to(Enum last) {
  std::vector<std::string> names;
  for (int k = 0; k <= static_cast<int>(last); ++k) names.emplace_back(name(static_cast<Enum>(k)));
  return names;
}

[[noreturn]] void refuse(const Located& v, const std::string& expected) {
  throw ParseError(v.at, fmt::format("'{}'", text(v.value)), expected);
}

void check_integer(const Located& v, const char* axis, std::int64_t lowest, std::int64_t highest) {
  const auto* number = std::get_if<std::int64_t>(&v.value);
  if (number == nullptr || *number < lowest || *number > highest)
    refuse(v, fmt::format("{}: {} to {}", axis, lowest, highest));
}

void check_word(const Located& v, const char* what, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), text(v.value)) == words.end())
    refuse_unknown(v.at, what, text(v.value), words);
}

double real(const ParamValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? std::numeric_limits<double>::quiet_NaN() : *number;
}

void check_real(const Located& v, const char* axis, double lowest) {
  if (!(real(v.value) >= lowest)) refuse(v, fmt::format("{}: a number from {}", axis, lowest));
}

std::int64_t integer(const ParamValue& value) {
  return std::get<std::int64_t>(value);
}
std::uint64_t natural(const ParamValue& value) {
  return static_cast<std::uint64_t>(integer(value));
}
ParamValue number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}
ParamValue word(std::string_view value) {
  return std::string(value);
}

struct Axis {
  std::string name;
  void (*check)(const Located&);
  void (*set)(Case&, const ParamValue&);
  ParamValue (*get)(const Case&);
};

constexpr std::int64_t kMaxRank = 1 << 20;  ///< far beyond the papers' 8192 columns
constexpr double kAnyReal = std::numeric_limits<double>::lowest();

const std::vector<Axis>& axes() {
  static const std::vector<Axis> table = {
      {"dataset",
       [](const Located& v) {
         if (!std::holds_alternative<std::string>(v.value)) refuse(v, "the name of a data set");
       },
       [](Case& c, const ParamValue& v) { c.dataset = text(v); },
       [](const Case& c) { return word(c.dataset); }},
      {"mode",
       [](const Located& v) {
         if (text(v.value) != "all") check_integer(v, "mode (or all)", 0, kMaxOrder - 1);
       },
       [](Case& c, const ParamValue& v) { c.problem.mode = static_cast<int>(integer(v)); },
       [](const Case& c) { return number(static_cast<std::uint64_t>(c.problem.mode)); }},
      {"rank", [](const Located& v) { check_integer(v, "rank", 1, kMaxRank); },
       [](Case& c, const ParamValue& v) { c.problem.rank = natural(v); },
       [](const Case& c) { return number(c.problem.rank); }},
      {"rank2", [](const Located& v) { check_integer(v, "rank2 (0: as rank)", 0, kMaxRank); },
       [](Case& c, const ParamValue& v) { c.problem.rank2 = natural(v); },
       [](const Case& c) { return number(c.problem.rank2); }},
      {"dtype", [](const Located& v) { check_word(v, "value type", names_up_to(DType::f64)); },
       [](Case& c, const ParamValue& v) { c.problem.dtype = dtype_from_name(text(v)); },
       [](const Case& c) { return word(name(c.problem.dtype)); }},
      {"values",
       [](const Located& v) { check_word(v, "value model", names_up_to(ValueModel::ones)); },
       [](Case& c, const ParamValue& v) { c.problem.values = value_model_from_name(text(v)); },
       [](const Case& c) { return word(name(c.problem.values)); }},
      {"operands",
       [](const Located& v) { check_word(v, "value model", names_up_to(ValueModel::ones)); },
       [](Case& c, const ParamValue& v) { c.problem.operands = value_model_from_name(text(v)); },
       [](const Case& c) { return word(name(c.problem.operands)); }},
      {"seed",
       [](const Located& v) {
         check_integer(v, "seed", 0, std::numeric_limits<std::int64_t>::max());
       },
       [](Case& c, const ParamValue& v) { c.problem.seed = natural(v); },
       [](const Case& c) { return number(c.problem.seed); }},
      {"scalar", [](const Located& v) { check_real(v, "scalar", kAnyReal); },
       [](Case& c, const ParamValue& v) { c.problem.scalar = real(v); },
       [](const Case& c) { return ParamValue(c.problem.scalar); }},
      {"alpha", [](const Located& v) { check_real(v, "alpha", kAnyReal); },
       [](Case& c, const ParamValue& v) { c.problem.alpha = real(v); },
       [](const Case& c) { return ParamValue(c.problem.alpha); }},
      {"beta", [](const Located& v) { check_real(v, "beta", kAnyReal); },
       [](Case& c, const ParamValue& v) { c.problem.beta = real(v); },
       [](const Case& c) { return ParamValue(c.problem.beta); }},
      {"max_sweeps", [](const Located& v) { check_integer(v, "max_sweeps", 1, 100'000); },
       [](Case& c, const ParamValue& v) { c.problem.max_sweeps = static_cast<int>(integer(v)); },
       [](const Case& c) { return number(static_cast<std::uint64_t>(c.problem.max_sweeps)); }},
      {"tolerance", [](const Located& v) { check_real(v, "tolerance", 0); },
       [](Case& c, const ParamValue& v) { c.problem.tolerance = real(v); },
       [](const Case& c) { return ParamValue(c.problem.tolerance); }},
  };
  return table;
}

const Axis* find_axis(const std::string& axis) {
  const auto at =
      std::find_if(axes().begin(), axes().end(), [&](const Axis& a) { return a.name == axis; });
  return at == axes().end() ? nullptr : &*at;
}

}  // namespace

const std::vector<std::string>& axis_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const auto& axis : axes()) result.push_back(axis.name);
    return result;
  }();
  return names;
}

void check_axis(const std::string& axis, const Located& value) {
  if (axis == "operation") return check_word(value, "operation", names_up_to(Operation::cpd));
  if (const auto* known = find_axis(axis)) known->check(value);
}

void set_axis(Case& c, const std::string& axis, const ParamValue& value) {
  const auto* known = find_axis(axis);
  if (known == nullptr) throw LogicError("no axis " + axis);
  known->set(c, value);
}

std::optional<ParamValue> axis_value(const Case& c, const std::string& axis) {
  if (axis == "operation") return word(name(c.problem.operation));
  if (axis == "variant") return word(c.problem.variant);
  if (axis == "method") return word(c.method);
  const auto op = c.problem.operation;
  if ((axis == "mode" && !c.has_mode) || (axis == "rank" && !has_rank(op)) ||
      (axis == "rank2" && op != Operation::ttm_chain))
    return std::nullopt;
  if (axis.starts_with("params.")) {
    const auto at = c.params.find(axis.substr(7));
    return at == c.params.end() ? std::nullopt : std::optional(at->second);
  }
  const auto* known = find_axis(axis);
  return known == nullptr ? std::nullopt : std::optional(known->get(c));
}

bool same_value(const ParamValue& a, const ParamValue& b) {
  const double x = real(a), y = real(b);
  return std::isnan(x) || std::isnan(y) ? a == b : x == y;
}

}  // namespace retensor::driver
