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
#include "experiments/driver/run/row.hpp"

namespace retensor::driver {

struct Verdict {
  enum Word {
    reproduced,         ///< holds on the paper's data
    deviates,           ///< fails there
    consistent,         ///< holds on stand-ins, generated or other data
    inconsistent,       ///< fails there
    transfers,          ///< a comparison that holds on other hardware
    does_not_transfer,  ///< one that fails there
    fitted,             ///< a stand-in was made so that it holds
    not_tested,
    contradicts_itself  ///< the paper's own equations exclude it
  };

  Word word = not_tested;
  std::string reason;
  std::optional<double> measured;
  std::string data;        ///< real, stand-in, generated; the weakest of the rows used
  std::string hardware;    ///< any, paper, other
  std::string competitor;  ///< own, original; empty where nothing is compared
  std::string machine;     ///< the device of the rows
  std::size_t rows = 0;    ///< rows that are ok
  std::size_t of = 0;      ///< rows that match
  std::size_t stale = 0;   ///< ok rows whose method has other code now
  /// Ok rows by how they relate to today's code: sources, kernels, confirmed, unknown, stale.
  std::map<std::string, std::size_t> currency;
  std::vector<std::string> keys;  ///< of the ok rows: figures set the published value beside them
};

std::string_view name(Verdict::Word word);
/// Whether a verdict speaks for the claim or against it; empty where it says nothing of it.
std::optional<bool> holds(Verdict::Word word);

/// Names of stand-ins with the claims to which they were fitted.
using FittedTo = std::map<std::string, std::set<std::string>>;

/// `rows` as newest_rows() gives them. Rows of *.tuned methods never count. Rows of different
/// devices are not mixed, nor are kinds of data unless the query names its data sets; of several
/// verdicts the one on the paper's hardware and data is kept.
Verdict judge(const Claim& claim, const std::vector<Row>& rows, const FittedTo& fitted_to);

/// One entry of `verdict --json` (experiments/schema).
nlohmann::json to_json(const Claim& claim, const Verdict& verdict);

}  // namespace retensor::driver
