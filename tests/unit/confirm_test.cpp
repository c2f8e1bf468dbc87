#include "experiments/driver/run/confirm.hpp"

#include <doctest/doctest.h>

#include <set>

#include "experiments/driver/run/currency.hpp"
#include "tests/unit/made_rows.hpp"

using namespace retensor::driver;
using nlohmann::json;
using retensor::testing::made_row;
using retensor::testing::made_rows;

namespace {

json line(const std::string& key, const std::string& method = "pasta.cpu.coo",
          const std::string& dataset = "t", double median = 1, double spread = 0.1) {
  return {{"key", key},
          {"status", "ok"},
          {"session", "s"},
          {"source_hash", "of older code"},
          {"git", {{"dirty", false}}},
          {"case", {{"method", method}, {"dataset", dataset}}},
          {"stats", {{"median", median}, {"q1", median - spread}, {"q3", median + spread}}}};
}

template <class... More>
Row row(const std::string& key, const More&... more) {
  return made_row(line(key, more...));
}

std::string key(int n) {
  return std::string(1, static_cast<char>('a' + n / 26)) + static_cast<char>('a' + n % 26);
}

std::set<std::string> keys_of(const std::vector<Row>& rows) {
  std::set<std::string> keys;
  for (const auto& r : rows) keys.insert(r.key());
  return keys;
}

}  // namespace

TEST_CASE("stale rows that are ok are to be confirmed, with --dirty those of a changed tree too") {
  auto current = line("b"), failed = line("c"), dirty = line("d");
  current["source_hash"] = code_of("pasta.cpu.coo", "").source;
  failed["status"] = "failed";
  dirty["source_hash"] = current["source_hash"];
  dirty["git"]["dirty"] = true;
  const auto rows = made_rows({line("a"), current, failed, dirty});
  CHECK(keys_of(rows_to_confirm(rows, false)) == std::set<std::string>{"a"});
  CHECK(keys_of(rows_to_confirm(rows, true)) == std::set<std::string>{"a", "d"});
}

TEST_CASE("a sample has five rows at least, a tenth of many, and all rows of few") {
  std::vector<Row> rows;
  for (int n = 0; n < 3; ++n) rows.push_back(row(key(n)));
  CHECK(sample_of(rows).size() == 3);
  for (int n = 3; n < 12; ++n) rows.push_back(row(key(n)));
  CHECK(sample_of(rows).size() == 5);
  for (int n = 12; n < 71; ++n) rows.push_back(row(key(n)));
  CHECK(sample_of(rows).size() == 8);
  CHECK(keys_of(sample_of(rows)) == keys_of(sample_of({rows.rbegin(), rows.rend()})));
}

TEST_CASE("a sample has every method and every data set, however rare") {
  std::vector<Row> rows;
  for (int n = 0; n < 100; ++n) rows.push_back(row(key(n)));
  rows.push_back(row("zy", "flycoo.cpu"));
  rows.push_back(row("zz", "pasta.cpu.coo", "rare"));
  const auto keys = keys_of(sample_of(rows));
  CHECK(keys.count("zy") == 1);
  CHECK(keys.count("zz") == 1);
  CHECK(keys.size() == 11);
}

TEST_CASE("two measurements agree within the spread of both and of sessions; a failed one never") {
  const auto before = row("a", "pasta.cpu.coo", "t", 1.0, 0.1);
  const auto again = [&](const json& after) {
    const auto measured = made_row(after);
    return repetition(before, &measured);
  };
  CHECK(again(line("a", "pasta.cpu.coo", "t", 1.15, 0.1)).agrees());
  CHECK(!again(line("a", "pasta.cpu.coo", "t", 1.26, 0.1)).agrees());
  CHECK(!again(line("a", "pasta.cpu.coo", "t", 0.5, 0.1)).agrees());
  auto failed = line("a");
  failed["status"] = "oom";
  failed["reason"] = "too large";
  CHECK(!again(failed).agrees());
  CHECK(again(failed).failure == "oom: too large");
  CHECK(repetition(before, nullptr).failure == "not measured again");
}

TEST_CASE("repetitions speak for a method when nine of ten agree and their mean has not moved") {
  const auto confirmed = [](const std::vector<double>& ratios, const std::string& failure = "") {
    std::vector<Repetition> all;
    for (const auto ratio : ratios) all.push_back({"a", "m", 1, ratio, 0.001, failure});
    return confirm_method(all);
  };
  CHECK(confirmed({1.03}));
  CHECK(confirmed({0.975, 1.04, 1.02}));
  CHECK(!confirmed({1.04, 1.04, 1.04}));  // each could be another session's, all could not
  CHECK(!confirmed({0.96, 0.96, 0.96}));
  std::vector<double> ten(9, 1.0);
  ten.push_back(1.2);
  CHECK(confirmed(ten));
  ten.front() = 0.8;
  CHECK(!confirmed(ten));
  CHECK(!confirmed({1.0}, "oom: too large"));
}

TEST_CASE("a method's rows are confirmed when its repetitions speak for them") {
  const std::vector<Row> rows = {row("a"), row("b"), row("c", "flycoo.cpu"),
                                 row("d", "flycoo.cpu")};
  const auto lines = confirmations(rows,
                                   {{"a", "pasta.cpu.coo", 1, 1.01, 0.1, ""},
                                    {"c", "flycoo.cpu", 1, 1.01, 0.1, ""},
                                    {"d", "flycoo.cpu", 1, 3, 0.1, ""}},
                                   "s2", "");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["keys"] == json({"a", "b"}));
  CHECK(lines[0]["source_hash"] == code_of("pasta.cpu.coo", "").source);
  CHECK(lines[0]["sample"].size() == 1);
  CHECK(lines[0]["session"] == "s2");
}
