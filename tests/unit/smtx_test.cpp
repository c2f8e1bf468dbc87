#include "common/io/matrix_market.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "tests/support/complaint.hpp"
#include "tests/support/entries.hpp"
#include "tests/unit/io_expect.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;
using namespace retensor::test;
using retensor::testing::check_refusals;

namespace {

const std::string kPattern = "2, 3, 3\n0 1 3\n2 0 1\n";

const auto parse = [](const std::string& text, const ReadOptions& options = {}) {
  return parse_smtx(text, "x.smtx", options);
};

const auto parse_plain = [](const std::string& text) { return parse(text); };

Coo random_pattern(std::uint64_t rows, std::uint64_t cols, Count nnz, unsigned seed) {
  std::mt19937 draw(seed);
  retensor::test::Entries cells;
  while (cells.size() < nnz)
    cells[{static_cast<Index>(draw() % rows), static_cast<Index>(draw() % cols)}] = 1;
  return retensor::test::tensor_of({rows, cols}, cells);
}

}  // namespace

TEST_CASE("starts and columns become coordinates with the value 1, by row") {
  const Coo m = parse(kPattern);
  CHECK(m.dims == Dims{2, 3});
  CHECK(m.indices == std::vector<std::vector<Index>>{{0, 1, 1}, {2, 0, 1}});
  for (Count x = 0; x < m.nnz(); ++x) CHECK(m.values.at(x) == 1);
  CHECK(parse("# of DLMC\n\n2,3,3\n  0 1\t3 \n2 0 1").indices == m.indices);
  CHECK(parse("2, 3, 3\r\n0 1 3\r\n2 0 1\r\n").indices == m.indices);
  ReadOptions options;
  options.dtype = DType::f64;
  options.dims = {2, 3};
  CHECK(parse(kPattern, options).dtype() == DType::f64);
}

TEST_CASE("empty rows and a pattern without nonzeros") {
  const Coo rows = parse("3, 2, 1\n0 0 1 1\n1\n");
  CHECK(rows.indices == std::vector<std::vector<Index>>{{1}, {1}});
  for (const char* ending : {"", "\n", "\n\n"})
    CHECK(parse(fmt::format("2, 2, 0\n0 0 0{}", ending)).nnz() == 0);
}

TEST_CASE("sizes are refused at their place") {
  check_refusals(
      parse_plain,
      {
          {"2 3 3\n0 1 3\n2 0 1\n", "1:1: found '2', expected the number of rows from 1 to"},
          {"0, 3, 0\n0\n\n", "1:1: found '0,', expected the number of rows from 1 to"},
          {"2, 0, 0\n0 0 0\n", "1:4: found '0,', expected the number of columns from 1 to"},
          {"2, 3, -1\n0 0 0\n", "1:7: found '-1', expected the number of nonzeros"},
          {"2, 3, 3, 4\n0 1 3\n2 0 1\n", "1:7: found '3,', expected the number of nonzeros"},
          {"2, 3, 3 4\n0 1 3\n2 0 1\n",
           "1:9: found '4', expected the end of the line after rows, columns and nonzeros"},
      });
  ReadOptions options;
  options.dims = {2, 4};
  CHECK(contains(refusal_of([&] { parse(kPattern, options); }),
                 "1:4: found '3,', expected 4, the number of columns as requested"));
  options.dims = {2, 3, 1};
  CHECK(contains(refusal_of([&] { parse(kPattern, options); }),
                 "x.smtx: 3 modes requested of a matrix"));
}

TEST_CASE("starts rise from 0 to the nonzeros") {
  check_refusals(
      parse_plain,
      {
          {"2, 3, 3\n1 1 3\n2 0 1\n", "2:1: found '1', expected the start of row 0"},
          {"2, 3, 3\n0 4 3\n2 0 1\n", "2:3: found '4', expected the start of row 1 from 0 to 3"},
          {"3, 3, 3\n0 2 1 3\n2 0 1\n", "2:5: found '1', expected the start of row 2 from 2 to 3"},
          {"2, 3, 3\n0 1 2\n2 0 1\n", "2:5: found '2', expected the start of row 2 from 3 to 3"},
          {"2, 3, 3\n0 1 3 3\n2 0 1\n",
           "2:7: found '3', expected the end of the line after 3 starts"},
      });
}

TEST_CASE("columns lie in the matrix, once in a row, as many as are stated") {
  check_refusals(
      parse_plain,
      {
          {"2, 3, 3\n0 1 3\n3 0 1\n", "3:1: found '3', expected column 1 of 3 from 0 to 2"},
          {"2, 3, 3\n0 1 3\n2 0 -1\n", "3:5: found '-1', expected column 3 of 3 from 0 to 2"},
          {"2, 3, 3\n0 1 3\n2 0 1 2\n",
           "3:7: found '2', expected the end of the line after the columns"},
          {"2, 3, 3\n0 1 3\n2 0 1\n2\n", "4:1: found '2', expected the end of the file"},
      });
  CHECK(contains(refusal_of([] { parse("2, 3, 3\n0 1 3\n2 1 1\n"); }), "x.smtx:3:5"));
}

TEST_CASE("no part of a pattern is taken for the whole") {
  for (auto part = kPattern.substr(0, kPattern.size() - 2); !part.empty(); part.pop_back())
    CHECK_THROWS_AS_MESSAGE(parse(part), ParseError, part);
}

TEST_CASE("random patterns come back, whatever the order of their nonzeros") {
  const retensor::testing::TemporaryFolder folder;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const auto rows = 1 + seed * 7, cols = 40 / (seed + 1);
    const auto written = random_pattern(rows, cols, std::min<Count>(rows * cols, 25), seed);
    auto shuffled = written;
    for (auto& mode : shuffled.indices) std::reverse(mode.begin(), mode.end());
    write_smtx(folder.file("m.smtx"), shuffled);
    const auto back = parse(folder.read("m.smtx"));
    CHECK(back.dims == written.dims);
    CHECK(back.indices == written.indices);
  }
  CHECK_THROWS_WITH_AS(write_smtx(folder.file("t.smtx"), Coo({2, 2, 2}, DType::f32)),
                       doctest::Contains("3 modes, .smtx holds the two of a matrix"), InputError);
  CHECK_FALSE(std::filesystem::exists(folder.file("t.smtx")));
}
