// What a claim's query makes of rows: the numbers that it reads, with their intervals, and the one
// number and the cases that follow from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "experiments/driver/judge/audit/estimate.hpp"
#include "experiments/driver/judge/claims.hpp"
#include "experiments/driver/run/row.hpp"

namespace retensor::driver {

using Rows = std::vector<const Row*>;

/// Why a query has no number; becomes the reason of `not tested`.
class NotTested : public Error {
 public:
  using Error::Error;
};

/// What a query looks at in a row, with the 95% interval of its samples; no number where it only
/// tells values apart (`distinct`).
struct RowNumber {
  const Row* row = nullptr;
  Estimate number;
};

/// The rows of one part of a query.
struct Taken {
  std::vector<RowNumber> numbers;
  std::size_t wrong = 0;  ///< of them: rows whose result is wrong, which claims about errors take
};

/// What a query comes to.
struct Answer {
  Estimate number;
  std::vector<Estimate> cases;  ///< ratios of `per`, or rows; of an ordering none
};

/// Whether the query reads errors of results: then a row that is wrong belongs to it.
bool reads_errors(const Query& query);

/// Whether a part reads times, or numbers that follow from them.
bool reads_times(const Part& part);

/// What the query looks at, in the order in which its rows are handed on.
std::vector<Part> parts_of(const Query& query);

/// Times of original codes count only where a selection asks for them.
bool matches(const Row& row, const Selection& where);

/// Reads the part's field in its rows. Throws NotTested where it is no number.
Taken read_rows(const Rows& rows, const Part& part);

/// Throws NotTested where the parts have no rows in common or a ratio would be to zero.
Answer answer(const Query& query, const std::vector<Taken>& parts);

}  // namespace retensor::driver
