#include <doctest/doctest.h>

#include <limits>

#include "common/core/error.hpp"
#include "common/measure/params.hpp"
#include "tests/support/complaint.hpp"

using namespace retensor;

namespace {

ParamSchema schema() {
  return {{"block", std::int64_t{128}, "block edge", 1, 256, {}},
          {"ratio", 0.5, "share of dense tiles", 0, 1, {}},
          {"scale", 1.0, "without limits", 0, 0, {}},
          {"sort", true, "sort first", 0, 0, {}},
          {"kernel", std::string("atomic"), "which kernel", 0, 0, {"atomic", "private"}}};
}

std::string message(const std::map<std::string, ParamValue>& given) {
  return test::refusal_of([&] { schema().resolve(given); });
}

}  // namespace

TEST_CASE("defaults are overlaid with what is given") {
  const auto p =
      schema().resolve({{"block", std::int64_t{64}}, {"kernel", std::string("private")}});
  CHECK(p.integer("block") == 64);
  CHECK(p.real("ratio") == 0.5);
  CHECK(p.flag("sort"));
  CHECK(p.word("kernel") == "private");
  CHECK(p.all().size() == 5);
}

TEST_CASE("an integer is accepted for a number and nothing else is converted") {
  CHECK(schema().resolve({{"ratio", std::int64_t{1}}}).real("ratio") == 1.0);
  CHECK_THROWS_AS(schema().resolve({{"block", 64.0}}), InputError);
  CHECK_THROWS_AS(schema().resolve({{"sort", std::int64_t{1}}}), InputError);
  CHECK_THROWS_AS(schema().resolve({{"kernel", true}}), InputError);
}

TEST_CASE("ranges include their ends and refuse what is not finite") {
  CHECK(schema().resolve({{"block", std::int64_t{1}}}).integer("block") == 1);
  CHECK(schema().resolve({{"block", std::int64_t{256}}}).integer("block") == 256);
  CHECK(message({{"block", std::int64_t{257}}}) == "parameter block: found 257, expected 1 to 256");
  CHECK_THROWS_AS(schema().resolve({{"ratio", -0.1}}), InputError);
  CHECK(schema().resolve({{"scale", -1e30}}).real("scale") == -1e30);
  CHECK_THROWS_AS(schema().resolve({{"scale", std::numeric_limits<double>::quiet_NaN()}}),
                  InputError);
}

TEST_CASE("unknown names and words name the nearest valid one") {
  CHECK(message({{"blok", std::int64_t{1}}}) == "unknown parameter 'blok', nearest is 'block'");
  CHECK(message({{"kernel", std::string("atomics")}}).find("nearest is 'atomic'") !=
        std::string::npos);
  CHECK_THROWS_WITH_AS(ParamSchema().resolve({{"a", true}}),
                       "unknown parameter 'a': the method has none", InputError);
}

TEST_CASE("lookups of undeclared names or of another type are program errors") {
  const auto p = schema().resolve({});
  CHECK_THROWS_AS(p.integer("blok"), LogicError);
  CHECK_THROWS_AS(p.real("block"), LogicError);
}

TEST_CASE("nearest is by edit distance and empty without candidates") {
  CHECK(nearest("mttkrp", {"ttm", "mtkrp", "ttv"}) == "mtkrp");
  CHECK(nearest("x", {}).empty());
}

TEST_CASE("values as text") {
  CHECK(text(true) == "true");
  CHECK(text(std::int64_t{-3}) == "-3");
  CHECK(text(0.1) == "0.1");
  CHECK(text(std::string("a b")) == "a b");
}
