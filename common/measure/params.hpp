// Parameters of methods: declared once with defaults, ranges and help; everything is validated
// from the declaration.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace retensor {

using ParamValue = std::variant<bool, std::int64_t, double, std::string>;
std::string text(const ParamValue& v);

struct ParamSpec {
  std::string name;
  ParamValue standard;               ///< the default; its type is the parameter's type
  std::string help;                  ///< one line with unit and the paper's place
  double lowest = 0, highest = 0;    ///< range of a number; no limit when both are 0
  std::vector<std::string> choices;  ///< allowed words of a string parameter
};

class Params;

/// The parameters of one method.
class ParamSchema {
 public:
  ParamSchema() = default;
  ParamSchema(std::initializer_list<ParamSpec> specs) : specs_(specs) {}
  explicit ParamSchema(std::vector<ParamSpec> specs) : specs_(std::move(specs)) {}
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

/// The candidate with the smallest edit distance to `word`; empty when there is none.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace retensor
