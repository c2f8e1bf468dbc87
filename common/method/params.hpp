// Parameters of methods: declared once with defaults, ranges and help; everything is validated
// from the declaration.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace retensor {

using ParamValue = std::variant<bool, std::int64_t, double, std::string>;
std::string text(const ParamValue& v);

/// One parameter: param("order", "arrival", "what it does").words({"arrival", "row"}).
struct ParamSpec {
  struct Range {
    double lowest, highest;
  };

  std::string name;
  ParamValue standard;               ///< the default; its type is the parameter's type
  std::string help;                  ///< one line with unit and the paper's place
  std::optional<Range> limits;       ///< of a number; its ends are allowed
  std::vector<std::string> choices;  ///< of a word; empty: any

  /// The numbers that are allowed, both ends too. Throws LogicError where the default is none of
  /// them.
  ParamSpec range(double lowest, double highest) const;
  /// The words that are allowed. Throws LogicError where the default is none of them.
  ParamSpec words(std::vector<std::string> allowed) const;
};

/// Any number, word or truth value: the default says which.
ParamSpec param(std::string name, ParamValue standard, std::string help);
template <std::unsigned_integral T>
requires(!std::same_as<T, bool>) ParamSpec param(std::string name, T standard, std::string help) {
  return param(std::move(name), static_cast<std::int64_t>(standard), std::move(help));
}

/// `threads`: what a method on the CPU runs with, 0 for as many as the machine gives.
ParamSpec threads_param();
/// `prepare`: where a method on the device makes its format, device or host.
ParamSpec prepare_param();
/// `precision` and `values`: the operands of a tensor core, and how a format stores values for it.
ParamSpec precision_param();
ParamSpec values_param();

class Params;

/// The parameters of one method.
class ParamSchema {
 public:
  ParamSchema() = default;
  ParamSchema(std::initializer_list<ParamSpec> specs) : specs_(specs) {}
  explicit ParamSchema(std::vector<ParamSpec> specs) : specs_(std::move(specs)) {}
  /// These parameters and `more` after them.
  ParamSchema with(const std::vector<ParamSpec>& more) const;
  const std::vector<ParamSpec>& specs() const { return specs_; }
  /// Defaults overlaid with `given`. Throws InputError for an unknown name (naming the nearest
  /// valid one), a wrong type (an integer is accepted for a double), or a value out of range.
  Params resolve(const std::map<std::string, ParamValue>& given) const;

 private:
  std::vector<ParamSpec> specs_;
};

/// Complete, validated parameters; lookups of undeclared names throw LogicError.
class Params {
 public:
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& word(std::string_view name) const;
  const std::map<std::string, ParamValue, std::less<>>& all() const { return values_; }

 private:
  friend class ParamSchema;
  std::map<std::string, ParamValue, std::less<>> values_;
};

}  // namespace retensor
