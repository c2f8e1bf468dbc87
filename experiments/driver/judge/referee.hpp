// Two contestants on the same problems: which is faster where, and what makes the comparison
// unfair.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "experiments/driver/judge/compare.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {

/// What referee() looks at in a row.
extern const Members kMembersForReferee;

/// A method with its parameters that differ among the rows, and its rows.
struct Contestant {
  std::string name;
  std::vector<Row> rows;
};
/// Of rows of one artifact, in the order of their names.
std::vector<Contestant> contestants(const std::vector<Row>& rows);

/// A problem that both were measured on.
struct Round {
  Pair pair;
  std::string undecided;  ///< why the times do not say who is faster; empty where they do
};

struct Bout {
  std::string a, b;
  std::vector<Round> rounds;
  std::size_t a_faster = 0, b_faster = 0, equal = 0;  ///< rounds by their outcome
  std::optional<Ratio> mean;       ///< geometric mean of B over A, of all rounds whose rows are ok
  std::vector<std::string> lints;  ///< in sentences, the gravest first
  std::set<std::string> rules;     ///< in sentences, by which differences count
};

/// The pair of `compare`, with its rule, and what the rows tell of fairness. `variants` is the
/// number of contestants by method.
Bout referee(const Contestant& a, const Contestant& b,
             const std::map<std::string, std::size_t>& variants,
             const std::vector<Calibration>& calibrations);

}  // namespace retensor::driver
