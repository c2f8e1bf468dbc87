// Cases as JSON: what a worker receives and what a row is keyed by.
#include "experiments/driver/spec/case.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/core/hash.hpp"
#include "common/core/message.hpp"
#include "experiments/driver/spec/foreign.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace {

using nlohmann::json;

json params_to_json(const std::map<std::string, ParamValue>& params) {
  auto object = json::object();
  for (const auto& [name, value] : params) object[name] = json_value(value);
  return object;
}

/// Members that single operations use.
void add_extras(json& j, const ProblemSpec& p) {
  if (p.operation == Operation::ts) j["scalar"] = p.scalar;
  if (p.operation == Operation::contraction) {
    j["alpha"] = p.alpha;
    j["beta"] = p.beta;
  }
  if (p.operation == Operation::cpd) {
    j["max_sweeps"] = p.max_sweeps;
    j["tolerance"] = p.tolerance;
  }
}

/// Leaves the standard value where a member is null or missing.
template <class T>
void read_if_there(const json& j, const char* member, T& value) {
  const auto at = j.find(member);
  if (at != j.end() && !at->is_null()) at->get_to(value);
}

ProblemSpec problem_from_json(const json& j) {
  ProblemSpec p;
  p.operation = operation_from_name(j.at("operation").get<std::string>());
  p.variant = j.at("variant").get<std::string>();
  p.dtype = dtype_from_name(j.at("dtype").get<std::string>());
  p.values = value_model_from_name(j.at("values").get<std::string>());
  p.operands = value_model_from_name(j.at("operands").get<std::string>());
  p.seed = j.at("seed").get<std::uint64_t>();
  read_if_there(j, "mode", p.mode);
  read_if_there(j, "rank", p.rank);
  read_if_there(j, "rank2", p.rank2);
  read_if_there(j, "scalar", p.scalar);
  read_if_there(j, "alpha", p.alpha);
  read_if_there(j, "beta", p.beta);
  read_if_there(j, "max_sweeps", p.max_sweeps);
  read_if_there(j, "tolerance", p.tolerance);
  return p;
}

}  // namespace

bool is_gpu_method(std::string_view method) {
  const auto backend = method.substr(std::min(method.find('.'), method.size()));
  return backend == ".cuda" || backend.starts_with(".cuda.");
}

std::string_view name(Order order) {
  constexpr std::string_view kNames[] = {"shuffled", "rotation", "blocked"};
  return kNames[static_cast<int>(order)];
}

std::string_view name(Cache cache) {
  return cache == Cache::warm ? "warm" : "flushed";
}

json to_json(const Case& c, const json& data) {
  const auto& p = c.problem;
  json j = {{"artifact", c.artifact},
            {"operation", name(p.operation)},
            {"variant", p.variant},
            {"dataset", c.dataset},
            {"data", data},
            {"mode", c.has_mode ? json(p.mode) : json()},
            {"rank", has_rank(p.operation) ? json(p.rank) : json()},
            {"rank2", p.operation == Operation::ttm_chain ? json(p.rank2) : json()},
            {"dtype", name(p.dtype)},
            {"values", name(p.values)},
            {"operands", name(p.operands)},
            {"seed", p.seed},
            {"method", c.method},
            {"params", params_to_json(c.params)},
            {"order", c.interleaved ? kInterleaved : name(c.order)},
            {"cache", name(c.cache)},
            {"launch", c.launch}};
  if (c.foreign) j["foreign"] = driver::to_json(*c.foreign);
  add_extras(j, p);
  return j;
}

Case case_from_json(const json& j) {
  try {
    Case c;
    c.artifact = j.at("artifact").get<std::string>();
    c.dataset = j.at("dataset").get<std::string>();
    c.problem = problem_from_json(j);
    c.has_mode = !j.at("mode").is_null();
    c.method = j.at("method").get<std::string>();
    for (const auto& [name, value] : j.at("params").items()) c.params[name] = param_value(value);
    const auto order = j.at("order").get<std::string>();
    c.interleaved = order == kInterleaved;
    if (!c.interleaved) c.order = value_named(order, Order::blocked);
    c.cache = value_named(j.at("cache").get<std::string>(), Cache::flushed);
    c.launch = j.at("launch").get<int>();
    if (const auto code = j.find("foreign"); code != j.end())
      c.foreign = std::make_shared<const ForeignEntry>(foreign_from_json(*code));
    return c;
  } catch (const json::exception& e) {
    throw input_error("case: {}", e.what());
  }
}

bool is_from_outside(const Case& c) {
  return c.foreign && !c.foreign->own;
}

std::string case_key(const json& case_object) {
  return sha256_hex(case_object.dump());
}

}  // namespace retensor::driver
