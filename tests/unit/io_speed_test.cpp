// Speed of the text reader beside a loop of fscanf over the same file. The ordinary test asks one
// core for twice the speed of fscanf by processor time, which other load hardly changes; the long
// suite asks all cores of an idle machine for 480 MB/s or five times fscanf by the clock.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/core/rng.hpp"
#include "common/io/read.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;

namespace {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

using Clock = double (*)();

template <class F>
double best_seconds(Clock now, int repeats, F f) {
  double best = std::numeric_limits<double>::infinity();
  for (int r = 0; r < repeats; ++r) {
    const double start = now();
    f();
    best = std::min(best, now() - start);
  }
  return best;
}

/// Sorted or not, order 3, values with two to six digits behind the point.
void write_file(const std::string& path, Count nnz, bool sorted) {
  std::ofstream out(path);
  const CounterRng rng(11);
  char line[96];
  constexpr Count fiber = 30;
  for (Count x = 0; x < nnz; ++x) {
    const Count i = sorted ? x : x * 1234577 % nnz;  // a prime that does not divide nnz
    const int n = std::snprintf(line, sizeof line, "%llu %llu %llu %.*f\n",
                                static_cast<unsigned long long>(i / fiber / 400 + 1),
                                static_cast<unsigned long long>(i / fiber % 400 + 1),
                                static_cast<unsigned long long>(i % fiber * 1000 + 1),
                                static_cast<int>(2 + rng.below(2 * x, 5)), rng.uniform(2 * x + 1));
    out.write(line, n);
  }
}

/// The usual reader: the arrays are made beforehand, each line is one call.
Count scan(const std::string& path, Count nnz) {
  const auto close = [](std::FILE* f) { std::fclose(f); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "r"), close);
  REQUIRE(file);
  std::vector<Index> is(nnz), js(nnz), ks(nnz);
  std::vector<float> values(nnz);
  Count n = 0;
  while (n < nnz && std::fscanf(file.get(), "%u %u %u %f", &is[n], &js[n], &ks[n], &values[n]) == 4)
    ++n;
  return n;
}

struct Speed {
  double megabytes_per_second, times_fscanf;
};

Speed compare(Clock now, Count nnz, bool sorted) {
  const retensor::testing::TemporaryFolder folder;
  const std::string path = folder.file("speed.tns");
  write_file(path, nnz, sorted);
  const double megabytes = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
  const double own = best_seconds(now, 5, [&] { REQUIRE(read_tensor(path).nnz() == nnz); });
  const double loop = best_seconds(now, 3, [&] { REQUIRE(scan(path, nnz) == nnz); });
  const Speed speed{megabytes / own, loop / own};
  MESSAGE(megabytes, " MB, ", std::string(sorted ? "sorted" : "unsorted"), ": ",
          speed.megabytes_per_second, " MB/s, ", speed.times_fscanf, " times fscanf");
  return speed;
}

}  // namespace

TEST_CASE("twice as fast as fscanf on one core") {
  omp_set_num_threads(1);
  CHECK(compare(processor_seconds, 400000, true).times_fscanf >= 2);
}

TEST_CASE("long: 480 MB/s or five times fscanf" * doctest::skip()) {
  for (const bool sorted : {true, false}) {
    const Speed speed = compare(clock_seconds, 10000000, sorted);
    CHECK((speed.megabytes_per_second >= 480 || speed.times_fscanf >= 5));
  }
}
