// One table row per axis holds what it may be, its setter and its getter.
#include "experiments/driver/spec/axes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include "common/generate/values.hpp"

namespace retensor::driver {
namespace {

ParamValue word_value(std::string_view value) {
  return std::string(value);
}

struct Axis {
  std::string name;
  ShapePtr shape;
  void (*set)(Case&, const ParamValue&);
  ParamValue (*get)(const Case&);
};

/// The axis of a number of the problem.
template <auto member>
Axis number_axis(const std::string& name, ShapePtr shape) {
  using Number = std::remove_reference_t<decltype(ProblemSpec{}.*member)>;
  using Given = std::conditional_t<std::is_floating_point_v<Number>, double, std::int64_t>;
  return {name, std::move(shape),
          [](Case& c, const ParamValue& v) {
            c.problem.*member = std::is_same_v<Given, double>
                                    ? static_cast<Number>(real(v))
                                    : static_cast<Number>(std::get<std::int64_t>(v));
          },
          [](const Case& c) { return ParamValue(static_cast<Given>(c.problem.*member)); }};
}

/// The axis of a value of the problem that has a name.
template <auto member, auto from_name>
Axis named_axis(const std::string& axis, const std::string& what, std::vector<std::string> words) {
  return {axis, shape::word(what, std::move(words)),
          [](Case& c, const ParamValue& v) { c.problem.*member = from_name(text(v)); },
          [](const Case& c) { return word_value(name(c.problem.*member)); }};
}

constexpr std::int64_t kMaxRank = 1 << 20;  ///< far beyond the papers' 8192 columns
constexpr std::int64_t kMaxSeed = std::numeric_limits<std::int64_t>::max();

const std::vector<Axis>& axes() {
  using P = ProblemSpec;
  using shape::integer;
  const auto mode = shape::either(
      "a mode", {shape::word("mode", {"all"}), integer("mode (or all)", 0, kMaxOrder - 1)});
  const auto models = names_up_to(ValueModel::ones);
  static const std::vector<Axis> table = {
      {"dataset", shape::string("the name of a data set"),
       [](Case& c, const ParamValue& v) { c.dataset = text(v); },
       [](const Case& c) { return word_value(c.dataset); }},
      number_axis<&P::mode>("mode", mode),
      number_axis<&P::rank>("rank", integer("rank", 1, kMaxRank)),
      number_axis<&P::rank2>("rank2", integer("rank2 (0: as rank)", 0, kMaxRank)),
      named_axis<&P::dtype, dtype_from_name>("dtype", "value type", names_up_to(DType::f64)),
      named_axis<&P::values, value_model_from_name>("values", "value model", models),
      named_axis<&P::operands, value_model_from_name>("operands", "value model", models),
      number_axis<&P::seed>("seed", integer("seed", 0, kMaxSeed)),
      number_axis<&P::scalar>("scalar", shape::number("scalar")),
      number_axis<&P::alpha>("alpha", shape::number("alpha")),
      number_axis<&P::beta>("beta", shape::number("beta")),
      number_axis<&P::max_sweeps>("max_sweeps", integer("max_sweeps", 1, 100'000)),
      number_axis<&P::tolerance>("tolerance", shape::number("tolerance", 0)),
  };
  return table;
}

const Axis* find_axis(const std::string& axis) {
  const auto at = std::ranges::find_if(axes(), [&](const Axis& a) { return a.name == axis; });
  return at == axes().end() ? nullptr : &*at;
}

}  // namespace

std::vector<shape::Member> axis_members() {
  return transformed(axes(), [](const Axis& axis) {
    return shape::optional(axis.name, shape::list_or_one(axis.name, axis.shape));
  });
}

ShapePtr operation_shape() {
  return shape::list_or_one("operation", shape::word("operation", names_up_to(Operation::cpd)));
}

bool takes_axis(Operation operation, const std::string& axis) {
  static const std::map<std::string, Operation> of_one = {
      {"rank2", Operation::ttm_chain},   {"scalar", Operation::ts},
      {"alpha", Operation::contraction}, {"beta", Operation::contraction},
      {"max_sweeps", Operation::cpd},    {"tolerance", Operation::cpd}};
  if (axis == "mode") return has_mode(operation);
  if (axis == "rank") return has_rank(operation);
  const auto at = of_one.find(axis);
  return at == of_one.end() || at->second == operation;
}

bool takes_variant(Operation operation, std::string_view variant) {
  const bool is_einsum = variant.find("->") != variant.npos;
  const bool elementwise = operation == Operation::tew || operation == Operation::ts;
  return is_einsum ? operation == Operation::contraction : elementwise;
}

std::string standard_variant(Operation operation) {
  return operation == Operation::tew ? "add" : operation == Operation::ts ? "mul" : "";
}

void set_axis(Case& c, const std::string& axis, const ParamValue& value) {
  const auto* known = find_axis(axis);
  if (known == nullptr) throw LogicError("no axis " + axis);
  known->set(c, value);
}

std::optional<ParamValue> axis_value(const Case& c, const std::string& axis) {
  if (axis == "operation") return word_value(name(c.problem.operation));
  if (axis == "variant") return word_value(c.problem.variant);
  if (axis == "method") return word_value(c.method);
  if (!takes_axis(c.problem.operation, axis)) return std::nullopt;
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
