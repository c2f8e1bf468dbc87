#include "common/io/matrix_market.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/io/read.hpp"
#include "tests/unit/io_expect.hpp"

using namespace retensor;
using retensor::testing::check_refused;

namespace {

const std::string kGeneral = "%%MatrixMarket matrix coordinate real general\n";

Coo parse(const std::string& text, const ReadOptions& options = {}) {
  return parse_matrix_market(text, "x.mtx", options);
}

/// Refused at the same place whatever the chunks.
void refused(const std::string& text, std::uint64_t line, std::uint64_t column,
             const std::string& found, const std::string& expected, ReadOptions options = {}) {
  CAPTURE(text);
  for (const std::size_t chunk : {1, 9, 1 << 20}) {
    options.chunk_bytes = chunk;
    check_refused([&] { return parse(text, options); }, line, column, found, expected);
  }
}

std::vector<double> values(const Coo& t) {
  std::vector<double> all;
  for (Count x = 0; x < t.nnz(); ++x) all.push_back(t.values.at(x));
  return all;
}

}  // namespace

TEST_CASE("a general real matrix keeps the order of its entries") {
  const Coo t = parse(kGeneral + "% comment\n\n3 4 2\n3 4 1.5\n% more\n1 2 -2e-1\n");
  CHECK(t.dims == Dims{3, 4});
  CHECK(t.indices == std::vector<std::vector<Index>>{{2, 0}, {3, 1}});
  CHECK(values(t) == std::vector<double>{1.5, static_cast<double>(-0.2f)});
  t.check();
}

TEST_CASE("sum and last give the entries of a symmetric file in natural order") {
  const std::string text =
      "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n3 1 2\n2 2 5\n2 1 7\n";
  for (const Duplicates kept : {Duplicates::sum, Duplicates::last}) {
    ReadOptions options;
    options.duplicates = kept;
    const Coo t = parse(text, options);
    CHECK(t.indices == std::vector<std::vector<Index>>{{0, 0, 1, 1, 2}, {1, 2, 0, 1, 0}});
    CHECK(values(t) == std::vector<double>{7, 2, 7, 5, 2});
  }
}

TEST_CASE("pattern and integer files, banner in any case, no entries") {
  CHECK(values(parse("%%matrixmarket MATRIX Coordinate Pattern General\n2 2 1\n1 2\n")) ==
        std::vector<double>{1});
  CHECK(values(parse("%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 -7\n1 1 +4")) ==
        std::vector<double>{-7, 4});
  CHECK(parse(kGeneral + "5 6 0\n").nnz() == 0);
  CHECK(parse(kGeneral + "5 6 0\n").dims == Dims{5, 6});
  CHECK(is_matrix_market(kGeneral));
  CHECK_FALSE(is_matrix_market("1 1 1\n"));
  CHECK(parse_tensor(kGeneral + "5 6 0\n", "x").dims == Dims{5, 6});
}

TEST_CASE("symmetric and skew-symmetric files are completed") {
  const Coo s =
      parse("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 5\n2 1 6\n3 2 7\n");
  CHECK(s.indices == std::vector<std::vector<Index>>{{0, 1, 2, 0, 1}, {0, 0, 1, 1, 2}});
  CHECK(values(s) == std::vector<double>{5, 6, 7, 6, 7});
  const Coo k = parse("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 6\n");
  CHECK(k.indices == std::vector<std::vector<Index>>{{1, 0}, {0, 1}});
  CHECK(values(k) == std::vector<double>{6, -6});
  const Coo p = parse("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n");
  CHECK(values(p) == std::vector<double>{1, 1});
}

TEST_CASE("entries on the wrong side of a symmetric file are refused") {
  refused("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 5\n1 2 6\n", 4, 1,
          "entry (1, 2)", "the lower triangle of a symmetric file: row >= column");
  refused("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 5\n 3 3 6\n", 4, 2,
          "entry (3, 3)", "the strict lower triangle");
  refused("%%MatrixMarket matrix coordinate real symmetric\n3 4 0\n", 2, 3, "'4'",
          "3 columns: the file is symmetric");
}

TEST_CASE("banners of other kinds are refused at their word") {
  refused("%%MatrixMarket vector coordinate real general\n", 1, 16, "'vector'", "matrix");
  refused("%%MatrixMarket matrix array real general\n", 1, 23, "'array'", "coordinate");
  refused("%%MatrixMarket matrix coordinate complex general\n", 1, 34, "'complex'",
          "real or integer or pattern");
  refused("%%MatrixMarket matrix coordinate real hermitian\n", 1, 39, "'hermitian'",
          "general or symmetric or skew-symmetric");
  refused("%%MatrixMarket matrix coordinate real\n1 1 0\n", 1, 38, "the end of the line",
          "general");
  refused("%%MatrixMarket matrix coordinate real general x\n", 1, 47, "'x'", "the end of the line");
  refused("%%MatrixMarketx matrix coordinate real general\n", 1, 1, "'%%MatrixMarketx'",
          "the banner %%MatrixMarket");
  refused("", 1, 1, "the end of the file", "the banner %%MatrixMarket");
}

TEST_CASE("the size line is refused unless it holds three counts that agree with the body") {
  refused(kGeneral, 2, 1, "the end of the file", "the number of rows");
  refused(kGeneral + "3 4\n", 2, 4, "the end of the line", "the number of entries");
  refused(kGeneral + "0 4 1\n", 2, 1, "'0'", "the number of rows from 1 to 4294967295");
  refused(kGeneral + "3 4294967296 1\n", 2, 3, "'4294967296'", "the number of columns");
  refused(kGeneral + "3 4 1 1\n", 2, 7, "'1'",
          "the end of the line after rows, columns and entries");
  refused(kGeneral + "3 4 3\n1 1 1\n2 2 2\n", 2, 5, "'3'", "2, the entries of the body");
  refused(kGeneral + "3 4 1\n1 1 1\n2 2 2\n", 2, 5, "'1'", "2, the entries of the body");
  refused(kGeneral + "3 4 4611686018427387904\n1 1 1\n", 2, 5, "'4611686018427387904'", "1, the");
}

TEST_CASE("flawed entries are refused at their line and column") {
  refused(kGeneral + "3 4 1\n4 1 1\n", 3, 1, "'4'", "an index of mode 1 of 2, from 1 to 3");
  refused(kGeneral + "3 4 1\n3 5 1\n", 3, 3, "'5'", "an index of mode 2 of 2, from 1 to 4");
  refused(kGeneral + "3 4 1\n0 1 1\n", 3, 1, "'0'", "an index of mode 1");
  refused(kGeneral + "3 4 1\n1 1\n", 3, 4, "the end of the line", "a finite number");
  refused(kGeneral + "3 4 1\n1 1 nan\n", 3, 5, "'nan'", "a finite number");
  refused(kGeneral + "3 4 1\n1 1 1 0\n", 3, 7, "'0'",
          "the end of the line after 2 indices and a value");
  refused("%%MatrixMarket matrix coordinate integer general\n3 4 1\n1 1 1.5\n", 3, 5, "'1.5'",
          "an integer that fits f32");
  refused("%%MatrixMarket matrix coordinate integer general\n3 4 1\n1 1 -\n", 3, 5, "'-'",
          "an integer");
  refused("%%MatrixMarket matrix coordinate pattern general\n3 4 1\n1 1 1\n", 3, 5, "'1'",
          "the end of the line after 2 indices");
}

TEST_CASE("duplicates and requested mode lengths") {
  const std::string text = kGeneral + "3 4 3\n2 1 1\n1 1 2\n2 1 3\n";
  refused(text, 5, 1, "coordinate (2, 1) again (first on line 3)", "each coordinate once");
  ReadOptions options;
  options.duplicates = Duplicates::sum;
  CHECK(values(parse(text, options)) == std::vector<double>{2, 4});
  options.duplicates = Duplicates::last;
  CHECK(values(parse("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n2 1 3\n",
                     options)) == std::vector<double>{3, 3});
  options.dims = {3, 4};
  CHECK(parse(text, options).dims == Dims{3, 4});
  options.dims = {3, 5};
  refused(text, 2, 3, "'4'", "5, the number of columns as requested", options);
  options.dims = {3, 4, 5};
  CHECK_THROWS_AS(parse(text, options), InputError);
}
