// A row's key is a hash, so rows in the order of their keys are in no order of methods, data sets
// or parameters: the first ones are a sample of them.
#include "experiments/driver/run/confirm.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/driver/run/currency.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr std::size_t kSmallestSample = 5;
constexpr std::size_t kShare = 10;  // one row of so many

// Unchanged kernels take other times in another session: 96 rows of 12 methods measured again on an
// H200 a day later differed by a factor of 0.92 to 1.12 (90 of them of 0.96 to 1.04), far more than
// the samples of one session do, while the mean of a method's rows moved by 2% at most where it had
// more than two. A change that makes kernels 5% slower moves that mean.
constexpr double kBetweenSessions = 0.05;  // of a row's median
constexpr double kOfMethod = 0.03;         // of the geometric mean of a method's rows

json to_json(const Repetition& r) {
  return {{"key", r.key}, {"before", r.before}, {"after", r.after}, {"agrees", r.agrees()}};
}

}  // namespace

std::vector<Row> rows_to_confirm(const std::vector<Row>& rows, bool dirty) {
  std::vector<Row> chosen;
  for (const auto& row : rows)
    if (row.ok() && (row.is_stale() || (dirty && row.field("git.dirty") == true)))
      chosen.push_back(row);
  return chosen;
}

std::vector<Row> sample_of(const std::vector<Row>& rows) {
  std::map<std::string, const Row*> by_key;
  for (const auto& row : rows) by_key[row.key()] = &row;
  const auto size = std::max(kSmallestSample, (rows.size() + kShare - 1) / kShare);
  std::set<std::string> met;
  std::vector<Row> sample, others;
  for (const auto& [key, row] : by_key) {
    const bool method = met.insert("method " + row->method()).second;
    const bool dataset = met.insert("data set " + row->dataset()).second;
    (method || dataset ? sample : others).push_back(*row);
  }
  for (auto& row : others)
    if (sample.size() < size) sample.push_back(std::move(row));
  return sample;
}

bool Repetition::agrees() const {
  const auto most = std::max(kBetweenSessions, threshold);
  return failure.empty() && std::abs(after - before) <= spread + most * before;
}

bool confirm_method(const std::vector<Repetition>& repetitions) {
  std::size_t differ = 0;
  double ratio = 0, spread = 0, threshold = 0;  // sums; the largest
  for (const auto& r : repetitions) {
    if (!r.failure.empty()) return false;
    differ += !r.agrees();
    ratio += std::log(r.after / r.before);
    spread += r.spread / r.before;
    threshold = std::max(threshold, r.threshold);
  }
  const auto count = static_cast<double>(repetitions.size());
  return kShare * differ <= repetitions.size() &&
         std::abs(ratio / count) <=
             std::log1p(std::max(kOfMethod, threshold / std::sqrt(count))) + spread / count;
}

Repetition repetition(const Row& before, const Row* after, double threshold) {
  Repetition r;
  r.threshold = threshold;
  r.key = before.key();
  r.method = before.method();
  r.before = before.number("stats.median");
  if (after == nullptr || !after->ok()) {
    r.failure = after == nullptr ? "not measured again" : after->failure();
    return r;
  }
  r.after = after->number("stats.median");
  for (const auto* row : {&before, after})
    r.spread += (row->number("stats.q3") - row->number("stats.q1")) / 2;
  return r;
}

std::vector<json> confirmations(const std::vector<Row>& rows,
                                const std::vector<Repetition>& repetitions,
                                const std::string& session, const std::string& architecture) {
  std::map<std::string, std::vector<Repetition>> by_method;
  for (const auto& r : repetitions) by_method[r.method].push_back(r);
  std::vector<json> lines;
  for (const auto& [method, own] : by_method) {
    if (!confirm_method(own)) continue;
    // CP-ALS has the code of its MTTKRP too: rows of one method can be of several codes.
    std::map<std::string, json> by_code;
    for (const auto& row : rows) {
      if (row.method() != method) continue;
      const auto code = code_of_case(row.row_case(), architecture);
      auto& line = by_code[code.source];
      if (line.is_null()) {
        line = {{"kind", "confirmation"}, {"schema", kSchema}, {"session", session}};
        state_code(code, line);
        for (const auto& r : own) line["sample"].push_back(to_json(r));
      }
      line["keys"].push_back(row.key());
    }
    for (auto& [code, line] : by_code) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace retensor::driver
