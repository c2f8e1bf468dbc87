#include "common/io/compressed.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/io/read.hpp"
#include "tests/support/complaint.hpp"
#include "tests/unit/io_expect.hpp"

using namespace retensor;
using retensor::test::contains;
using retensor::test::refusal_of;

namespace {

const std::string kInside = "1 1 1 2.5\n2 3 1 -1\n";

/// A header block of POSIX ustar with its checksum.
std::string header(const std::string& name, std::size_t size, char type = '0') {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, 11, fmt::format("{:011o}", size));
  block[156] = type;
  block.replace(257, 5, "ustar");
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const unsigned char c : block) sum += c;
  block.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
  return block;
}

std::string member(const std::string& name, const std::string& content, char type = '0') {
  return header(name, content.size(), type) + content +
         std::string((512 - content.size() % 512) % 512, '\0');
}

std::string archive(const std::vector<std::string>& members) {
  std::string bytes;
  for (const auto& one : members) bytes += one;
  return bytes + std::string(1024, '\0');
}

std::string tar_refusal(const std::string& bytes) {
  return refusal_of([&] { tensor_of_tar(bytes, "a.tar"); }, "accepted");
}

}  // namespace

TEST_CASE("an archive is known by its mark, which text cannot have") {
  CHECK(is_tar(archive({member("a.tns", kInside)})));
  CHECK_FALSE(is_tar(std::string(257, '#') + "ustar" + std::string(300, ' ')));
  CHECK_FALSE(is_tar(member("a.tns", kInside).substr(0, 511)));
  CHECK_FALSE(is_tar(""));
}

TEST_CASE("the one tensor is found beside sidecars, folders and links") {
  const auto bytes = archive({member("darpa/", "", '5'), member("darpa/._d.tns", "macOS"),
                              member("darpa/link", "", '2'), member("darpa/d.tns", kInside)});
  const auto found = tensor_of_tar(bytes, "a.tar");
  CHECK(found.name == "darpa/d.tns");
  CHECK(found.content == kInside);
  CHECK(found.content.data() > bytes.data());
  CHECK(parse_tensor(bytes, "a.tar").dims == Dims{2, 3, 1});
}

TEST_CASE("among several the one that is called as its folder") {
  const auto matrix = member("M/M.mtx", "matrix"), vector = member("M/M_b.mtx", "vector");
  CHECK(tensor_of_tar(archive({vector, matrix}), "a.tar").content == "matrix");
  CHECK(contains(tar_refusal(archive({vector, member("M/M_x.mtx", "x")})),
                 "a.tar: found 2 files that could be the tensor in the tar archive: M/M_b.mtx, "
                 "M/M_x.mtx, expected one, or one that is called as its folder"));
  CHECK(contains(tar_refusal(archive({matrix, member("N/N.mtx", "other")})), "found 2 files"));
  CHECK(contains(tar_refusal(archive({member("._d.tns", "macOS")})), "found 0 files"));
  CHECK(contains(tar_refusal(archive({})), "found 0 files"));
}

TEST_CASE("long names of pax and GNU tar belong to the next member alone") {
  const std::string folder(150, 'f'), name = folder + "/x.tns", other = "y.tns";
  const auto record = fmt::format("{} path={}\n", name.size() + 10, name);
  for (const auto& told :
       {member("PaxHeaders/x", record, 'x'), member("././@LongLink", name + '\0', 'L')}) {
    CHECK(tensor_of_tar(archive({told, member(name.substr(0, 99), kInside)}), "a.tar").name ==
          name);
    // Renamed, the sidecar is a second file.
    const auto sidecar = member("._" + name.substr(0, 90), "macOS");
    CHECK(contains(tar_refusal(archive({told, sidecar, member(other, kInside)})), "found 2 files"));
    CHECK(tensor_of_tar(archive({sidecar, member(other, kInside)}), "a.tar").name == other);
  }
}

TEST_CASE("a name's prefix, a size of base 256 and blanks before a size are read") {
  auto prefixed = header("x.tns", kInside.size());
  const auto sized = [&](std::string block, const std::string& field) {
    block.replace(124, 12, field);
    block.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (const unsigned char c : block) sum += c;
    block.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
    return block + kInside + std::string(512 - kInside.size(), '\0');
  };
  prefixed.replace(345, 3, "dir");
  CHECK(tensor_of_tar(sized(prefixed, fmt::format("{:011o}", kInside.size()) + '\0'), "a").name ==
        "dir/x.tns");
  const auto plain = header("x.tns", kInside.size());
  std::string binary(12, '\0');
  binary[0] = '\x80';
  binary[11] = static_cast<char>(kInside.size());
  CHECK(tensor_of_tar(sized(plain, binary), "a").content == kInside);
  CHECK(tensor_of_tar(sized(plain, fmt::format("{:>11o} ", kInside.size())), "a").content ==
        kInside);
  binary[1] = '\x7f';
  binary[4] = '\x7f';
  CHECK(contains(tar_refusal(sized(plain, binary)), "a member cut short at byte 0"));
  CHECK(contains(tar_refusal(sized(plain, std::string(12, '9'))), "a member cut short at byte 0"));
}

TEST_CASE("damage is told with the byte where it stands") {
  const auto good = archive({member("._d", "macOS"), member("d.tns", kInside)});
  for (const std::size_t at : {0, 130, 156, 300, 1024, 1024 + 124, 1024 + 511}) {
    CAPTURE(at);
    auto bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    const auto place = at < 512 ? 0 : 1024;
    CHECK(contains(tar_refusal(bad),
                   fmt::format("a.tar: found a damaged header at byte {} of the tar "
                               "archive, expected a complete archive",
                               place)));
  }
  for (std::size_t size = 512; size < 512 + 5; ++size)
    CHECK(contains(tar_refusal(good.substr(0, size)), "a member cut short at byte 0"));
  for (std::size_t size = 517; size < 1536; size += 100)
    CHECK(contains(tar_refusal(good.substr(0, size)), "found 0 files"));
  for (std::size_t size = 1536; size < 1536 + kInside.size(); ++size)
    CHECK(contains(tar_refusal(good.substr(0, size)), "a member cut short at byte 1024"));
}

TEST_CASE("what is wrong in the tensor is told with the member's line") {
  const auto bad = archive({member("d/d.tns", "1 1 1 2.5\n2 x 1 1\n")});
  const auto message = refusal_of([&] { parse_tensor(bad, "d.tar"); }, "accepted");
  CAPTURE(message);
  CHECK(contains(message, "d.tns:2:3: found 'x'"));
}
