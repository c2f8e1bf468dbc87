// Published values and the queries that measure them (papers/<id>/paper/claims.yaml,
// experiments/schema).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/yaml/shape.hpp"

namespace retensor::driver {

/// What stands in place of a paper's id in the claims of the project about itself.
inline constexpr const char* kProject = "retensor";

/// Rows by dotted field; a field may have any of the listed values.
using Selection = std::map<std::string, std::vector<nlohmann::json>>;

/// Rows and the field that is looked at in them.
struct Part {
  Selection where;
  std::string value;
  std::string reduce;    ///< median, mean, min, max, geomean, count, distinct
  std::string contains;  ///< not empty: a row's number is 1 where its field has this text, else 0
};

/// How rows become one number. Plain: `reduce` over `value` of the rows of `where`. With
/// `ratio_to`: divided by the same over its part, which takes what it does not state from the query
/// (its rows, field or reduction); with `per`, a ratio of medians for each combination of those
/// fields that both selections have (of `within` in place of it), then `reduce` over the ratios.
/// With `over`: that ratio divided by the same ratio of its two parts.
/// With `orders`: the share of `per` groups (one group without `per`) in which the reduced values
/// of the parts ascend.
struct Query : Part {
  std::optional<Part> ratio_to;
  std::vector<Part> over;  ///< none, or what stands above and below in the second ratio
  std::vector<Part> orders;
  std::vector<std::string> per;
  std::string within = "median";  ///< how rows that agree in `per` become one number: min, max,
                                  ///< spread (the largest over the least)
  bool all_machines = false;  ///< rows of different ones stand together: no machine changes them
  std::string competitor = "own";  ///< code of what is compared with: own, original

  bool compares() const { return ratio_to.has_value() || !orders.empty(); }
};

/// The published number lies in [low, high]; a value has both ends equal.
struct Interval {
  double low = 0, high = 0;
};

/// What may differ without contradicting the paper: a share of the published number, an amount, or
/// a factor (1 or more) by which what is measured may lie above or below it.
struct Tolerance {
  double relative = 0, absolute = 0, factor = 1;
};

struct FormerClaim;

/// Why a claim does not hold, and the claims (of any paper, or of the project) whose rows show it.
struct Cause {
  std::string says;
  std::vector<std::string> shown_by;
};

struct Claim {
  std::string paper, id, place, kind, states, file;
  /// measurement: a quantity that the code could get otherwise (time, bytes as stored, error,
  /// counter); property: of format or algorithm, checked on data; setting, definition: read back.
  std::string asks;
  std::uint64_t line = 0;
  nlohmann::json published;      ///< as written: {value | at_least | at_most | range, unit}
  nlohmann::json allowed;        ///< the tolerance as written: {relative | absolute | factor}
  Interval interval;             ///< of `published`, when there is a query
  std::string hardware = "any";  ///< the paper's machine; rows match by a part of the device's name
  std::string hardware_kind;     ///< gpu, cpu, or empty where the file does not say
  Tolerance tolerance;
  std::optional<Query> query;
  std::string untested;     ///< reason why there is no query
  std::string contradicts;  ///< the paper's own equations that exclude the claim
  std::string fitted;       ///< the stand-in that was fitted to it
  std::string headline;  ///< what the paper's abstract promises, in a few words; empty for others
  std::optional<Cause> cause;
  std::size_t whole = 0;  ///< data sets that the statement is about; 0: it names no set
  std::vector<FormerClaim> earlier;
  bool any_form = false;  ///< of one that stood before: takes rows of the project's own forms too

  /// Whether rows can say otherwise; settings and definitions are the set-up.
  bool can_fail() const { return asks == "measurement" || asks == "property"; }
};

/// A form of a claim that stood before rows were known, and why another took its place.
struct FormerClaim {
  std::string because;
  Claim claim;
};

/// What a file of claims may hold.
ShapePtr claims_shape();
/// By which claims are grouped: SET, DATA, EQ ...
const std::vector<std::string>& claim_kinds();

/// Throws ParseError with file and line: another shape, a range upside down, a factor around a
/// number that is not positive, a query that names a *.tuned method, an id a second time.
std::vector<Claim> load_claims(const std::string& path);
/// The same for text in memory; `name` stands for the file.
std::vector<Claim> parse_claims(std::string_view text, const std::string& name);

}  // namespace retensor::driver
