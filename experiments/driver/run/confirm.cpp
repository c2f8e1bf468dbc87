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

std::string method_of(const json& row) {
  return text_of(row["case"], "method");
}

double number(const json& row, const char* path) {
  const auto& value = field(row, path);
  return value.is_number() ? value.get<double>() : 0;
}

json to_json(const Repetition& r) {
  return {{"key", r.key}, {"before", r.before}, {"after", r.after}, {"agrees", r.agrees()}};
}

}  // namespace

std::vector<json> rows_to_confirm(const std::vector<json>& rows, bool dirty) {
  std::vector<json> chosen;
  for (const auto& row : rows)
    if (text_of(row, "status") == "ok" &&
        (is_stale(row) || (dirty && field(row, "git.dirty") == true)))
      chosen.push_back(row);
  return chosen;
}

std::vector<json> sample_of(const std::vector<json>& rows) {
  std::map<std::string, const json*> by_key;
  for (const auto& row : rows) by_key[text_of(row, "key")] = &row;
  const auto size = std::max(kSmallestSample, (rows.size() + kShare - 1) / kShare);
  std::set<std::string> met;
  std::vector<json> sample, others;
  for (const auto& [key, row] : by_key) {
    const bool method = met.insert("method " + method_of(*row)).second;
    const bool dataset = met.insert("data set " + text_of((*row)["case"], "dataset")).second;
    (method || dataset ? sample : others).push_back(*row);
  }
  for (auto& row : others)
    if (sample.size() < size) sample.push_back(std::move(row));
  return sample;
}

bool Repetition::agrees() const {
  return failure.empty() && std::abs(after - before) <= spread;
}

Repetition repetition(const json& before, const json& after) {
  Repetition r;
  r.key = text_of(before, "key");
  r.method = method_of(before);
  r.before = number(before, "stats.median");
  if (text_of(after, "status") != "ok") {
    r.failure = after.is_object() ? text_of(after, "status") + ": " + text_of(after, "reason")
                                  : "not measured again";
    return r;
  }
  r.after = number(after, "stats.median");
  for (const auto* row : {&before, &after})
    r.spread += (number(*row, "stats.max") - number(*row, "stats.min")) / 2;
  return r;
}

std::vector<json> confirmations(const std::vector<json>& rows,
                                const std::vector<Repetition>& repetitions,
                                const std::string& session, const std::string& architecture) {
  std::map<std::string, std::vector<Repetition>> by_method;
  for (const auto& r : repetitions) by_method[r.method].push_back(r);
  std::vector<json> lines;
  for (const auto& [method, own] : by_method) {
    if (!std::all_of(own.begin(), own.end(), [](const auto& r) { return r.agrees(); })) continue;
    // CP-ALS has the code of its MTTKRP too: rows of one method can be of several codes.
    std::map<std::string, json> by_code;
    for (const auto& row : rows) {
      if (method_of(row) != method) continue;
      const auto code = code_of_case(row["case"], architecture);
      auto& line = by_code[code.source];
      if (line.is_null()) {
        line = {{"kind", "confirmation"}, {"schema", kSchema}, {"session", session}};
        state_code(code, line);
        for (const auto& r : own) line["sample"].push_back(to_json(r));
      }
      line["keys"].push_back(text_of(row, "key"));
    }
    for (auto& [code, line] : by_code) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace retensor::driver
