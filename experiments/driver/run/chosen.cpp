#include "experiments/driver/run/chosen.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/driver/spec/auto_method.hpp"

namespace retensor::driver {
namespace {

using nlohmann::json;

constexpr std::string_view kBetween = ", ";

json without_method(json case_object) {
  case_object.erase("method");
  case_object.erase("params");
  return case_object;
}

bool names(const std::string& all, const std::string& name) {
  return fmt::format("{}{}{}", kBetween, all, kBetween)
             .find(fmt::format("{}{}{}", kBetween, name, kBetween)) != std::string::npos;
}

}  // namespace

std::string also_chosen_by(const std::string& all, const std::string& name) {
  if (all.empty() || names(all, name)) return all.empty() ? name : all;
  return fmt::format("{}{}{}", all, kBetween, name);
}

const Row* chosen_row(const std::map<std::string, Row>& rows, const Case& wanted,
                      const json& data) {
  const auto problem = without_method(to_json(wanted, data));
  const auto name = name_of_auto(wanted.params);
  for (const auto& [key, row] : rows) {
    const auto& said = row.field("executed.chosen_by");
    if (said.is_string() && names(said.get_ref<const std::string&>(), name) &&
        without_method(row.row_case()) == problem)
      return &row;
  }
  return nullptr;
}

}  // namespace retensor::driver
