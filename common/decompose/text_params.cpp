#include "common/decompose/text_params.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "common/core/message.hpp"

namespace retensor::cpd {
namespace {

ParamValue value_of(const std::string& text) {
  const auto value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  return text;
}

}  // namespace

std::map<std::string, ParamValue> params_in(const std::string& text) {
  std::map<std::string, ParamValue> params;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw input_error("found '{}', expected a parameter as name=value", word);
    const auto name = word.substr(0, equals);
    if (!params.emplace(name, value_of(word.substr(equals + 1))).second)
      throw input_error("found parameter {} twice in '{}'", name, text);
  }
  return params;
}

}  // namespace retensor::cpd
