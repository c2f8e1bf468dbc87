#include <doctest/doctest.h>

#include <limits>

#include "common/core/error.hpp"
#include "common/method/params.hpp"

using namespace retensor;

namespace {

ParamSchema schema() {
  return {param("block", 128, "block edge").range(1, 256),
          param("ratio", 0.5, "share of dense tiles").range(0, 1),
          param("scale", 1.0, "without limits"), param("sort", true, "sort first"),
          param("kernel", "atomic", "which kernel").words({"atomic", "private"})};
}

std::string message(const std::map<std::string, ParamValue>& given) {
  try {
    schema().resolve(given);
  } catch (const InputError& e) {
    return e.what();
  }
  return {};
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
  CHECK(message({{"blok", std::int64_t{1}}}) ==
        "unknown parameter 'blok', expected one of block, ratio, scale, sort, kernel; did you mean "
        "'block'?");
  CHECK(message({{"kernel", std::string("atomics")}}).find("did you mean 'atomic'?") !=
        std::string::npos);
  CHECK_THROWS_WITH_AS(ParamSchema().resolve({{"a", true}}),
                       "unknown parameter 'a': the method has none", InputError);
}

TEST_CASE("lookups of undeclared names or of another type are program errors") {
  const auto p = schema().resolve({});
  CHECK_THROWS_AS(p.integer("blok"), LogicError);
  CHECK_THROWS_AS(p.real("block"), LogicError);
}

TEST_CASE("a default has the type of the parameter") {
  const auto type_of = [](const ParamSpec& spec) { return spec.standard.index(); };
  CHECK(type_of(param("a", false, "")) == ParamValue(false).index());
  CHECK(type_of(param("a", 0, "")) == ParamValue(std::int64_t{0}).index());
  CHECK(type_of(param("a", std::uint64_t{128}, "")) == ParamValue(std::int64_t{0}).index());
  CHECK(type_of(param("a", 0.0, "")) == ParamValue(0.0).index());
  CHECK(type_of(param("a", "word", "")) == ParamValue(std::string()).index());
}

TEST_CASE("a range may be one value, and zero is as good a limit as any") {
  const auto p = param("a", 0, "").range(0, 0);
  REQUIRE(p.limits);
  CHECK_THROWS_AS(ParamSchema{p}.resolve({{"a", std::int64_t{1}}}), InputError);
  CHECK_FALSE(param("a", 0, "").limits);
}

TEST_CASE("declarations whose default is refused are program errors") {
  CHECK_THROWS_WITH_AS(
      param("a", 5, "").range(0, 4),
      "the default of a parameter is refused: parameter a: found 5, expected 0 to 4", LogicError);
  CHECK_THROWS_AS(param("a", 0.5, "").range(1, 2), LogicError);
  CHECK_THROWS_AS(param("a", "rows", "").words({"row", "column"}), LogicError);
  CHECK_NOTHROW(param("a", "row", "").words({"row", "column"}));
}

TEST_CASE("numbers have ranges and words have choices") {
  CHECK_THROWS_WITH_AS(param("a", "row", "").range(0, 1), "parameter a is a word and has no range",
                       LogicError);
  CHECK_THROWS_AS(param("a", true, "").range(0, 1), LogicError);
  CHECK_THROWS_WITH_AS(param("a", 1, "").words({"one"}), "parameter a is an integer, no word",
                       LogicError);
}

TEST_CASE("a schema keeps its order and takes more parameters at its end") {
  const auto more = ParamSchema{param("a", 1, "")}.with({threads_param(), prepare_param()});
  REQUIRE(more.specs().size() == 3);
  CHECK(more.specs()[0].name == "a");
  CHECK(more.specs()[1].name == "threads");
  CHECK(more.resolve({}).word("prepare") == "device");
}

TEST_CASE("values as text") {
  CHECK(text(true) == "true");
  CHECK(text(std::int64_t{-3}) == "-3");
  CHECK(text(0.1) == "0.1");
  CHECK(text(std::string("a b")) == "a b");
}
