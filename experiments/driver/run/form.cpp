#include "experiments/driver/run/form.hpp"

#include <string>

#include <nlohmann/json.hpp>

#include "common/method/registry.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {

std::string_view form_of(const nlohmann::json& line) {
  static const Registry methods = all_methods();
  const auto& row_case = line.at("case");
  if (row_case.contains("foreign")) return kOwnForm;
  const auto told = [&](const std::string& name) {
    const bool ran = name.starts_with("executed.");
    const auto& value = ran ? field(line, name) : field(row_case, "params." + name);
    if (value.is_null()) return std::string();
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  return methods.form(text_of(row_case, "method")).is_published(told) ? kPublishedForm : kOwnForm;
}

}  // namespace retensor::driver
