// Numbers as papers print them, and arithmetic that keeps what rounding leaves open.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retensor::driver {

/// A number and the interval in which what it stands for may lie.
struct Estimate {
  double low = 0, value = 0, high = 0;
  /// An exact number.
  static Estimate exact(double x) { return {x, x, x}; }
};

/// A printed number: digits with an optional point, exponent (`3.72E-9`) and suffix (`K`, `M`, `G`
/// for 10^3, 10^6, 10^9, or `%`). Integers without exponent and suffix are exact. All others, and
/// integers after `~`, may be off by one unit of the last digit either way, which holds however a
/// paper rounds. Nothing where the text is no such number.
std::optional<Estimate> parse_printed(std::string_view text);

Estimate operator-(const Estimate& a);
Estimate operator+(const Estimate& a, const Estimate& b);
Estimate operator-(const Estimate& a, const Estimate& b);
Estimate operator*(const Estimate& a, const Estimate& b);
/// A divisor that may be zero leaves everything open.
Estimate operator/(const Estimate& a, const Estimate& b);
/// For bases above zero; leaves everything open for others.
Estimate power(const Estimate& base, const Estimate& exponent);
/// Two arguments or more of min and max; one of log2, sqrt, ceil, floor. Throws InputError.
Estimate function_of(const std::string& function, const std::vector<Estimate>& arguments);
/// sum, mean, geomean, min, max over one or more numbers. Throws InputError.
Estimate reduction_of(const std::string& function, const std::vector<Estimate>& numbers);

/// How a check may relate its sides: `=` (the intervals meet), `==` (printed alike), `<`, `<=`,
/// `>`, `>=` (hold for some numbers of the intervals).
const std::vector<std::string>& relations();
bool related(const Estimate& left, const std::string& relation, const Estimate& right);
/// Whether an interval spans a factor of ten or reaches zero: a number that is ten times too large
/// would pass, so a check that fits says nothing.
bool is_coarse(const Estimate& x);

}  // namespace retensor::driver
