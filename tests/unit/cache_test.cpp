#include "common/io/cache.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "common/core/error.hpp"
#include "common/io/read.hpp"
#include "common/io/tns.hpp"
#include "tests/unit/io_expect.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;
using retensor::testing::check_refused;
using retensor::testing::check_same;

namespace {

Coo sample(DType type = DType::f32) {
  Coo t({3, 4, 5}, type, 2);
  t.indices = {{2, 0}, {3, 1}, {4, 2}};
  t.values.set(0, 0.1);
  t.values.set(1, -7);
  return t;
}

void refused(const std::string& bytes, const std::string& found, const std::string& expected) {
  check_refused([&] { return parse_cache(bytes, "x.tnsb"); }, 0, 0, found, expected);
}

}  // namespace

TEST_CASE("write and read give the same tensor, of both types, order 1 and 8, empty too") {
  const retensor::testing::TemporaryFolder folder;
  for (const auto type : {DType::f32, DType::f64}) {
    Coo wide(Dims(8, 9), type, 1);
    for (auto& mode : wide.indices) mode[0] = 8;
    Coo last({std::uint64_t{1} << 32}, type, 1);
    last.indices[0][0] = 0xffffffff;
    for (const Coo& t : {sample(type), wide, last, Coo({7}, type), Coo({2, 2}, type)}) {
      write_cache(folder.file("t.tnsb"), t);
      check_same(read_cache(folder.file("t.tnsb")), t);
      CHECK(folder.read("t.tnsb") == to_cache(t));
      const CacheFacts facts = read_cache_facts(folder.file("t.tnsb"));
      CHECK(facts.dims == t.dims);
      CHECK(facts.dtype == type);
      CHECK(facts.nnz == t.nnz());
      CHECK(facts.sha256 == content_sha256(t));
    }
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("shares of a cache are the tensor, and what is damaged in a share is refused") {
  const retensor::testing::TemporaryFolder folder;
  const auto path = folder.file("t.tnsb");
  for (const auto type : {DType::f32, DType::f64}) {
    Coo whole({50, 3}, type, 11);
    for (Count x = 0; x < whole.nnz(); ++x) {
      whole.indices[0][x] = static_cast<Index>(4 * x),
      whole.indices[1][x] = static_cast<Index>(x % 3);
      whole.values.set(x, 0.5 * static_cast<double>(x));
    }
    write_cache(path, whole);
    for (const Count parts : {1, 3, 20}) {
      Count seen = 0;
      for (Count k = 0; k < parts; ++k) {
        const Coo share = read_cache_part(path, k, parts);
        CHECK(share.dims == whole.dims);
        CHECK(share.dtype() == type);
        for (Count x = 0; x < share.nnz(); ++x, ++seen) {
          CHECK(share.indices[0][x] == whole.indices[0][seen]);
          CHECK(share.indices[1][x] == whole.indices[1][seen]);
          CHECK(share.values.at(x) == whole.values.at(seen));
        }
      }
      CHECK(seen == whole.nnz());
    }
  }
  auto bytes = folder.read("t.tnsb");
  bytes[128 + 3] = 1;  // the first index becomes 2^24
  folder.write("t.tnsb", bytes);
  CHECK_THROWS_AS(read_cache_part(path, 0, 2), InputError);
  CHECK_NOTHROW(read_cache_part(path, 1, 2));
  folder.write("t.tnsb", bytes.substr(0, bytes.size() - 1));
  CHECK_THROWS_AS(read_cache_part(path, 1, 2), ParseError);
}

TEST_CASE("a mapped tensor is read where it lies") {
  const retensor::testing::TemporaryFolder folder;
  const auto path = folder.file("mapped.tnsb");
  const Coo tensor = sample(DType::f64);
  write_cache(path, tensor);
  const MappedCache mapped(path);
  CHECK(mapped.facts().dims == tensor.dims);
  REQUIRE(mapped.facts().nnz == tensor.nnz());
  for (std::size_t m = 0; m < tensor.dims.size(); ++m)
    CHECK(std::equal(tensor.indices[m].begin(), tensor.indices[m].end(), mapped.indices(m)));
  CHECK(std::memcmp(mapped.values(), tensor.values.as<double>().data(), tensor.values.bytes()) ==
        0);
  std::filesystem::resize_file(path, 100);
  CHECK_THROWS_AS(MappedCache{path}, ParseError);
}

TEST_CASE("the identity covers type, mode lengths, indices, values and their order") {
  const std::string own = content_sha256(sample());
  CHECK(own.size() == 64);
  CHECK(own == content_sha256(sample()));
  CHECK(own != content_sha256(sample(DType::f64)));
  Coo t = sample();
  t.dims[0] = 4;
  CHECK(own != content_sha256(t));
  t = sample();
  t.indices[1][1] = 2;
  CHECK(own != content_sha256(t));
  t = sample();
  t.values.set(1, 7);
  CHECK(own != content_sha256(t));
  t = sample();
  for (auto& mode : t.indices) std::swap(mode[0], mode[1]);
  CHECK(own != content_sha256(t));
}

TEST_CASE("every truncation and every changed byte is refused") {
  const std::string bytes = to_cache(sample());
  for (std::size_t n = 0; n < bytes.size(); ++n)
    CHECK_THROWS_AS(parse_cache(bytes.substr(0, n), "x"), ParseError);
  CHECK_THROWS_AS(parse_cache(bytes + "x", "x"), ParseError);
  for (std::size_t n = 0; n < bytes.size(); ++n)
    for (const int bit : {0, 7}) {
      std::string damaged = bytes;
      damaged[n] = static_cast<char>(damaged[n] ^ (1 << bit));
      CAPTURE(n);
      CHECK_THROWS_AS(parse_cache(damaged, "x"), ParseError);
    }
}

/// As the first version wrote it, without a checksum of the header.
std::string of_version_1(std::string bytes) {
  bytes[8] = 1;
  std::fill_n(bytes.begin() + 20, 4, '\0');
  return bytes;
}

TEST_CASE("files of version 1 are read, and their content speaks for their header") {
  const retensor::testing::TemporaryFolder folder;
  auto bytes = of_version_1(to_cache(sample()));
  CHECK(read_cache_facts(folder.write("a.tnsb", bytes)).sha256 == content_sha256(sample()));
  bytes[32] = static_cast<char>(bytes[32] ^ 1);  // the length of mode 0
  CHECK_THROWS_AS(read_cache_facts(folder.write("a.tnsb", bytes)), ParseError);
}

TEST_CASE("the refusal says what is wrong") {
  const std::string bytes = to_cache(sample());
  std::string other = bytes;
  other[8] = 3;
  refused(other, "version 3", "version 2");
  refused("1 1 1\n", "no cache", "the magic bytes");
  refused(bytes.substr(0, 100), "100 bytes", "a header of 128 bytes");
  refused(bytes.substr(0, bytes.size() - 1), "159 bytes", "the size of 2 nonzeros");
  other = of_version_1(bytes);
  other[31] = 0x7f;  // 2^62 nonzeros and more: refused before anything is allocated
  refused(other, "160 bytes", "the size of");
  other = bytes;
  other.back() = static_cast<char>(other.back() ^ 1);
  refused(other, "content with SHA-256", content_sha256(sample()));
}

TEST_CASE("a sound checksum over an unsound tensor does not help") {
  Coo t = sample();
  t.indices[2][0] = 5;
  CHECK_THROWS_AS(parse_cache(to_cache(t), "x"), InputError);
  t = sample();
  t.values.set(0, 1e300);
  CHECK_THROWS_AS(parse_cache(to_cache(t), "x"), InputError);
}

TEST_CASE("read_tensor takes a cache and applies its options") {
  const retensor::testing::TemporaryFolder folder;
  Coo t = sample(DType::f64);
  const std::string path = folder.file("named.tns");
  write_cache(path, t);
  ReadOptions options;
  CHECK(read_tensor(path).dtype() == DType::f32);
  CHECK(read_tensor(path).values.at(0) == static_cast<double>(0.1f));
  options.dtype = DType::f64;
  check_same(read_tensor(path, options), t);
  options.dims = {3, 4, 6};
  check_refused([&] { return read_tensor(path, options); }, 0, 0, "mode lengths 3 x 4 x 5",
                "3 x 4 x 6");
  t.values.set(0, 1e300);
  write_cache(path, t);
  CHECK_THROWS_AS(read_tensor(path), InputError);
  t = sample();
  for (auto& mode : t.indices) mode[1] = mode[0];
  write_cache(path, t);
  check_refused([&] { return read_tensor(path); }, 0, 0, "coordinate (3, 4, 5) again",
                "each coordinate once");
}

TEST_CASE("missing files, folders and unwritable places") {
  const retensor::testing::TemporaryFolder folder;
  CHECK_THROWS_AS(read_cache(folder.file("none")), InputError);
  CHECK_THROWS_AS(read_tensor(folder.file("none")), InputError);
  CHECK_THROWS_AS(read_tensor(folder.path().string()), InputError);
  CHECK_THROWS_AS(read_tensor(folder.write("empty", "")), ParseError);
  CHECK_THROWS_AS(write_cache(folder.file("none/t.tnsb"), sample()), SystemError);
}
