// Interval arithmetic. Intervals grow where a number occurs twice in a formula, so a check may fit
// that should not, never the other way round.
//
// Recursive descent; a nesting limit keeps hostile input from the stack's end.
#include "experiments/driver/judge/audit/formula.hpp"

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/core/error.hpp"

namespace retensor::driver {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// The factor that a suffix stands for; 1 for a digit.
double suffix_factor(char suffix) {
  switch (suffix) {
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    case '%':
      return 1e-2;
    default:
      return 1;
  }
}

/// One unit of the last digit of a number without suffix.
double last_digit(std::string_view number) {
  const auto e = number.find_first_of("eE");
  const auto mantissa = number.substr(0, e);
  const auto point = mantissa.find('.');
  const int decimals =
      point == std::string_view::npos ? 0 : static_cast<int>(mantissa.size() - point - 1);
  int exponent = 0;
  if (e != std::string_view::npos) {
    const auto digits = number.substr(e + 1 + (number.substr(e + 1, 1) == "+" ? 1 : 0));
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  }
  return std::pow(10.0, exponent - decimals);
}

template <class F>
Estimate monotone(const Estimate& x, F f) {
  return {f(x.low), f(x.value), f(x.high)};
}

/// The interval that the four combinations of the ends span; everything where one is undefined.
template <class F>
Estimate corners(const Estimate& a, const Estimate& b, F f) {
  const auto ends = {f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)};
  if (std::any_of(ends.begin(), ends.end(), [](double x) { return std::isnan(x); }))
    return {-kUnbounded, f(a.value, b.value), kUnbounded};
  return {std::min(ends), f(a.value, b.value), std::max(ends)};
}

template <class F>
Estimate fold(const std::vector<Estimate>& numbers, F f) {
  return std::accumulate(numbers.begin() + 1, numbers.end(), numbers.front(), f);
}

Estimate smaller(const Estimate& a, const Estimate& b) {
  return {std::min(a.low, b.low), std::min(a.value, b.value), std::min(a.high, b.high)};
}

Estimate larger(const Estimate& a, const Estimate& b) {
  return {std::max(a.low, b.low), std::max(a.value, b.value), std::max(a.high, b.high)};
}

Estimate logarithm(const Estimate& x) {
  return monotone(x, [](double v) { return v > 0 ? std::log2(v) : -kUnbounded; });
}

[[noreturn]] void refuse_function(const std::string& found, const std::vector<std::string>& known) {
  throw InputError(fmt::format("found function '{}', expected one of {}", found,
                               boost::algorithm::join(known, ", ")));
}

/// Decimals have no exact binary form.
double slack(double x) {
  return std::isinf(x) ? 0 : 1e-9 * std::abs(x);
}

}  // namespace

std::optional<Estimate> parse_printed(std::string_view text) {
  const bool rounded = text.substr(0, 1) == "~";
  if (rounded) text.remove_prefix(1);
  const double factor = text.empty() ? 1 : suffix_factor(text.back());
  const auto number = factor == 1 ? text : text.substr(0, text.size() - 1);
  // from_chars also takes inf, nan and a sign, which no figure of a paper has.
  if (number.find_first_not_of("0123456789.eE+-") != std::string_view::npos ||
      number.substr(0, 1) == "-")
    return {};
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) return {};
  const bool exact =
      !rounded && factor == 1 && number.find_first_of(".eE") == std::string_view::npos;
  const double unit = exact ? 0 : last_digit(number);
  return Estimate{(value - unit) * factor, value * factor, (value + unit) * factor};
}

Estimate operator-(const Estimate& a) {
  return {-a.high, -a.value, -a.low};
}

Estimate operator+(const Estimate& a, const Estimate& b) {
  return {a.low + b.low, a.value + b.value, a.high + b.high};
}

Estimate operator-(const Estimate& a, const Estimate& b) {
  return a + -b;
}

Estimate operator*(const Estimate& a, const Estimate& b) {
  return corners(a, b, [](double x, double y) { return x * y; });
}

Estimate operator/(const Estimate& a, const Estimate& b) {
  if (b.low <= 0 && b.high >= 0) return {-kUnbounded, a.value / b.value, kUnbounded};
  return corners(a, b, [](double x, double y) { return x / y; });
}

Estimate power(const Estimate& base, const Estimate& exponent) {
  return corners(base, exponent, [](double x, double y) {
    return x > 0 ? std::pow(x, y) : std::numeric_limits<double>::quiet_NaN();
  });
}

Estimate function_of(const std::string& function, const std::vector<Estimate>& arguments) {
  const auto& first = arguments.at(0);
  if (arguments.size() > 1) {
    if (function == "min") return fold(arguments, smaller);
    if (function == "max") return fold(arguments, larger);
    refuse_function(function + "' of several numbers '", {"min", "max"});
  }
  if (function == "log2") return logarithm(first);
  if (function == "sqrt")
    return monotone(first, [](double v) { return std::sqrt(std::max(v, 0.0)); });
  if (function == "ceil") return monotone(first, [](double v) { return std::ceil(v); });
  if (function == "floor") return monotone(first, [](double v) { return std::floor(v); });
  refuse_function(function, {"log2", "sqrt", "ceil", "floor"});
}

Estimate reduction_of(const std::string& function, const std::vector<Estimate>& numbers) {
  const auto count = Estimate::exact(static_cast<double>(numbers.size()));
  if (function == "min") return fold(numbers, smaller);
  if (function == "max") return fold(numbers, larger);
  if (function == "sum") return fold(numbers, [](auto a, auto b) { return a + b; });
  if (function == "mean") return fold(numbers, [](auto a, auto b) { return a + b; }) / count;
  if (function == "geomean")
    return power(fold(numbers, [](auto a, auto b) { return a * b; }), Estimate::exact(1) / count);
  refuse_function(function, {"sum", "mean", "geomean", "min", "max"});
}

const std::vector<std::string>& relations() {
  static const std::vector<std::string> all = {"==", "<=", ">=", "=", "<", ">"};
  return all;
}

bool related(const Estimate& left, const std::string& relation, const Estimate& right) {
  const auto at_most = [](double a, double b) { return a <= b + slack(a) + slack(b); };
  const auto below = [](double a, double b) { return a < b; };
  if (relation == "=") return at_most(left.low, right.high) && at_most(right.low, left.high);
  if (relation == "==") return at_most(left.value, right.value) && at_most(right.value, left.value);
  if (relation == "<=") return at_most(left.low, right.high);
  if (relation == ">=") return at_most(right.low, left.high);
  return relation == "<" ? below(left.low, right.high) : below(right.low, left.high);
}

bool is_coarse(const Estimate& x) {
  if (x.low == x.high) return false;
  if (x.high < 0) return is_coarse(-x);
  return !(x.low > 0 && x.high < 10 * x.low);
}

namespace {

constexpr int kMaxDepth = 50;
constexpr int kMaxOperands = 1000;  // a chain of operators is evaluated as deep as it is long

bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool in_word(char c) {
  return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

class Parser {
 public:
  Parser(const std::string& text, const FilePosition& at) : text_(text), at_(at) {}

  Check check() {
    Check result;
    result.text = text_;
    result.left = sum();
    const auto& known = relations();
    const auto relation = std::find_if(known.begin(), known.end(),
                                       [&](const std::string& word) { return take(word); });
    if (relation == known.end()) refuse("a relation: = == < <= > >=");
    result.relation = *relation;
    result.right = sum();
    blanks();
    if (next_ < text_.size()) refuse("an operator or the end");
    return result;
  }

 private:
  using Kind = Formula::Kind;

  [[noreturn]] void refuse(const std::string& expected) {
    blanks();
    auto where = at_;
    where.column += next_;
    const auto found =
        next_ < text_.size() ? fmt::format("'{}'", text_.substr(next_, 20)) : "the end";
    throw ParseError(where, found, expected);
  }

  void blanks() {
    while (next_ < text_.size() && text_[next_] == ' ') ++next_;
  }

  char peek() {
    blanks();
    return next_ < text_.size() ? text_[next_] : '\0';
  }

  bool take(const std::string& sign) {
    blanks();
    if (text_.compare(next_, sign.size(), sign) != 0) return false;
    next_ += sign.size();
    return true;
  }

  void need(const std::string& sign) {
    if (!take(sign)) refuse("'" + sign + "'");
  }

  template <class... Operands>
  static Formula joined(Kind kind, Operands... operands) {
    Formula f;
    f.kind = kind;
    (f.parts.push_back(std::move(operands)), ...);
    return f;
  }

  /// What `next` reads, joined from the left by either of two signs.
  Formula chain(Formula (Parser::*next)(), const char* sign, Kind kind, const char* other,
                Kind other_kind) {
    auto left = (this->*next)();
    for (;;) {
      if (take(sign))
        left = joined(kind, std::move(left), (this->*next)());
      else if (take(other))
        left = joined(other_kind, std::move(left), (this->*next)());
      else
        return left;
    }
  }
  Formula sum() { return chain(&Parser::product, "+", Kind::sum, "-", Kind::difference); }
  Formula product() { return chain(&Parser::factor, "*", Kind::product, "/", Kind::quotient); }

  Formula factor() {
    if (++depth_ > kMaxDepth) refuse(fmt::format("at most {} levels", kMaxDepth));
    if (++operands_ > kMaxOperands) refuse(fmt::format("at most {} operands", kMaxOperands));
    auto result = take("-") ? joined(Kind::negation, factor()) : raised(atom());
    --depth_;
    return result;
  }

  Formula raised(Formula base) {
    return take("^") ? joined(Kind::power, std::move(base), factor()) : base;
  }

  Formula atom() {
    if (take("(")) {
      auto inner = sum();
      need(")");
      return inner;
    }
    return begins_word(peek()) ? name_or_call() : number();
  }

  Formula number() {
    blanks();
    const auto end = std::min(text_.find_first_not_of("0123456789.", next_), text_.size());
    const auto value = parse_printed(text_.substr(next_, end - next_));
    if (!value) refuse("a number, a name or '('");
    next_ = end;
    Formula f;
    f.number = value->value;
    return f;
  }

  std::string word() {
    if (!begins_word(peek())) refuse("a name");
    const auto start = next_;
    while (next_ < text_.size() && in_word(text_[next_])) ++next_;
    return text_.substr(start, next_ - start);
  }

  std::string path() {
    auto name = word();
    while (next_ < text_.size() && text_[next_] == '.') {
      ++next_;
      name += "." + word();
    }
    return name;
  }

  Formula name_or_call() {
    Formula f;
    f.kind = Kind::name;
    f.word = path();
    if (!take("(")) return f;
    const auto start = next_;
    if (begins_word(peek())) {
      f.table = word();
      f.kind = take(":") ? Kind::rows : Kind::call;
    }
    if (f.kind != Kind::rows) {
      f.kind = Kind::call;
      f.table.clear();
      next_ = start;
    }
    f.parts.push_back(sum());
    while (f.kind == Kind::call && take(",")) f.parts.push_back(sum());
    need(")");
    return f;
  }

  const std::string& text_;
  FilePosition at_;
  std::size_t next_ = 0;
  int depth_ = 0, operands_ = 0;
};

std::optional<Estimate> over_rows(const Formula& f, const Names& names) {
  std::vector<Estimate> numbers;
  for (const auto& row : names.rows(f.table))
    if (const auto number = evaluate(f.parts[0], *row)) numbers.push_back(*number);
  if (numbers.empty()) return {};
  return reduction_of(f.word, numbers);
}

}  // namespace

Check parse_check(const std::string& text, const FilePosition& at) {
  return Parser(text, at).check();
}

std::optional<Estimate> evaluate(const Formula& f, const Names& names) {
  using Kind = Formula::Kind;
  if (f.kind == Kind::number) return Estimate::exact(f.number);
  if (f.kind == Kind::name) return names.value(f.word);
  if (f.kind == Kind::rows) return over_rows(f, names);
  std::vector<Estimate> parts;
  // All are evaluated though one may be empty, so that an unknown name never goes unseen.
  for (const auto& part : f.parts)
    if (const auto number = evaluate(part, names)) parts.push_back(*number);
  if (parts.size() < f.parts.size()) return {};
  switch (f.kind) {
    case Kind::negation:
      return -parts[0];
    case Kind::sum:
      return parts[0] + parts[1];
    case Kind::difference:
      return parts[0] - parts[1];
    case Kind::product:
      return parts[0] * parts[1];
    case Kind::quotient:
      return parts[0] / parts[1];
    case Kind::power:
      return power(parts[0], parts[1]);
    default:
      return function_of(f.word, parts);
  }
}

}  // namespace retensor::driver
