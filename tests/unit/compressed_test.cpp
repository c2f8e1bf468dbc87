#include "common/io/compressed.hpp"

#include <doctest/doctest.h>
#include <zlib.h>
#include <zstd.h>

#include <stdexcept>
#include <string>

#include "common/core/error.hpp"
#include "common/io/cache.hpp"
#include "common/io/read.hpp"
#include "tests/unit/io_expect.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;
using retensor::testing::check_refused;
using retensor::testing::check_same;

namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;

std::string gzip(const std::string& text) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t n = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  if (ZSTD_isError(n)) throw std::runtime_error("ZSTD_compress");
  out.resize(n);
  return out;
}

std::string unpacked(const std::string& archive) {
  const Unpacked content = unpack(archive, "x", kNoLimit);
  return std::string(content.view());
}

std::string lines(int n) {
  std::string text;
  for (int x = 1; x <= n; ++x) text += std::to_string(x) + " 1 0.5\n";
  return text;
}

using Packer = std::string (*)(const std::string&);
constexpr Packer kPackers[] = {gzip, zstd};

}  // namespace

TEST_CASE("archives of any size unpack to what was packed") {
  for (const Packer pack : kPackers)
    for (const int n : {0, 1, 1000, 50000}) {
      const std::string text = lines(n);
      CHECK(is_archive(pack(text)));
      CHECK(unpacked(pack(text)) == text);
      CHECK(unpacked(pack(text) + pack(text)) == text + text);
    }
  CHECK_FALSE(is_archive("1 1 1\n"));
  CHECK_FALSE(is_archive(""));
}

TEST_CASE("a zstd archive that opens with a skippable frame") {
  const std::string skippable(
      "\x50\x2a\x4d\x18\x03\x00\x00\x00"
      "abc",
      11);
  CHECK(is_archive(skippable));
  CHECK(unpacked(skippable + zstd("text")) == "text");
}

TEST_CASE("every truncation is refused") {
  for (const Packer pack : kPackers) {
    const std::string archive = pack(lines(50));
    for (std::size_t n = 4; n < archive.size(); ++n)
      CHECK_THROWS_AS(unpack(archive.substr(0, n), "x", kNoLimit), ParseError);
  }
}

TEST_CASE("damage and foreign bytes behind the archive are refused") {
  const std::string text = lines(2000);
  std::string damaged = gzip(text);
  for (const std::size_t at : {damaged.size() / 2, damaged.size() - 6, damaged.size() - 2}) {
    std::string other = damaged;
    other[at] = static_cast<char>(other[at] ^ 0x10);
    CHECK_THROWS_AS(unpack(other, "x", kNoLimit), ParseError);
  }
  for (const Packer pack : kPackers)
    CHECK_THROWS_AS(unpack(pack(text) + "trailing", "x", kNoLimit), ParseError);
  check_refused([&] { return parse_tensor(gzip(text).substr(0, 100), "x.gz"); }, 0, 0,
                "the end at byte 100", "a complete gzip archive");
}

TEST_CASE("an archive that unpacks beyond the limit is refused early") {
  const std::string zeros(std::size_t{32} << 20, '0');
  for (const Packer pack : kPackers) {
    const std::string bomb = pack(zeros);
    CHECK(bomb.size() < 100000);
    CHECK_THROWS_AS(unpack(bomb, "x", 1 << 20), ParseError);
    CHECK(unpack(bomb, "x", zeros.size()).size() == zeros.size());
    CHECK_THROWS_AS(unpack(bomb, "x", zeros.size() - 1), ParseError);
  }
  ReadOptions options;
  options.max_unpacked_bytes = 10;
  check_refused([&] { return parse_tensor(gzip(lines(5)), "x.gz", options); }, 0, 0,
                "more than 10 unpacked bytes", "an archive within this limit");
}

TEST_CASE("read_tensor goes by content, whatever the name; a matrix without banner is none") {
  const retensor::testing::TemporaryFolder folder;
  const Coo plain = read_tensor(folder.write("a.gz", lines(3000)));
  CHECK(plain.nnz() == 3000);
  const std::string matrix = "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n2 3\n";
  for (const Packer pack : kPackers) {
    check_same(read_tensor(folder.write("a.txt", pack(lines(3000)))), plain);
    check_refused([&] { return read_tensor(folder.write("a.mtx", pack(lines(3)))); }, 1, 1, "'1'",
                  "the banner %%MatrixMarket");
    check_same(read_tensor(folder.write("a.tnsb", pack(to_cache(plain)))), plain);
    CHECK(read_tensor(folder.write("a.tns", pack(matrix))).dims == Dims{2, 3});
    check_refused([&] { return parse_tensor(pack(lines(3) + "1 x 1\n"), "a.gz"); }, 4, 3, "'x'",
                  "an index of mode 2");
    CHECK_THROWS_AS(parse_tensor(pack(""), "a.gz"), ParseError);
  }
}
