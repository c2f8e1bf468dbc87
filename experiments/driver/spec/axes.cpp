// One table row per axis holds what it may be, its setter and its getter.
#include "experiments/driver/spec/axes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/generate/values.hpp"

namespace retensor::driver {
namespace {

double real(const ParamValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? std::numeric_limits<double>::quiet_NaN() : *number;
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
  ShapePtr shape;
  void (*set)(Case&, const ParamValue&);
  ParamValue (*get)(const Case&);
};

constexpr std::int64_t kMaxRank = 1 << 20;  ///< far beyond the papers' 8192 columns
constexpr std::int64_t kMaxSeed = std::numeric_limits<std::int64_t>::max();

const std::vector<Axis>& axes() {
  static const std::vector<Axis> table = {
      {"dataset", shape::string("the name of a data set"),
       [](Case& c, const ParamValue& v) { c.dataset = text(v); },
       [](const Case& c) { return word(c.dataset); }},
      {"mode",
       shape::either("a mode", {shape::word("mode", {"all"}),
                                shape::integer("mode (or all)", 0, kMaxOrder - 1)}),
       [](Case& c, const ParamValue& v) { c.problem.mode = static_cast<int>(integer(v)); },
       [](const Case& c) { return number(static_cast<std::uint64_t>(c.problem.mode)); }},
      {"rank", shape::integer("rank", 1, kMaxRank),
       [](Case& c, const ParamValue& v) { c.problem.rank = natural(v); },
       [](const Case& c) { return number(c.problem.rank); }},
      {"rank2", shape::integer("rank2 (0: as rank)", 0, kMaxRank),
       [](Case& c, const ParamValue& v) { c.problem.rank2 = natural(v); },
       [](const Case& c) { return number(c.problem.rank2); }},
      {"dtype", shape::word("value type", names_up_to(DType::f64)),
       [](Case& c, const ParamValue& v) { c.problem.dtype = dtype_from_name(text(v)); },
       [](const Case& c) { return word(name(c.problem.dtype)); }},
      {"values", shape::word("value model", names_up_to(ValueModel::ones)),
       [](Case& c, const ParamValue& v) { c.problem.values = value_model_from_name(text(v)); },
       [](const Case& c) { return word(name(c.problem.values)); }},
      {"operands", shape::word("value model", names_up_to(ValueModel::ones)),
       [](Case& c, const ParamValue& v) { c.problem.operands = value_model_from_name(text(v)); },
       [](const Case& c) { return word(name(c.problem.operands)); }},
      {"seed", shape::integer("seed", 0, kMaxSeed),
       [](Case& c, const ParamValue& v) { c.problem.seed = natural(v); },
       [](const Case& c) { return number(c.problem.seed); }},
      {"scalar", shape::number("scalar"),
       [](Case& c, const ParamValue& v) { c.problem.scalar = real(v); },
       [](const Case& c) { return ParamValue(c.problem.scalar); }},
      {"alpha", shape::number("alpha"),
       [](Case& c, const ParamValue& v) { c.problem.alpha = real(v); },
       [](const Case& c) { return ParamValue(c.problem.alpha); }},
      {"beta", shape::number("beta"),
       [](Case& c, const ParamValue& v) { c.problem.beta = real(v); },
       [](const Case& c) { return ParamValue(c.problem.beta); }},
      {"max_sweeps", shape::integer("max_sweeps", 1, 100'000),
       [](Case& c, const ParamValue& v) { c.problem.max_sweeps = static_cast<int>(integer(v)); },
       [](const Case& c) { return number(static_cast<std::uint64_t>(c.problem.max_sweeps)); }},
      {"tolerance", shape::number("tolerance", 0),
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

std::vector<shape::Member> axis_members() {
  std::vector<shape::Member> members;
  for (const auto& axis : axes())
    members.push_back(shape::optional(axis.name, shape::list_or_one(axis.name, axis.shape)));
  return members;
}

ShapePtr operation_shape() {
  return shape::list_or_one("operation", shape::word("operation", names_up_to(Operation::cpd)));
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
