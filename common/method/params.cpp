// Validation of method parameters against their declaration.
#include "common/method/params.hpp"

#include <cmath>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"

namespace retensor {
namespace {

const char* type_name(const ParamValue& v) {
  constexpr const char* kTypes[] = {"a truth value", "an integer", "a number", "a word"};
  return kTypes[v.index()];
}

ParamValue converted(const ParamSpec& spec, const ParamValue& given) {
  if (given.index() == spec.standard.index()) return given;
  const auto* integer = std::get_if<std::int64_t>(&given);
  if (integer != nullptr && std::holds_alternative<double>(spec.standard))
    return static_cast<double>(*integer);
  throw input_error("parameter {}: found {} '{}', expected {}", spec.name, type_name(given),
                    text(given), type_name(spec.standard));
}

void check_range(const ParamSpec& spec, double x) {
  const auto& limits = spec.limits;
  const bool inside =
      std::isfinite(x) && (!limits || (limits->lowest <= x && x <= limits->highest));
  if (inside) return;
  throw input_error("parameter {}: found {}, expected {}", spec.name, x,
                    limits ? fmt::format("{} to {}", limits->lowest, limits->highest)
                           : std::string("a finite number"));
}

ParamValue checked(const ParamSpec& spec, const ParamValue& given) {
  ParamValue value = converted(spec, given);
  if (const auto* i = std::get_if<std::int64_t>(&value)) check_range(spec, static_cast<double>(*i));
  if (const auto* x = std::get_if<double>(&value)) check_range(spec, *x);
  if (const auto* w = std::get_if<std::string>(&value); w != nullptr && !spec.choices.empty())
    place_among(spec.choices, *w, fmt::format("parameter {}: found", spec.name));
  return value;
}

/// A declaration whose own default would be refused is a defect of the program.
ParamSpec with_sound_default(ParamSpec spec) {
  try {
    checked(spec, spec.standard);
  } catch (const InputError& error) {
    throw logic_error("the default of a parameter is refused: {}", error.what());
  }
  return spec;
}

template <class T>
const T& lookup(const std::map<std::string, ParamValue, std::less<>>& values,
                std::string_view name) {
  const auto at = values.find(name);
  if (at == values.end()) throw logic_error("parameter {} is not declared", name);
  const auto* value = std::get_if<T>(&at->second);
  if (value == nullptr) throw logic_error("parameter {} is {}", name, type_name(at->second));
  return *value;
}

}  // namespace

std::string text(const ParamValue& v) {
  return std::visit([](const auto& x) { return fmt::format("{}", x); }, v);
}

ParamSpec ParamSpec::range(double lowest, double highest) const {
  if (!std::holds_alternative<std::int64_t>(standard) && !std::holds_alternative<double>(standard))
    throw logic_error("parameter {} is {} and has no range", name, type_name(standard));
  ParamSpec spec = *this;
  spec.limits = Range{lowest, highest};
  return with_sound_default(std::move(spec));
}

ParamSpec ParamSpec::words(std::vector<std::string> allowed) const {
  if (!std::holds_alternative<std::string>(standard))
    throw logic_error("parameter {} is {}, no word", name, type_name(standard));
  ParamSpec spec = *this;
  spec.choices = std::move(allowed);
  return with_sound_default(std::move(spec));
}

ParamSpec param(std::string name, ParamValue standard, std::string help) {
  return {std::move(name), std::move(standard), std::move(help), {}, {}};
}

ParamSpec threads_param() {
  return param("threads", 0, "OpenMP threads; 0: all that the machine has").range(0, 4096);
}

ParamSpec prepare_param() {
  return param("prepare", "device",
               "where the format is built from the coordinates: on the device or on the host")
      .words({"device", "host"});
}

ParamSpec precision_param() {
  return param("precision", "fp16",
               "type of the tensor-core operands; split_fp16: each is the sum of two fp16 numbers")
      .words({"fp16", "bf16", "tf32", "split_fp16"});
}

ParamSpec values_param() {
  return param("values", "auto",
               "type of the stored values; auto: the narrowest one that loses nothing at this "
               "precision")
      .words({"auto", "f16", "bf16", "f32"});
}

ParamSchema ParamSchema::with(const std::vector<ParamSpec>& more) const {
  ParamSchema all = *this;
  all.specs_.insert(all.specs_.end(), more.begin(), more.end());
  return all;
}

Params ParamSchema::resolve(const std::map<std::string, ParamValue>& given) const {
  Params params;
  std::vector<std::string> names;
  for (const auto& spec : specs_) {
    names.push_back(spec.name);
    const auto at = given.find(spec.name);
    params.values_[spec.name] = at == given.end() ? spec.standard : checked(spec, at->second);
  }
  for (const auto& [name, value] : given) {
    if (names.empty()) throw input_error("unknown parameter '{}': the method has none", name);
    place_among(names, name, "unknown parameter");
  }
  return params;
}

bool Params::flag(std::string_view name) const {
  return lookup<bool>(values_, name);
}
std::int64_t Params::integer(std::string_view name) const {
  return lookup<std::int64_t>(values_, name);
}
double Params::real(std::string_view name) const {
  return lookup<double>(values_, name);
}
const std::string& Params::word(std::string_view name) const {
  return lookup<std::string>(values_, name);
}

}  // namespace retensor
