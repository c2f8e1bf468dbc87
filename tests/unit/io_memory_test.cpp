// Peak memory of the text reader: at most 1.5 times the tensor plus the file. A program of its own,
// because the peak of a process never falls.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/io/read.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;

namespace {

std::uint64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// Distinct coordinates in no order: the expensive case of the duplicate search.
void write_unsorted(const std::string& path, Count nnz) {
  std::ofstream out(path);
  constexpr Count modulus = 4000037;  // a prime beyond nnz
  for (Count x = 1; x <= nnz; ++x) {
    const Count y = x * 1234567 % modulus;
    out << y % 2000 + 1 << ' ' << y / 2000 + 1 << ' ' << x % 300 + 1 << ' '
        << static_cast<double>(x % 1000) / 8 << '\n';
  }
}

}  // namespace

TEST_CASE("reading needs at most 1.5 times the tensor plus the mapped file") {
  const retensor::testing::TemporaryFolder folder;
  const std::string path = folder.file("large.tns");
  constexpr Count nnz = 3000000;
  write_unsorted(path, nnz);
  const auto file = std::filesystem::file_size(path);
  const auto before = peak_bytes();
  const Coo tensor = read_tensor(path);
  const auto growth = peak_bytes() - before;
  REQUIRE(tensor.nnz() == nnz);
  REQUIRE(tensor.bytes() == 16 * nnz);
  MESSAGE("growth over tensor and file: ",
          (static_cast<double>(growth) - static_cast<double>(file)) /
              static_cast<double>(tensor.bytes()));
  CHECK(growth >= tensor.bytes());  // the measurement itself works
  CHECK(static_cast<double>(growth) <=
        1.5 * static_cast<double>(tensor.bytes()) + static_cast<double>(file));
}
