// retensor show, and what `retensor list methods` prints: what methods solve, which machines run
// them, and their parameters.
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

#include "common/method/registry.hpp"
#include "common/run/all_modes.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/table.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
using nlohmann::json;
namespace {

/// An einsum of a tensor of this order with one of equal order, over the last mode of the first.
std::string contraction_of_order(int order) {
  std::string x, y, result;
  for (int m = 0; m < order; ++m) x += static_cast<char>('a' + m);
  y = x.back();
  for (int m = 1; m < order; ++m) y += static_cast<char>('a' + order + m);
  result = x.substr(0, x.size() - 1) + y.substr(1);
  return fmt::format("{},{}->{}", x, y, result);
}

/// Whether a method with its default parameters takes tensors of this order and type.
bool takes(const Method& method, Operation operation, int order, DType type) {
  constexpr std::uint64_t kLength = 16;
  ProblemSpec spec;
  spec.operation = operation;
  spec.dtype = type;
  if (operation == Operation::contraction) spec.variant = contraction_of_order(order);
  const Dims dims(static_cast<std::size_t>(order), kLength);
  try {
    return solves(method, Problem::outline(spec, std::make_shared<const Coo>(dims, type)),
                  method.params().resolve({}))
        .ok;
  } catch (const InputError&) {
    return false;  // no such problem
  }
}

/// {operation, orders, types} of an operation.
json problems_of(const Method& method, Operation operation) {
  std::set<int> orders;
  std::set<std::string> types;
  for (int order = 1; order <= kMaxOrder; ++order)
    for (const auto type : {DType::f32, DType::f64})
      if (takes(method, operation, order, type)) {
        orders.insert(order);
        types.emplace(name(type));
      }
  return {{"operation", name(operation)}, {"orders", orders}, {"types", types}};
}

json param_json(const ParamSpec& param) {
  json described = {{"name", param.name}, {"help", param.help}};
  std::visit([&](const auto& value) { described["default"] = value; }, param.standard);
  if (!param.choices.empty()) described["choices"] = param.choices;
  if (param.limits) described["range"] = {param.limits->lowest, param.limits->highest};
  return described;
}

json described(const Method& method) {
  json operations = json::array(), problems = json::array(), params = json::array();
  for (const auto operation : method.operations()) {
    operations.push_back(name(operation));
    problems.push_back(problems_of(method, operation));
  }
  const auto schema = method.params();
  for (const auto& param : schema.specs()) params.push_back(param_json(param));
  const auto here = method.runs_here();
  return {{"id", method.id()},
          {"summary", method.summary()},
          {"backend", name(method.backend())},
          {"operations", operations},
          {"problems", problems},
          {"runs_here", here.ok},
          {"obstacle", here.reason},
          {"converts_least", method.converts_least()},
          {"params", params}};
}

/// "3-5", "2", "1-3, 5".
std::string orders_text(const std::set<int>& orders) {
  std::string text;
  for (auto at = orders.begin(); at != orders.end();) {
    const int first = *at;
    int last = first;
    while (++at != orders.end() && *at == last + 1) ++last;
    text += (text.empty() ? "" : ", ") +
            (first == last ? std::to_string(first) : fmt::format("{}-{}", first, last));
  }
  return text;
}

/// The values of a member of all problems together.
template <class T>
std::set<T> all_of(const json& problems, const char* member) {
  std::set<T> values;
  for (const auto& problem : problems)
    for (const auto& value : problem[member]) values.insert(value.get<T>());
  return values;
}

std::string comma_list(const json& list) {
  return boost::algorithm::join(list.get<std::vector<std::string>>(), ", ");
}

std::string here_text(const json& method) {
  return method["runs_here"] == true ? out_style()(Tone::good, "yes")
                                     : out_style()(Tone::bad, "no");
}

std::string range_text(const ParamSpec& param) {
  if (std::holds_alternative<bool>(param.standard)) return "true or false";
  if (!param.choices.empty()) return boost::algorithm::join(param.choices, ", ");
  if (std::holds_alternative<std::string>(param.standard)) return "any word";
  if (!param.limits) return "any number";
  return fmt::format("{} to {}", param.limits->lowest, param.limits->highest);
}

void print_method(const Method& method) {
  const auto facts = described(method);
  std::cout << fmt::format(
      "{}\n{}\n\nbackend: {}\nruns on this machine: {}\n\n", out_style()(Tone::strong, method.id()),
      method.summary(), name(method.backend()),
      method.runs_here().ok ? here_text(facts)
                            : fmt::format("{}: {}", here_text(facts), method.runs_here().reason));
  std::vector<TableRow> problems, params;
  for (const auto& problem : facts["problems"])
    problems.push_back({problem["operation"].get<std::string>(),
                        orders_text(problem["orders"].get<std::set<int>>()),
                        comma_list(problem["types"])});
  std::cout << table_text({"operation", "orders", "types"}, problems, out_style()) << '\n';
  const auto schema = method.params();
  for (const auto& param : schema.specs())
    params.push_back({param.name, text(param.standard), range_text(param), param.help});
  std::cout << (params.empty() ? "no parameters\n"
                               : table_text({"parameter", "default", "range", "meaning"}, params,
                                            out_style()));
}

int show_command(const Given& given) {
  const auto methods = all_methods();
  const auto& method = methods.find(given.positional("the id of a method"));
  if (given.flag("json"))
    std::cout << described(method).dump(2) << '\n';
  else
    print_method(method);
  return 0;
}

}  // namespace

json methods() {
  const auto registry = all_methods();
  return transformed(registry.methods(), [](const auto& method) { return described(*method); });
}

std::string methods_text(const json& methods) {
  std::vector<TableRow> rows;
  std::map<std::string, int> obstacles;
  for (const auto& method : methods) {
    const auto& problems = method["problems"];
    rows.push_back({method["id"], here_text(method), comma_list(method["operations"]),
                    orders_text(all_of<int>(problems, "orders")),
                    boost::algorithm::join(all_of<std::string>(problems, "types"), ", "),
                    method["summary"]});
    if (method["runs_here"] == false) ++obstacles[method["obstacle"]];
  }
  auto text =
      table_text({"method", "here", "operations", "orders", "types", "summary"}, rows, out_style());
  for (const auto& [obstacle, count] : obstacles)
    text += fmt::format("\n{} of {} methods can't run here: {}\n", count, methods.size(), obstacle);
  return text;
}

Interface show_interface() {
  const auto methods = all_methods();
  // The driver names no method, so the example takes the first that is registered.
  const auto example = methods.methods().empty() ? "METHOD" : methods.methods().front()->id();
  const Usage usage{
      "show METHOD",
      "Shows a method: the operations, orders and types that it supports with its default "
      "parameters, whether this machine can run it, and its parameters with their ranges.",
      fmt::format("retensor show {}", example), 1};
  Options add;
  add.json();
  return {usage, add, show_command};
}

}  // namespace retensor::driver
