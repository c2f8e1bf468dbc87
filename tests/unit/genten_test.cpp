#include "common/io/tns.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/io/read.hpp"
#include "tests/support/complaint.hpp"
#include "tests/unit/io_expect.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;
using retensor::test::contains;
using retensor::test::refusal_of;
using retensor::testing::check_same;

namespace {

const std::string kTensor = "sptensor\n3\n4 3 2\n2\n3 0 1 -1\n0 2 0 0.5\n";

Coo parse(const std::string& text, const ReadOptions& options = {}) {
  return parse_genten(text, "x.txt", options);
}

std::string refusal(const std::string& text, const ReadOptions& options = {}) {
  return refusal_of([&] { parse(text, options); }, "accepted");
}

/// The same whatever the chunks.
void refused(const std::vector<std::pair<std::string, std::string>>& texts) {
  ReadOptions options;
  for (const std::size_t chunk : {1, 9, 1 << 20}) {
    options.chunk_bytes = chunk;
    retensor::testing::check_refusals([&](const std::string& t) { return parse(t, options); },
                                      texts);
  }
}

}  // namespace

TEST_CASE("a file is known by its first word") {
  CHECK(is_genten(kTensor));
  CHECK(is_genten("# made by GenTen\n\n  sptensor\n"));
  CHECK_FALSE(is_genten("sptensors\n"));
  CHECK_FALSE(is_genten("1 1 1\n"));
  CHECK_FALSE(is_genten("# sptensor\n"));
  CHECK_FALSE(is_genten(""));
}

TEST_CASE("indices count from zero, from one where the keyword says so") {
  const Coo t = parse(kTensor);
  CHECK(t.dims == Dims{4, 3, 2});
  CHECK(t.indices == std::vector<std::vector<Index>>{{3, 0}, {0, 2}, {1, 0}});
  CHECK(t.values.at(0) == -1);
  CHECK(t.values.at(1) == 0.5);
  check_same(parse("# c\nsptensor indices-start-at-one\n3\n4 3 2\n2\n# c\n4 1 2 -1\n1 3 1 5e-1\n"),
             t);
  CHECK(parse("sptensor\n2\n2 2\n0\n").nnz() == 0);
  check_same(parse_tensor(kTensor, "any.name"), t);
}

TEST_CASE("the header is refused at its place") {
  refused({
      {"", "1:1: found the end of the file, expected the word sptensor"},
      {"# c\n1 1 1\n", "2:1: found '1', expected the word sptensor"},
      {"sptensor from-one\n2\n2 2\n0\n", "1:10: found 'from-one', expected indices-start-at-one"},
      {"sptensor\n0\n\n0\n", "2:1: found '0', expected the number of modes"},
      {"sptensor\n9\n2 2\n0\n", "2:1: found '9', expected the number of modes"},
      {"sptensor\n2 2\n2 2\n0\n",
       "2:3: found '2', expected the end of the line after the number of modes"},
      {"sptensor\n2\n2 2\n-1\n", "4:1: found '-1', expected the number of nonzeros"},
      {"sptensor\n2\n2 2\n1 1\n0 0 1\n",
       "4:3: found '1', expected the end of the line after the number of nonzeros"},
  });
  ReadOptions options;
  options.dims = {4, 3};
  CHECK(contains(refusal(kTensor, options), "2:1: found '3', expected 2 modes as requested"));
}

TEST_CASE("the body is refused at its place") {
  refused({
      {"sptensor\n2\n2 2\n1\n2 0 1\n", "5:1: found '2', expected an index of mode 1 of 2"},
      {"sptensor indices-start-at-one\n2\n2 2\n1\n0 1 1\n",
       "5:1: found '0', expected an index of mode 1"},
      {"sptensor\n2\n2 2\n1\n0 -1 1\n", "5:3: found '-1', expected an index of mode 2"},
      {"sptensor\n2\n2 2\n2\n0 0 1\n", "4:1: found '2', expected 1, the nonzeros of the body"},
      {"sptensor\n2\n2 2\n1\n0 0 1\n1 1 1\n",
       "4:1: found '1', expected 2, the nonzeros of the body"},
  });
}

TEST_CASE("a coordinate that stands twice is refused at its second place") {
  ReadOptions options;
  options.duplicates = Duplicates::error;
  const std::string twice = "sptensor\n2\n2 2\n2\n0 1 1\n0 1 2\n";
  try {
    parse(twice, options);
    FAIL("accepted");
  } catch (const ParseError& e) {
    CHECK(e.position().line == 6);
  }
  options.duplicates = Duplicates::sum;
  CHECK(parse(twice, options).values.at(0) == 3);
}

TEST_CASE("no part of a file is taken for the whole") {
  for (std::size_t size = 8; size + 4 < kTensor.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(parse(kTensor.substr(0, size)), ParseError);
  }
}

TEST_CASE("what is written is read back to the last digit of double precision") {
  const retensor::testing::TemporaryFolder folder;
  Coo t({7, 1, 5, 2}, DType::f64, 2);
  for (std::size_t m = 0; m < t.dims.size(); ++m)
    t.indices[m][0] = static_cast<Index>(t.dims[m] - 1);
  t.values.set(0, 0.1);
  t.values.set(1, -1e-300);
  write_genten(folder.file("t.txt"), t);
  ReadOptions options;
  options.dtype = DType::f64;
  check_same(parse(folder.read("t.txt"), options), t);
}
