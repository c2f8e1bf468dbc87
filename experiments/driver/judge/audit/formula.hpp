// Numbers as papers print them, and arithmetic that keeps what rounding leaves open.
//
// The expressions of findings files:
//   check   = sum relation sum
//   sum     = product (('+' | '-') product)*      product = factor (('*' | '/') factor)*
//   factor  = '-' factor | atom ('^' factor)?
//   atom    = number | name | '(' sum ')' | function '(' sum (',' sum)* ')'
//           | function '(' table ':' sum ')'      over the rows of a table
// A name is words joined by points; relations and functions are those below.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/error.hpp"

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
/// `>`,
/// `>=` (hold for some numbers of the intervals).
const std::vector<std::string>& relations();
bool related(const Estimate& left, const std::string& relation, const Estimate& right);
/// Whether an interval spans a factor of ten or reaches zero: a number that is ten times too large
/// would pass, so a check that fits says nothing.
bool is_coarse(const Estimate& x);

/// What names stand for where a formula is evaluated.
class Names {
 public:
  virtual ~Names() = default;
  /// Nothing for an empty cell; throws InputError for an unknown name.
  virtual std::optional<Estimate> value(const std::string& name) const = 0;
  /// The same with a row of the table at hand, for each row; throws InputError for an unknown
  /// table.
  virtual std::vector<std::unique_ptr<Names>> rows(const std::string& table) const = 0;
};

/// A parsed expression. Numbers in it are exact.
struct Formula {
  enum class Kind { number, name, negation, sum, difference, product, quotient, power, call, rows };
  Kind kind = Kind::number;
  double number = 0;
  std::string word;            ///< name, or function of call and rows
  std::string table;           ///< of rows
  std::vector<Formula> parts;  ///< operands, arguments; of rows the one expression
};

struct Check {
  Formula left, right;
  std::string relation;
  std::string text;  ///< as written
};

/// Throws ParseError at `at` with the offset into the text added to its column.
Check parse_check(const std::string& text, const FilePosition& at);
/// Nothing where a cell is empty; rows whose expression has an empty cell are left out.
std::optional<Estimate> evaluate(const Formula& formula, const Names& names);

}  // namespace retensor::driver
