// Printed numbers, expressions over them, findings files and the audit: a wrong figure must be
// found, a right one must not.
#include "experiments/driver/judge/audit/audit.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "tests/support/complaint.hpp"

using namespace retensor;
using namespace retensor::driver;
using retensor::test::refusal_of;
namespace fs = std::filesystem;

namespace {

/// Numbers by name; one table `t` whose rows have the column `c`.
class Given : public Names {
 public:
  explicit Given(std::map<std::string, std::optional<Estimate>> values) : values_(values) {}
  std::optional<Estimate> value(const std::string& name) const override {
    const auto found = values_.find(name);
    if (found == values_.end()) throw InputError("no " + name);
    return found->second;
  }
  std::vector<std::unique_ptr<Names>> rows(const std::string& table) const override {
    if (table != "t") throw InputError("no table " + table);
    std::vector<std::unique_ptr<Names>> all;
    for (const double c : {1, 4, 16}) {
      auto row = std::make_unique<Given>(values_);
      row->values_["c"] = Estimate::exact(c);
      all.push_back(std::move(row));
    }
    auto empty = std::make_unique<Given>(values_);
    empty->values_["c"] = std::nullopt;
    all.push_back(std::move(empty));
    return all;
  }

 private:
  std::map<std::string, std::optional<Estimate>> values_;
};

Check parsed(const std::string& text) {
  return parse_check(text, {"f.yaml", 7, 3});
}

Estimate result(const std::string& expression,
                const std::map<std::string, std::optional<Estimate>>& values = {}) {
  return evaluate(parsed(expression + " = 0").left, Given(values)).value();
}

double number(const std::string& expression) {
  return result(expression).value;
}

std::string rule_refusal(const std::string& check) {
  return refusal_of([&] { parsed(check); });
}

struct TempFile {
  std::string path;
  explicit TempFile(const std::string& text)
      : path((fs::temp_directory_path() / (std::to_string(getpid()) + "findings.yaml")).string()) {
    std::ofstream(path) << text;
  }
  ~TempFile() { fs::remove(path); }
};

Findings load(const std::string& text) {
  const TempFile file(text);
  return load_findings(file.path, fs::temp_directory_path().string());
}

std::string file_refusal(const std::string& text) {
  try {
    audit(load(text));
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

/// Two tensors, of which b has the density `density`, and rules after them.
std::string findings_text(const std::string& density, const std::string& rules) {
  return "schema: 1\npaper: p\ntables:\n  t:\n    place: Table I\n    columns: [I, J, nnz, "
         "density]\n"
         "    rows:\n      a: [100, 200, 400, 2.0%]\n      b: [10, 10, 5, " +
         density +
         "]\n      c: [10, 10, 5, ~]\nfigures:\n  most: {place: section 1, is: 400}\nrules:\n" +
         rules;
}

const std::string kRuleHead =
    "  - id: P-1\n    says: {place: Table I, text: density}\n"
    "    against: {place: Table I, text: dims}\n";
const std::string kDensity = kRuleHead + "    table: t\n    check: density = nnz / (I * J)\n";

std::vector<Fit> fits(const RuleResult& rule) {
  std::vector<Fit> all;
  for (const auto& o : rule.outcomes) all.push_back(o.fit);
  return all;
}

}  // namespace

TEST_CASE("a printed number is off by one unit of its last digit, a plain integer is exact") {
  const auto ends = [](const char* text) {
    const auto x = parse_printed(text).value();
    return std::vector<double>{x.low, x.value, x.high};
  };
  using V = std::vector<double>;
  CHECK(ends("480") == V{480, 480, 480});
  CHECK(ends("0.25") == V{0.24, 0.25, 0.26});
  CHECK(ends("~14") == V{13, 14, 15});
  CHECK(ends("165K") == V{164e3, 165e3, 166e3});
  CHECK(ends("353%")[2] == doctest::Approx(3.54));
  CHECK(ends("1.5G")[0] == doctest::Approx(1.4e9));
  CHECK(ends("3.72E-9")[0] == doctest::Approx(3.71e-9));
  CHECK(ends("3.72E-9")[2] == doctest::Approx(3.73e-9));
  CHECK(ends("2e+3")[2] == doctest::Approx(3e3));
  for (const char* text : {"", "x", "-3", "1,000", "inf", "nan", "3 MB", "K", "~", "1.2.3", "1e"})
    CHECK_FALSE(parse_printed(text).has_value());
}

TEST_CASE("expressions") {
  CHECK(number("1 + 2 * 3 - 4 / 2") == 5);
  CHECK(number("8 - 3 - 2") == 3);
  CHECK(number("(1 + 2) * -3") == -9);
  CHECK(number("2 ^ 3 ^ 2") == 512);
  CHECK(number("-2 ^ 2") == -4);
  CHECK(number("ceil(log2(5665)) + floor(2.9) + sqrt(16)") == 19);
  CHECK(number("max(1, 7, 3) - min(4, 2)") == 5);
  CHECK(number("sum(t: c) + mean(t: c + 1)") == 29);
  CHECK(number("geomean(t: c)") == doctest::Approx(4));
  CHECK(number("min(t: 2 * c) + max(t: c)") == 18);
  CHECK(result("a.b * x", {{"a.b", Estimate::exact(3)}, {"x", Estimate{1, 2, 3}}}).high == 9);
  CHECK_FALSE(evaluate(parsed("x + 1 = 2").left, Given({{"x", std::nullopt}})).has_value());
}

TEST_CASE("intervals hold what rounding leaves open") {
  const std::map<std::string, std::optional<Estimate>> values = {{"x", Estimate{2, 3, 4}},
                                                                 {"z", Estimate{-1, 0, 1}}};
  const auto ends = [&](const char* text) {
    const auto e = result(text, values);
    return std::vector<double>{e.low, e.value, e.high};
  };
  using V = std::vector<double>;
  CHECK(ends("x - 1") == V{1, 2, 3});
  CHECK(ends("1 - x") == V{-3, -2, -1});
  CHECK(ends("-x * x") == V{-16, -9, -4});
  CHECK(ends("12 / x") == V{3, 4, 6});
  CHECK(ends("x ^ 2") == V{4, 9, 16});
  CHECK(ends("z * x") == V{-4, 0, 4});
  CHECK(std::isinf(result("1 / z", values).high));
  CHECK(std::isinf(result("0 * (1 / z)", values).high));
  CHECK(std::isinf(result("log2(z)", values).low));
  CHECK(std::isinf(result("(-x) ^ 2", values).high));
}

TEST_CASE("relations hold where the intervals allow") {
  const Estimate one{0.9, 1, 1.1}, near{1.05, 1.15, 1.25}, two{1.9, 2, 2.1};
  CHECK(related(one, "=", near));
  CHECK_FALSE(related(one, "=", two));
  CHECK_FALSE(related(one, "==", near));
  CHECK(related(one, "==", Estimate::exact(1)));
  CHECK(related(near, "<=", one));
  CHECK_FALSE(related(two, "<=", one));
  CHECK(related(two, ">", one));
  CHECK_FALSE(related(one, ">=", two));
  CHECK_FALSE(related(Estimate::exact(64), ">", Estimate::exact(64)));
  CHECK(related(Estimate::exact(0.1 + 0.2), "=", Estimate::exact(0.3)));
}

TEST_CASE("an expression that doesn't parse is refused at its place") {
  CHECK(rule_refusal("a + = 2") == "f.yaml:7:7: found '= 2', expected a number, a name or '('");
  CHECK(rule_refusal("a + b") == "f.yaml:7:8: found the end, expected a relation: = == < <= > >=");
  CHECK(rule_refusal("a = b c").find("expected an operator or the end") != std::string::npos);
  CHECK(rule_refusal("(a = b").find("expected ')'") != std::string::npos);
  CHECK(rule_refusal("mean(t: = 1").find("expected a number") != std::string::npos);
  CHECK(rule_refusal("a. = 1").find("expected a name") != std::string::npos);
  CHECK(rule_refusal("1e9 = a").find("found 'e9 = a'") != std::string::npos);
  CHECK(rule_refusal(std::string(5000, '(') + "1 = 1").find("at most 50 levels") !=
        std::string::npos);
  CHECK(rule_refusal(std::string(5000, '-') + "1 = 1").find("at most 50 levels") !=
        std::string::npos);
  CHECK(rule_refusal("").find("found the end") != std::string::npos);
  CHECK_THROWS_WITH_AS(result("cos(1)"), doctest::Contains("found function 'cos'"), InputError);
  CHECK_THROWS_WITH_AS(result("log2(1, 2)"), doctest::Contains("min, max"), InputError);
  CHECK_THROWS_WITH_AS(result("median(t: c)"), doctest::Contains("geomean"), InputError);
}

TEST_CASE("any text is a check or a parse error") {
  const std::string letters = "ab1.5^*/+-(),:<=> ~%meanlog2";
  const CounterRng rng(3);
  std::uint64_t draw = 0, accepted = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string text;
    for (auto left = 1 + rng.below(draw++, 12); left > 0; --left)
      text += letters[rng.below(draw++, letters.size())];
    try {
      const auto check = parsed(text);
      CHECK_FALSE(check.relation.empty());
      ++accepted;
    } catch (const ParseError&) {
    }
  }
  CHECK(accepted > 0);
}

TEST_CASE("a right figure fits, a wrong one is found, an empty cell is open") {
  const auto right = audit(load(findings_text("5.0%", kDensity)));
  CHECK(fits(right.rules[0]) == std::vector<Fit>{Fit::fits, Fit::fits, Fit::open});
  CHECK(right.found({"result"}) == 0);
  const auto wrong = audit(load(findings_text("7.0%", kDensity)));
  CHECK(fits(wrong.rules[0]) == std::vector<Fit>{Fit::fits, Fit::fails, Fit::open});
  CHECK(wrong.found({"result"}) == 1);
  CHECK(wrong.found({"choice", "wording"}) == 0);
  const auto& outcome = wrong.rules[0].outcomes[1];
  CHECK(outcome.left.value / outcome.right.value == doctest::Approx(1.4));
}

TEST_CASE("a figure stands for what is rounded to it; what needs a whole unit is open") {
  const auto fit = [](const char* density) {
    return audit(load(findings_text(density, kDensity))).rules[0].outcomes[1].fit;
  };
  CHECK(fit("5.0%") == Fit::fits);  // of 5%
  CHECK(fit("5.05%") == Fit::fails);
  CHECK(fit("5.01%") == Fit::open);  // a whole unit away
  CHECK(fit("5.005%") == Fit::fails);
}

TEST_CASE("a figure of one digit leaves a factor of ten open, unless it is wrong even so") {
  CHECK(audit(load(findings_text("1%", kDensity))).rules[0].outcomes[1].fit == Fit::fails);
  CHECK(audit(load(findings_text("5%", kDensity))).rules[0].outcomes[1].fit == Fit::fits);
  const auto coarse =
      kRuleHead + "    check: t.a.density * (most - most + 1) / t.b.density = t.b.J\n";
  CHECK(audit(load(findings_text("1%", coarse))).rules[0].outcomes[0].fit == Fit::open);
}

TEST_CASE("a misread digit is named only where nothing else would break") {
  const auto misread = [](const std::string& rules) {
    return audit(load(findings_text("50.0%", rules))).rules[0].outcomes[1].misread;
  };
  const auto alone = misread(kDensity);
  CHECK(std::find(alone.begin(), alone.end(), "t.b.density: 50.0% as 5.0%") != alone.end());
  CHECK(std::find(alone.begin(), alone.end(), "t.b.nnz: 5 as 50") != alone.end());
  const auto confirmed = misread(kDensity +
                                 "  - id: P-2\n    says: {place: a, text: b}\n"
                                 "    against: {place: a, text: b}\n"
                                 "    check: t.b.nnz == t.c.nnz\n");
  CHECK(std::find(confirmed.begin(), confirmed.end(), "t.b.nnz: 5 as 50") == confirmed.end());
  CHECK(std::find(confirmed.begin(), confirmed.end(), "t.b.density: 50.0% as 5.0%") !=
        confirmed.end());
  // A quoted number is exact and not misread.
  const auto quoted = audit(load(findings_text("'50.0%'", kDensity))).rules[0].outcomes[1];
  CHECK(quoted.left.low == quoted.left.high);
  CHECK_FALSE(quoted.misread.empty());
  for (const auto& reading : quoted.misread) CHECK(reading.find("density") == std::string::npos);
}

TEST_CASE("names: columns, figures, rows of the same name, cells; readings are tried as well") {
  const auto rules = kRuleHead +
                     "    table: t\n    rows: [a]\n    check: nnz < most\n"
                     "    severity: choice\n    instead:\n"
                     "      - {states: equal, check: t.nnz = t.a.nnz}\n"
                     "      - {states: sum, check: 'nnz = sum(t: nnz)'}\n";
  const auto result = audit(load(findings_text("5.0%", rules)));
  CHECK(result.found({"choice"}) == 1);
  CHECK(result.rules[0].outcomes.size() == 1);
  CHECK(result.rules[0].instead[0][0].fit == Fit::fits);
  CHECK(result.rules[0].instead[1][0].fit == Fit::fails);
  const auto json = to_json(result);
  CHECK(json["fail"] == 1);
  CHECK(json["findings"] == 1);
  CHECK(json["rules"][0]["status"] == "does not fit");
  CHECK(json["rules"][0]["instead"][0]["rows"][0]["status"] == "fits");
  CHECK(json["rules"][0]["rows"][0]["row"] == "a");
}

TEST_CASE("a findings file that can't be meant is refused with its line") {
  const auto refused = [](const std::string& rules) {
    return file_refusal(findings_text("5.0%", rules));
  };
  CHECK(refused(kDensity) == "");
  CHECK(refused(kRuleHead + "    chek: most = 1\n")
            .find(":17:5: found unknown key 'chek', expected "
                  "'check'") != std::string::npos);
  CHECK(refused(kRuleHead + "    check: most = = 1\n").find(":17:19: found '= 1'") !=
        std::string::npos);
  CHECK(refused(kRuleHead + "    check: mist = 1\n").find("did you mean 'most'?") !=
        std::string::npos);
  CHECK(refused(kRuleHead + "    table: u\n    check: most = 1\n").find("unknown table 'u'") !=
        std::string::npos);
  CHECK(refused(kRuleHead + "    table: t\n    rows: [d]\n    check: most = 1\n")
            .find("unknown row 'd'") != std::string::npos);
  CHECK(refused(kRuleHead + "    rows: [a]\n    check: most = 1\n").find("'table'") !=
        std::string::npos);
  CHECK(refused(kRuleHead + "    severity: bad\n    check: most = 1\n").find("unknown severity") !=
        std::string::npos);
  CHECK(refused(kDensity + kDensity).find("P-1 a second time") != std::string::npos);
  CHECK(refused("  - id: P-1\n    says: {text: density}\n").find("no place") != std::string::npos);
  CHECK(file_refusal(findings_text("5.0", "").substr(0, 19)).find("no rules") != std::string::npos);
  CHECK(file_refusal(findings_text("much", kDensity)).find("found 'much', expected a number") !=
        std::string::npos);
  CHECK(file_refusal(findings_text("1, 2", kDensity)).find("found 5 cells, expected 4") !=
        std::string::npos);
}

TEST_CASE("a listing needs the test that shows its fault") {
  const auto listing = [](const std::string& file, const std::string& name) {
    return findings_text("5.0%", kDensity) +
           "listings:\n  - id: P-L1\n    says: {place: Algorithm 1, text: a}\n"
           "    against: {place: equation (1), text: b}\n    test: {file: " +
           file + ", case: " + name + "}\n";
  };
  const auto source = std::to_string(getpid()) + "shown_test.cpp";
  const auto path = fs::temp_directory_path() / source;
  std::ofstream(path) << "TEST_CASE(\"it goes wrong\") {}\n";
  const auto result = audit(load(listing(source, "it goes wrong")));
  CHECK(result.found({"result"}) == 1);
  CHECK(to_json(result)["listings"][0]["status"] == "shown by a test");
  CHECK(file_refusal(listing(source, "it goes")).find("no test case 'it goes'") !=
        std::string::npos);
  fs::remove(path);
  CHECK(file_refusal(listing(source, "it goes wrong")).find("no file") != std::string::npos);
}
