// Validation of method parameters against their declaration, and the nearest-name search that every
// "unknown ..." message uses.
#include "common/measure/params.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

#include "common/core/error.hpp"

namespace retensor {
namespace {

const char* type_name(const ParamValue& v) {
  constexpr const char* kNames[] = {"a truth value", "an integer", "a number", "a word"};
  return kNames[v.index()];
}

ParamValue converted(const ParamSpec& spec, const ParamValue& given) {
  if (given.index() == spec.standard.index()) return given;
  const auto* integer = std::get_if<std::int64_t>(&given);
  if (integer != nullptr && std::holds_alternative<double>(spec.standard))
    return static_cast<double>(*integer);
  throw InputError(fmt::format("parameter {}: found {} '{}', expected {}", spec.name,
                               type_name(given), text(given), type_name(spec.standard)));
}

void check_range(const ParamSpec& spec, double x) {
  const bool limited = spec.lowest != 0 || spec.highest != 0;
  const bool inside = std::isfinite(x) && (!limited || (spec.lowest <= x && x <= spec.highest));
  if (inside) return;
  throw InputError(fmt::format("parameter {}: found {}, expected {}", spec.name, x,
                               limited ? fmt::format("{} to {}", spec.lowest, spec.highest)
                                       : std::string("a finite number")));
}

void check_choice(const ParamSpec& spec, const std::string& word) {
  const auto& allowed = spec.choices;
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), word) != allowed.end()) return;
  throw InputError(fmt::format("parameter {}: found '{}', expected one of {}; nearest is '{}'",
                               spec.name, word, boost::algorithm::join(allowed, ", "),
                               nearest(word, allowed)));
}

ParamValue checked(const ParamSpec& spec, const ParamValue& given) {
  ParamValue value = converted(spec, given);
  if (const auto* i = std::get_if<std::int64_t>(&value)) check_range(spec, static_cast<double>(*i));
  if (const auto* x = std::get_if<double>(&value)) check_range(spec, *x);
  if (const auto* w = std::get_if<std::string>(&value)) check_choice(spec, *w);
  return value;
}

template <class T>
const T& lookup(const std::map<std::string, ParamValue, std::less<>>& values,
                std::string_view name) {
  const auto at = values.find(name);
  if (at == values.end()) throw LogicError(fmt::format("parameter {} is not declared", name));
  const auto* value = std::get_if<T>(&at->second);
  if (value == nullptr)
    throw LogicError(fmt::format("parameter {} is {}", name, type_name(at->second)));
  return *value;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string text(const ParamValue& v) {
  return std::visit([](const auto& x) { return fmt::format("{}", x); }, v);
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
    if (params.values_.count(name) != 0) continue;
    throw InputError(
        names.empty()
            ? fmt::format("unknown parameter '{}': the method has none", name)
            : fmt::format("unknown parameter '{}', nearest is '{}'", name, nearest(name, names)));
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

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [word](const std::string& a, const std::string& b) {
                                       return edit_distance(word, a) < edit_distance(word, b);
                                     });
  return best == candidates.end() ? std::string() : *best;
}

}  // namespace retensor
