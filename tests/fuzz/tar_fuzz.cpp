// Tar archives of any content: a member lies in the archive, and damage is refused. No mutation
// finds the sum of a header, so each is tried with right ones too.
#include "common/io/compressed.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/invariants.hpp"

namespace {

using namespace retensor;

constexpr std::size_t kBlock = 512, kSum = 148, kMagic = 257;

std::string with_right_sums(std::string_view bytes) {
  std::string archive(bytes);
  for (std::size_t at = 0; at + kBlock <= archive.size(); at += kBlock) {
    if (archive.compare(at + kMagic, 5, "ustar") != 0) continue;
    archive.replace(at + kSum, 8, 8, ' ');
    unsigned sum = 0;
    for (const unsigned char c : archive.substr(at, kBlock)) sum += c;
    archive.replace(at + kSum, 7, fmt::format("{:06o} ", sum));
  }
  return archive;
}

void try_archive(std::string_view bytes) {
  TarMember member;
  if (!fuzz::accepted([&] { member = tensor_of_tar(bytes, "input"); })) return;
  const auto* content = member.content.data();
  fuzz::require(
      member.content.empty() || (content >= bytes.data() &&
                                 content + member.content.size() <= bytes.data() + bytes.size()),
      "a member lies in its archive");
  fuzz::require(!member.name.empty(), "a member has a name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_archive(bytes);
  try_archive(with_right_sums(bytes));
  return 0;
}
