// The expressions of findings files:
//   check   = sum relation sum
//   sum     = product (('+' | '-') product)*      product = factor (('*' | '/') factor)*
//   factor  = '-' factor | atom ('^' factor)?
//   atom    = number | name | '(' sum ')' | function '(' sum (',' sum)* ')'
//           | function '(' table ':' sum ')'      over the rows of a table
// A name is words joined by points; relations and functions are those of estimate.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "experiments/driver/judge/audit/estimate.hpp"

namespace retensor::driver {

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
