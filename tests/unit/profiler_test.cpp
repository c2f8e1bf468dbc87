// The profiler around a stand-in for ncu that prints recorded text: what reaches a row's profile.
// tests/gpu/ncu_test.py runs the real one.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "experiments/driver/run/profiler.hpp"
#include "temporary_folder.hpp"
#include "tests/support/complaint.hpp"

using namespace retensor;
using namespace retensor::driver;
using nlohmann::json;
using test::contains;
namespace fs = std::filesystem;

namespace {

const std::string kTable =
    "==PROF== Connected to process 7\n"
    "\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\"\n"
    "\"\",\"\",\"byte\",\"byte\"\n"
    "\"0\",\"ts\",\"1,000\",\"24\"\n";

/// A folder whose program ncu is a shell script; $log is the file that the driver reads.
struct StandIn {
  testing::TemporaryFolder folder;
  StopSignals stop;

  explicit StandIn(const std::string& script) {
    const auto program = folder.file("ncu");
    std::ofstream(folder.file("table")) << kTable;
    std::ofstream(program) << "#!/bin/sh\n"
                              "here=${0%/*}\n"
                              "echo \"$*\" >> $here/asked\n"
                              "metrics=$*\n"
                              "while [ $1 != --log-file ]; do shift; done\n"
                              "log=$2\n"
                           << script << '\n';
    fs::permissions(program, fs::perms::owner_all);
    setenv("PATH", (folder.path().string() + ":/usr/bin:/bin").c_str(), 1);
  }

  json profile(const json& row, int milliseconds = 20000) {
    Case c;
    c.method = "planted.cuda.method";
    return Profiler({{"registry", "recipes", "cache"}}, stop)
        .profile(c, row, std::chrono::milliseconds(milliseconds));
  }
  json profile() { return profile({{"status", "ok"}, {"work", {{"bytes", 2048}}}}); }
  std::string asked() const { return folder.read("asked"); }
};

}  // namespace

TEST_CASE("counters stand beside the work model") {
  StandIn ncu("cp $here/table $log");
  const auto profile = ncu.profile();
  CHECK(profile["dram_bytes"] == 1024);
  CHECK(profile["dram_over_model"] == 0.5);
  CHECK(profile["launches"] == 1);
  CHECK(profile["cache"] == "warm");
  CHECK(!profile.contains("reason"));
}

TEST_CASE("ncu is asked for one range of a process of its own and leaves clocks and caches alone") {
  StandIn ncu("cp $here/table $log");
  ncu.profile();
  for (const auto* part : {"--profile-from-start off", "--clock-control none",
                           "--cache-control none", "--csv --page raw", "dram__bytes_read.sum",
                           " worker --registry registry --recipes recipes --cache cache --memory 0 "
                           "--paths-in f32 "
                           "--profiled "})
    CHECK_MESSAGE(contains(ncu.asked(), part), ncu.asked());
}

TEST_CASE("a refused metric is left out and the others are asked for again") {
  StandIn ncu(
      "case $metrics in *lts__t_bytes*) echo '==ERROR== Failed to find metric lts__t_bytes.sum' "
      "> $log; exit 1;; esac\n"
      "cp $here/table $log");
  const auto profile = ncu.profile();
  CHECK(profile["dram_bytes"] == 1024);
  const auto missing = profile["missing"].dump();
  CHECK(contains(missing, "lts__t_bytes.sum"));
}

TEST_CASE("what goes wrong is the reason") {
  const std::pair<const char*, const char*> failures[] = {
      {"echo '==ERROR== ERR_NVGPUCTRPERM - no permission' > $log; exit 1",
       "ncu: ERR_NVGPUCTRPERM - no permission"},
      {"echo '==WARNING== No kernels were profiled.' > $log", "ncu saw no kernel in the run"},
      {"echo told on stdout; exit 9", "ncu: told on stdout"},
      {"cp $here/table $log; echo '==ERROR== the application crashed' >> $log",
       "ncu: the application crashed"},
      {"head -c -6 $here/table > $log", "ncu's table"},
      {"kill -SEGV $$", "ncu ended without a profile"}};
  for (const auto& [script, reason] : failures) {
    StandIn ncu(script);
    const auto profile = ncu.profile();
    CAPTURE(profile.dump());
    REQUIRE(profile.size() == 1);
    CHECK(contains(profile["reason"], reason));
  }
}

TEST_CASE("ncu that hangs is killed") {
  StandIn ncu("exec sleep 60");
  CHECK(contains(ncu.profile({{"status", "ok"}}, 20)["reason"], "no profile within 200 ms"));
}

TEST_CASE("what has no result or no GPU is not profiled") {
  StandIn ncu("cp $here/table $log");
  CHECK(ncu.profile({{"status", "oom"}}) == json{{"reason", "no result to profile (oom)"}});
  Case c;
  c.method = "planted.cpu.method";
  CHECK(Profiler({}, ncu.stop).profile(c, {{"status", "ok"}}, std::chrono::seconds(1)) ==
        json{{"note", "a CPU method has no GPU counters"}});
  CHECK(ncu.asked().empty());
}

TEST_CASE("a machine without ncu says so") {
  StandIn ncu("");
  fs::remove(ncu.folder.file("ncu"));
  const auto profile = ncu.profile({{"status", "ok"}}, 1);
  if (!fs::exists("/usr/local/cuda/bin/ncu"))
    CHECK(profile == json{{"reason", "Nsight Compute (ncu) is not on the PATH"}});
}
