// The raw CSV page of Nsight Compute, in the form that `ncu --csv --page raw` documents.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/core/error.hpp"
#include "experiments/driver/run/ncu_table.hpp"

using namespace retensor;
using driver::parse_ncu_csv;
using driver::summarise_launches;

namespace {

const std::string kTalk =
    "==PROF== Connected to process 4242 (/opt/retensor)\n"
    "==PROF== Profiling \"mttkrp\" - 0: 0%....50%....100% - 4 passes\n"
    "==PROF== Disconnected from process 4242\n";
const std::string kHead =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"dram__bytes_read.sum\","
    "\"dram__bytes_write.sum\",\"gpu__time_duration.sum\",\"lts__t_sectors_op_atom.sum\","
    "\"sm__throughput.avg.pct_of_peak_sustained_elapsed\"\n";
const std::string kUnits =
    "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"Mbyte\",\"ns\",\"sector\","
    "\"%\"\n";

std::string launch(int id, const std::string& kernel, const std::string& values) {
  return fmt::format(
      R"csv("{}","4242","retensor","127.0.0.1","{}","1","7","(256, 1, 1)","(1,024, 1, 1)","0","9.0",)csv"
      "{}\n",
      id, kernel, values);
}

const std::string kTwoLaunches = kTalk + kHead + kUnits +
                                 launch(0, "mttkrp<float, 3>(const float *, \"\"x\"\")",
                                        R"("1,048,576","2.5","3,000","1,200","50.00")") +
                                 launch(1, "reduce", R"("24","0","1,000","0","10.00")") +
                                 "==WARNING== talk after the table\n";

}  // namespace

TEST_CASE("launches are read with grouped digits, units and quotes in names") {
  const auto launches = parse_ncu_csv(kTwoLaunches);
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].kernel == "mttkrp<float, 3>(const float *, \"x\")");
  CHECK(launches[0].metrics.at("dram__bytes_read.sum") == 1048576);
  CHECK(launches[0].metrics.at("dram__bytes_write.sum") == 2.5e6);
  CHECK(launches[0].metrics.at("gpu__time_duration.sum") == doctest::Approx(3e-6));
  CHECK(launches[0].metrics.size() == 5);
  CHECK(launches[1].kernel == "reduce");
}

TEST_CASE("counts are summed and percentages weighed by time") {
  const auto profile = summarise_launches(parse_ncu_csv(kTwoLaunches));
  CHECK(profile["launches"] == 2);
  CHECK(profile["dram_read_bytes"] == 1048600);
  CHECK(profile["dram_bytes"] == 1048600 + 2.5e6);
  CHECK(profile["seconds"].get<double>() == doctest::Approx(4e-6));
  CHECK(profile["sm_percent"].get<double>() == doctest::Approx((3 * 50.0 + 10) / 4));
}

TEST_CASE("a missing metric is named and loses no other") {
  const auto profile = summarise_launches(parse_ncu_csv(kTwoLaunches));
  const auto missing = profile["missing"].get<std::vector<std::string>>();
  const auto lacks = [&](const char* name) {
    return std::find(missing.begin(), missing.end(), name) != missing.end();
  };
  CHECK(lacks("lts__t_bytes.sum"));
  CHECK(lacks("lts__t_sectors_op_red.sum"));
  CHECK(!lacks("lts__t_sectors_op_atom.sum"));
  CHECK(!profile.contains("l2_bytes"));
  CHECK_MESSAGE(!profile.contains("l2_atomic_sectors"), "half a sum is no sum");
}

TEST_CASE("a metric that one launch lacks is missing from the run") {
  for (const auto* value : {"n/a", "", "nan", "(!) n/a"}) {
    const auto profile = summarise_launches(
        parse_ncu_csv(kHead + kUnits + launch(0, "a", R"("8","0","1,000","0","10.00")") +
                      launch(1, "b", fmt::format(R"("{}","0","1,000","0","10.00")", value))));
    CAPTURE(value);
    CHECK(!profile.contains("dram_bytes"));
    CHECK(profile["dram_write_bytes"] == 0);
  }
}

TEST_CASE("an unknown unit is no number") {
  auto units = kUnits;
  units.replace(units.find("Mbyte"), 5, "bogus");
  const auto launches =
      parse_ncu_csv(kHead + units + launch(0, "a", R"("8","2","1,000","0","10.00")"));
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].metrics.count("dram__bytes_write.sum") == 0);
  CHECK(launches[0].metrics.at("dram__bytes_read.sum") == 8);
}

TEST_CASE("launches count equally where ncu gave no times") {
  const auto profile = summarise_launches(
      parse_ncu_csv(kHead + kUnits + launch(0, "a", R"("8","0","n/a","0","10.00")") +
                    launch(1, "b", R"("8","0","1,000","0","30.00")")));
  CHECK(!profile.contains("seconds"));
  CHECK(profile["sm_percent"] == 20);
}

TEST_CASE("talk without a table has no launches, a torn table is an error") {
  CHECK(parse_ncu_csv("").empty());
  CHECK(parse_ncu_csv(kTalk + "==WARNING== No kernels were profiled.\n").empty());
  CHECK(parse_ncu_csv(kTalk + kHead + kUnits).empty());
  const auto torn = kTwoLaunches.substr(0, kTwoLaunches.find("\"24\""));
  CHECK_THROWS_AS(parse_ncu_csv(torn), InputError);
}

TEST_CASE("every metric of a profile is asked for once") {
  auto names = driver::ncu_metrics();
  CHECK(names.size() >= 11);
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}
