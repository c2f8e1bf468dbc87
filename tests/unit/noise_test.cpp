// Noise of a row's samples: what is doubtful must be said, and what is not must not.
#include "experiments/driver/run/noise.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

using namespace retensor::driver;
using nlohmann::json;

namespace {

json row(const std::vector<double>& samples, const json& load = nullptr) {
  json line = {{"phases", {{"run", samples}}}};
  if (!load.is_null()) line["cpu_load"] = load;
  return line;
}

std::string noise(const std::vector<double>& samples, const json& load = nullptr) {
  return noise_text(row(samples, load));
}

}  // namespace

TEST_CASE("samples that spread more than twofold are said to") {
  CHECK(noise({1, 1.9, 1.2}).empty());
  CHECK(noise({1, 2.41, 1.2}) == "samples spread 2.4-fold");
  CHECK(noise({1, 121, 1.2}) == "samples spread 121-fold");
  CHECK(noise_of(row({2, 4, 3}))["spread"] == 2.0);
  CHECK(noise_of(row({})).is_null());
  CHECK(noise_of(json{{"status", "oom"}}).is_null());
}

TEST_CASE("samples that follow one another drift, shuffled ones do not") {
  const std::vector<double> rising = {1, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.45};
  const std::vector<double> shuffled = {1.3, 1, 1.45, 1.1, 1.4, 1.05, 1.2, 1.35, 1.15, 1.25};
  CHECK(noise(rising) == "samples drift");
  CHECK(noise(shuffled).empty());
  CHECK(noise({1, 1.05, 1.1, 1.15, 1.2}).empty());  // too few to tell
  std::vector<double> slight;
  for (int k = 0; k < 20; ++k) slight.push_back(1 + 0.001 * k);
  CHECK(noise(slight).empty());  // of no size that matters
}

TEST_CASE("a machine with more work than cores is said, an idle one and an old row are not") {
  CHECK(noise({1, 1}, {{"cores", 2}, {"own", 1.9}, {"others", 1.5}}) ==
        "others used 1.5 of 2 cores");
  CHECK(noise({1, 1}, {{"cores", 2}, {"own", 1.9}, {"others", 0.1}}).empty());
  CHECK(noise({1, 1}, {{"cores", 64}, {"own", 2}, {"others", 20}}).empty());
  CHECK(noise({1, 1}, {{"cores", 2}}).empty());
}

TEST_CASE("own work is no other's") {
  const LoadMeter meter;
  const auto start = std::chrono::steady_clock::now();
  std::atomic<int> work = 0;
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(200)) ++work;
  const auto load = meter.load();
  CHECK(load["cores"].get<int>() >= 1);
  CHECK(load["own"].get<double>() > 0);
  CHECK(load["own"].get<double>() < 1.2);
  if (load.contains("others"))
    CHECK(load["own"].get<double>() + load["others"].get<double>() <
          load["cores"].get<double>() + 0.5);
}
