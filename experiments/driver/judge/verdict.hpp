// Whether published values hold, computed from rows (design: a verdict states beside the value what
// data, what hardware and whose code it stands on).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/judge/claims.hpp"
#include "experiments/driver/judge/exclusions.hpp"
#include "experiments/driver/judge/query.hpp"
#include "experiments/driver/run/row.hpp"

namespace retensor::driver {

/// Which side rows take. Undecided: the interval of what is measured has the statement's turning
/// point in it.
enum class Decision { holds, fails, undecided };

struct Verdict {
  enum Word {
    reproduced,    ///< holds on the paper's data
    deviates,      ///< fails there
    consistent,    ///< holds on stand-ins, generated or other data, or on some of the data sets
    inconsistent,  ///< fails there
    transfers,     ///< a comparison that holds on other hardware
    does_not_transfer,  ///< one that fails there
    undecided,          ///< samples leave open which side it takes
    fitted,             ///< a stand-in was made so that it holds
    not_tested,
    contradicts_itself  ///< the paper's own equations exclude it
  };

  Word word = not_tested;
  std::string reason;
  std::optional<Estimate> measured;
  std::vector<Estimate> cases;  ///< of a statement "from a to b"
  std::size_t inside = 0;       ///< cases that fit it
  std::size_t wrong = 0;        ///< rows of a claim about errors whose result is wrong
  std::string data;             ///< real, stand-in, generated; the weakest of the rows used
  std::string hardware;         ///< any, paper, other
  std::string competitor;       ///< own, original; empty where nothing is compared
  std::string machine;          ///< the device of the rows
  std::size_t rows = 0;         ///< rows that count
  std::size_t of = 0;           ///< rows that match
  std::size_t broken = 0;  ///< rows that match whose method crashed, ran out of memory or time, or
                           ///< is wrong: what else holds is undecided
  std::size_t stale = 0;   ///< rows that count whose method has other code now
  /// Rows that count by how they relate to today's code: sources, kernels, confirmed, unknown,
  /// stale.
  std::map<std::string, std::size_t> currency;
  std::vector<std::string> keys;   ///< of these rows: figures set the published value beside them
  std::set<std::string> failures;  ///< why rows that match do not count, with method and data set
  std::vector<LeftOut> excluded;   ///< cases that specs leave out of what the query asks for
  std::size_t named = 0;           ///< of the claim's `whole` data sets, those that have rows
  std::vector<Taken> taken;        ///< what was read, by part of the query
  /// By how much, at most, another launch may change the times that were read, by calibrations.
  double between_launches = 0;
  bool times_count = true;  ///< false: by the calibration of a machine no difference of theirs does
};

std::string_view name(Verdict::Word word);
/// All words.
std::vector<std::string> verdict_words();
/// Kinds of data that a verdict may stand on, the paper's own first.
const std::vector<std::string>& verdict_data();
/// Whether a verdict speaks for the claim or against it; empty where it says nothing of it.
std::optional<bool> holds(Verdict::Word word);

/// What the registry says of data sets.
struct DataSets {
  /// Names of stand-ins with the claims to which they were fitted.
  std::map<std::string, std::set<std::string>> fitted_to = {};
  /// The tensor that a data set is or stands for, where the registry has it.
  std::map<std::string, std::string> original = {};
  /// The papers that use a tensor.
  std::map<std::string, std::set<std::string>> papers = {};
};

/// `rows` as newest_rows() gives them. Of a paper's methods rows in the published form alone count.
/// Rows of different devices are not mixed, nor are kinds of data unless the query names its data
/// sets; of several verdicts the one on the paper's hardware and data is kept. A claim about errors
/// takes every row, and one that is wrong fails it. `exclusions` are those of all specs that `rows`
/// does not have.
Verdict judge(const Claim& claim, const std::vector<Row>& rows, const DataSets& data,
              const std::vector<LeftOut>& exclusions = {});

/// What these numbers say of the claim; `wrong` counts rows as Taken does.
Decision decide(const Claim& claim, const std::vector<Taken>& parts);

/// One entry of `verdict --json` (experiments/schema).
nlohmann::json to_json(const Claim& claim, const Verdict& verdict);

}  // namespace retensor::driver
