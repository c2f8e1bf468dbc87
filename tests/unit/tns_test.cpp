#include "common/io/tns.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/io/read.hpp"
#include "tests/unit/io_expect.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;
using retensor::testing::check_refused;
using retensor::testing::check_same;

namespace {

constexpr std::size_t kChunkSizes[] = {1, 7, 64, 1 << 20};

Coo parse(const std::string& text, ReadOptions options = {}) {
  return parse_tns(text, "x.tns", options);
}

/// Refused at the same place whatever the chunks.
void refused(const std::string& text, std::uint64_t line, std::uint64_t column,
             const std::string& found, const std::string& expected, ReadOptions options = {}) {
  CAPTURE(text);
  for (const auto chunk : kChunkSizes) {
    options.chunk_bytes = chunk;
    check_refused([&] { return parse(text, options); }, line, column, found, expected);
  }
}

Coo random_tensor(const Dims& dims, Count nnz, DType type) {
  const CounterRng rng(5);
  Coo t(dims, type, nnz);
  for (Count x = 0; x < nnz; ++x) {
    for (int m = 0; m < t.order(); ++m)
      t.indices[m][x] = static_cast<Index>(rng.below(10 * x + m, dims[m]));
    t.values.set(x, rng.normal(10 * x + 9));
  }
  t.indices[0][0] = static_cast<Index>(dims[0] - 1);
  dedupe(t, Duplicates::last);
  return t;
}

}  // namespace

TEST_CASE("indices count from 1, mode lengths are the largest indices") {
  const Coo t = parse("1 2 3 0.5\n4 1 1 -2e1\n");
  CHECK(t.dims == Dims{4, 2, 3});
  CHECK(t.indices == std::vector<std::vector<Index>>{{0, 3}, {1, 0}, {2, 0}});
  CHECK(t.dtype() == DType::f32);
  CHECK(t.values.at(0) == 0.5);
  CHECK(t.values.at(1) == -20);
}

TEST_CASE("comments, blank lines, tabs, carriage returns and a missing last line feed") {
  const std::string text = "# a comment\n\n  \t\r\n1 1 5\r\n\t# another\n  2\t3   6  \n\n#\n3 1 7";
  for (const auto chunk : kChunkSizes) {
    ReadOptions options;
    options.chunk_bytes = chunk;
    const Coo t = parse(text, options);
    CHECK(t.dims == Dims{3, 3});
    CHECK(t.nnz() == 3);
    CHECK(t.values.at(1) == 6);
    CHECK(t.values.at(2) == 7);
  }
}

TEST_CASE("orders 1 and 8, and no more") {
  CHECK(parse("5 1.5\n2 2\n").dims == Dims{5});
  CHECK(parse("1 2 3 4 5 6 7 8 9\n").dims == Dims{1, 2, 3, 4, 5, 6, 7, 8});
  refused("1 2 3 4 5 6 7 8 9 1.0\n", 1, 19, "'1.0'", "the end of the line: at most 8 indices");
  refused("9\n1 1 1 1 1 1 1 1 1\n", 1, 1, "'9'", "the number of modes from 1 to 8");
}

TEST_CASE("the two-line header fixes order and mode lengths") {
  const Coo t = parse("# made by a tool\n3\n10 20 30\n\n1 2 3 4\n");
  CHECK(t.dims == Dims{10, 20, 30});
  CHECK(t.nnz() == 1);
  CHECK(parse("2\n4 5\n").nnz() == 0);
  CHECK(parse("2\n4 5\n").dims == Dims{4, 5});
}

TEST_CASE("a header that disagrees with the body is refused") {
  refused("3\n10 20 30\n1 21 3 4\n", 3, 3, "'21'", "an index of mode 2 of 3, from 1 to 20");
  refused("3\n10 20 30\n1 2 4\n", 3, 6, "the end of the line", "a finite number");
  refused("2\n10 20\n1 2 4 5\n", 3, 7, "'5'", "the end of the line after 2 indices and a value");
  refused("3\n10 20\n1 2 4 5\n", 2, 6, "the end of the line", "the length of mode 3 of 3");
  refused("2\n10 20 30\n", 2, 7, "'30'", "the end of the line after 2 mode lengths");
  refused("2\n10 0\n", 2, 4, "'0'", "the length of mode 2 of 2 from 1 to 4294967295");
  refused("2\n10 4294967296\n", 2, 4, "'4294967296'", "the length of mode 2 of 2");
  refused("5\n", 2, 1, "the end of the file", "the length of mode 1 of 5");
  refused("x\n", 1, 1, "'x'", "the number of modes");
}

TEST_CASE("requested mode lengths hold for the file") {
  ReadOptions options;
  options.dims = {4, 4};
  CHECK(parse("1 1 1\n", options).dims == Dims{4, 4});
  CHECK(parse("2\n4 4\n1 1 1\n", options).dims == Dims{4, 4});
  refused("1 1 1\n5 1 1\n", 2, 1, "'5'", "an index of mode 1 of 2, from 1 to 4", options);
  refused("1 1 1 1\n", 1, 7, "'1'", "the end of the line after 2 indices and a value", options);
  refused("3\n4 4 4\n", 1, 1, "'3'", "2 modes as requested", options);
  refused("2\n4 5\n", 2, 3, "'5'", "4, the length of mode 2 as requested", options);
  options.dims = {4, 0};
  CHECK_THROWS_AS(parse("1 1 1\n", options), InputError);
  options.dims = Dims(9, 2);
  CHECK_THROWS_AS(parse("1 1 1\n", options), InputError);
}

TEST_CASE("flawed fields are refused at their line and column") {
  refused("1 1 1\n1 x 1\n", 2, 3, "'x'", "an index of mode 2 of 2, from 1 to 4294967295");
  refused("1 1 1\n 0 1 1\n", 2, 2, "'0'", "an index of mode 1");
  refused("1 1 1\n-1 1 1\n", 2, 1, "'-1'", "an index of mode 1");
  refused("1 1 1\n1.5 1 1\n", 2, 1, "'1.5'", "an index of mode 1");
  refused("1 1 1\n2 4294967296 1\n", 2, 3, "'4294967296'", "an index of mode 2");
  refused("1 1 1\n2 18446744073709551617 1\n", 2, 3, "'18446744073709551617'",
          "an index of mode 2");
  refused("1 1 1\n2 99999999999999999999999 1\n", 2, 3, "'9999", "an index of mode 2");
  refused("1 1 1\n1 2 one\n", 2, 5, "'one'", "a finite number that fits f32");
  refused("1 1 1\n1 2 nan\n", 2, 5, "'nan'", "a finite number");
  refused("1 1 1\n1 2 -inf\n", 2, 5, "'-inf'", "a finite number");
  refused("1 1 1\n1 2 1e39\n", 2, 5, "'1e39'", "a finite number that fits f32");
  refused("1 1 1\n1 2 1.5x\n", 2, 5, "'1.5x'", "a finite number");
  refused("1 1 1\n1 2 0x10\n", 2, 5, "'0x10'", "a finite number");
  refused("1 1 1\n1 2\n", 2, 4, "the end of the line", "a finite number");
  refused("1 1 1\n1 2", 2, 4, "the end of the file", "a finite number");
  refused("1 1 1\n1 2 3 4\n", 2, 7, "'4'", "the end of the line after 2 indices and a value");
  refused("1,1,1\n", 1, 1, "'1,1,1'", "indices and a value with blanks, not commas");
  refused("1 1 1\n1,2,3\n", 2, 1, "'1,2,3'", "an index of mode 1");
  refused("1 1 1\n1 2 3 # no\n", 2, 7, "'#'", "the end of the line");
  refused(std::string("1 1 1\n1 \0 3\n", 12), 2, 3, "'\\x00'", "an index of mode 2");
  refused("1 1 1\n1 1" + std::string(100, '1') + " 1\n", 2, 3, "'1" + std::string(39, '1') + "...'",
          "an index of mode 2");
}

TEST_CASE("the first flaw of the file is reported, deep in it too") {
  std::string text;
  for (int x = 1; x <= 500; ++x) text += std::to_string(x) + " 1 1\n# a comment\n\n";
  refused(text + "7 7\n8 8\n", 1501, 4, "the end of the line", "a finite number");
  refused("a\n" + text + "7 7\n", 1, 1, "'a'", "the number of modes");
}

TEST_CASE("a byte order mark is no data") {
  check_same(parse_tensor("\xef\xbb\xbf"
                          "1 2 3\r\n2 1 4\r\n",
                          "x.tns"),
             parse("1 2 3\n2 1 4\n"));
}

TEST_CASE("files of other programs are called by their name") {
  using namespace std::string_literals;
  for (const auto& [bytes, what] : {std::pair{"PK\x03\x04\x14\r\0"s, "a ZIP archive"},
                                    {"\x93NUMPY\x01"s, "a .npy file"},
                                    {"\x89HDF\r\n"s, "an HDF5 file"},
                                    {"\xfd"
                                     "7zXZ\0"s,
                                     "an xz archive"},
                                    {"BZh91AY"s, "a bzip2 archive"}})
    CHECK_THROWS_WITH_AS(parse_tensor(bytes, "x.tns"), doctest::Contains(what), ParseError);
}

TEST_CASE("a file without data is refused") {
  for (const char* text : {"", "\n\n", "# only a comment\n", "#"})
    refused(text, 1, 1, "no data", "lines of indices and a value");
}

TEST_CASE("duplicate coordinates follow the policy") {
  const std::string text = "2 2 10\n1 1 1\n# in between\n2 2 20\n1 1 2\n";
  refused(text, 4, 1, "coordinate (2, 2) again (first on line 1)", "each coordinate once");
  refused("1 1 1\n1 1 1\n", 2, 1, "coordinate (1, 1) again (first on line 1)", "each coordinate");
  ReadOptions options;
  options.duplicates = Duplicates::sum;
  const Coo sum = parse(text, options);
  CHECK(sum.indices == std::vector<std::vector<Index>>{{0, 1}, {0, 1}});
  CHECK(sum.values.at(0) == 3);
  CHECK(sum.values.at(1) == 30);
  options.duplicates = Duplicates::last;
  const Coo last = parse(text, options);
  CHECK(last.values.at(0) == 2);
  CHECK(last.values.at(1) == 20);
  options.duplicates = Duplicates::sum;
  CHECK_THROWS_WITH_AS(parse("1 3e38\n1 3e38\n", options),
                       "x.tns: nonzero 1 (1): value inf is not finite", InputError);
}

TEST_CASE("one duplicate among many distinct coordinates is found") {
  for (const int order : {1, 2, 3, 8}) {
    CAPTURE(order);
    const Count n = 50000;
    std::string text;
    const auto line = [&](Count x) {
      // 7919 is prime to 50021, so that the coordinates are distinct and in no order.
      for (int m = 0; m < order; ++m) text += std::to_string(x * 7919 % 50021 / (m + 1) + 1) + " ";
      text += "1\n";
    };
    for (Count x = 0; x < n; ++x) line(x);
    CHECK(parse(text).nnz() == n);
    line(1234);
    refused(text, n + 1, 1, "coordinate (", "each coordinate once");
  }
}

TEST_CASE("a coordinate that fills the file is found") {
  std::string text = "2 2 1\n";
  for (int x = 0; x < 150000; ++x) text += "1 1 1\n";
  refused(text, 3, 1, "coordinate (1, 1) again (first on line 2)", "each coordinate once");
}

TEST_CASE("an unsorted file keeps its order") {
  const Coo t = parse("3 1 1\n1 1 2\n2 9 3\n");
  CHECK(t.indices[0] == std::vector<Index>{2, 0, 1});
}

TEST_CASE("writing and reading back is exact") {
  const retensor::testing::TemporaryFolder folder;
  for (const auto type : {DType::f32, DType::f64})
    for (const Dims& dims : {Dims{40}, Dims{30, 40}, Dims{9, 70000, 11}, Dims(8, 5)}) {
      Coo t = random_tensor(dims, 300, type);
      t.values.set(0, type == DType::f32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023);
      if (t.nnz() > 2) t.values.set(1, type == DType::f32 ? 0x1p-149 : 0x1p-1074);
      write_tns(folder.file("t.tns"), t);
      for (const auto chunk : kChunkSizes) {
        ReadOptions options;
        options.dtype = type;
        options.chunk_bytes = chunk;
        check_same(read_tensor(folder.file("t.tns"), options), t);
      }
      CHECK(folder.read("t.tns") == to_tns(t));
    }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("an empty tensor and the last index survive") {
  const Coo empty({3, 4}, DType::f64);
  ReadOptions options;
  options.dtype = DType::f64;
  check_same(parse(to_tns(empty), options), empty);
  const Coo t = parse("4294967295 1\n");
  CHECK(t.dims == Dims{4294967295});
  CHECK(t.indices[0][0] == 4294967294u);
  CHECK(to_tns(t, TnsHeader::none) == "4294967295 1\n");
  CHECK_THROWS_AS(to_tns(Coo({std::uint64_t{1} << 32}, DType::f32)), InputError);
}

TEST_CASE("a folder that can't be written to is a system error") {
  CHECK_THROWS_AS(write_tns("/no/such/folder/t.tns", parse("1 1\n")), SystemError);
}
