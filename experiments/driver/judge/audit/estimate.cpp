// Interval arithmetic. Intervals grow where a number occurs twice in a formula, so a check may fit
// that should not, never the other way round.
#include "experiments/driver/judge/audit/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/core/message.hpp"
#include "common/core/text.hpp"

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
  const auto digits =
      e == number.npos ? "0" : number.substr(e + (number.substr(e + 1, 1) == "+" ? 2 : 1));
  return std::pow(10.0, number_in<int>(digits).value_or(0) - decimals);
}

template <class F>
Estimate monotone(const Estimate& x, F f) {
  return {f(x.low), f(x.value), f(x.high)};
}

/// The interval that the four combinations of the ends span; everything where one is undefined.
template <class F>
Estimate corners(const Estimate& a, const Estimate& b, F f) {
  const auto ends = {f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)};
  if (std::ranges::any_of(ends, [](double x) { return std::isnan(x); }))
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
  throw input_error("found function '{}', expected one of {}", found, joined(known, ", "));
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
  const auto value = number_in<double>(number);
  if (!value) return {};
  const bool exact =
      !rounded && factor == 1 && number.find_first_of(".eE") == std::string_view::npos;
  const double unit = exact ? 0 : last_digit(number);
  return Estimate{(*value - unit) * factor, *value * factor, (*value + unit) * factor};
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

}  // namespace retensor::driver
