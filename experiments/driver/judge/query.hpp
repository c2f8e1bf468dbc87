// What a claim's query makes of rows: the numbers that it reads, with their intervals, and the one
// number and the cases that follow from them; what specs leave out of these rows by `exclude`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "experiments/driver/judge/audit/formula.hpp"
#include "experiments/driver/judge/claims.hpp"
#include "experiments/driver/run/row.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

/// Cases that a spec does not measure, by fields of rows.
struct LeftOut {
  std::string artifact;
  Selection when;
  std::string reason;

  bool operator==(const LeftOut&) const = default;
};

/// Those of a spec and of its profiles.
std::vector<LeftOut> exclusions_of(const Spec& spec);

/// Those of which `rows` has none: another profile, or an older form of the spec, may have measured
/// the others.
std::vector<LeftOut> without_rows(std::vector<LeftOut> all, const std::vector<Row>& rows);

/// Those of `all` whose cases the query asks for, of artifacts that it names.
std::vector<LeftOut> exclusions_from(const Query& query, const std::vector<LeftOut>& all);

/// "pasta/fig4 leaves out regS, mode 1: modes of one length".
std::string text_of(const LeftOut& left_out);
nlohmann::json to_json(const LeftOut& left_out);

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
