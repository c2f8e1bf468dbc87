#include "experiments/driver/run/currency.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "common/core/hash.hpp"
#include "experiments/driver/run/results.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor::driver;
using nlohmann::json;
using retensor::sha256_hex;

TEST_CASE("a row is current by its declarations, else by kernels and host code together") {
  const RowCode row{"source", "host", "kernels"};
  CHECK(compare_code(row, row) == Currency::sources);
  CHECK(compare_code(row, {"other", "host", "kernels"}) == Currency::kernels);
  CHECK(compare_code(row, {"other", "host", "other"}) == Currency::stale);
  CHECK(compare_code(row, {"other", "other", "kernels"}) == Currency::stale);
  CHECK(compare_code(row, {"other", "host", ""}) == Currency::unknown);
  CHECK(compare_code(row, {"other", "other", ""}) == Currency::stale);
}

TEST_CASE("rows without hashes of kernels, as of CPU methods, go by their declarations alone") {
  const RowCode row{"source", "", ""};
  CHECK(compare_code(row, {"source", "", ""}) == Currency::sources);
  CHECK(compare_code(row, {"other", "", ""}) == Currency::stale);
  CHECK(compare_code({"source", "host", ""}, {"other", "host", ""}) == Currency::stale);
}

TEST_CASE("methods of the tree have code of their own, kernels for CUDA alone") {
  CHECK(code_of("pasta.cpu.coo", "").source.size() == 64);
  CHECK(code_of("pasta.cpu.coo", "").host.empty());
  CHECK(code_of("pasta.cuda.coo", "90").host.size() == 64);
  CHECK(code_of("pasta.cuda.coo", "90").source != code_of("pasta.cuda.hicoo", "90").source);
  CHECK(code_of("pasta.cuda.coo", "none").kernels.empty());
  CHECK(code_of("nobody.cpu.coo", "").source.empty());
}

TEST_CASE("a row of CP-ALS depends on the code of its MTTKRP, on no other") {
  const auto of = [](const char* mttkrp) {
    return code_of_case({{"method", "cpd.cpu.als"}, {"params", {{"mttkrp", mttkrp}}}}, "").source;
  };
  CHECK(of("pasta.cpu.coo").size() == 64);
  CHECK(of("pasta.cpu.coo") != of("flycoo.cpu"));
  CHECK(
      code_of_case({{"method", "pasta.cpu.coo"}, {"params", {{"update", "atomic"}}}}, "").source ==
      code_of("pasta.cpu.coo", "").source);
}

TEST_CASE("a row of a distributed method depends on how its processes exchange") {
  const auto of = [](const char* method, const char* mttkrp, const char* architecture) {
    const json row_case = {{"method", method},
                           {"params", {{"mttkrp", mttkrp}, {"ranks", 2}}},
                           {"foreign", {{"kind", "distributed"}}}};
    return code_of_case(row_case, architecture);
  };
  const auto row = of("distributed.cuda", "pasta.cuda.coo", "90");
  const auto own = code_of("distributed.cuda", "90"), mttkrp = code_of("pasta.cuda.coo", "90");
  REQUIRE(own.source.size() == 64);
  CHECK(row.source == sha256_hex(own.source + mttkrp.source));
  CHECK(row.host == sha256_hex(own.host + mttkrp.host));
  CHECK(row.kernels == mttkrp.kernels);
  CHECK(compare_code(mttkrp, row) == Currency::stale);
  CHECK(of("distributed.cuda", "pasta.cuda.hicoo", "90").host != row.host);
  CHECK(code_of("distributed.cpu", "").source != own.source);
  CHECK(of("distributed.cpu", "pasta.cpu.coo", "").source !=
        of("distributed.cpu", "flycoo.cpu", "").source);
}

TEST_CASE("a confirmation makes the rows that it names current, for the code that it names") {
  const auto today = code_of("pasta.cpu.coo", "");
  const auto row = [](const std::string& key) {
    return json{{"kind", "row"},
                {"schema", 1},
                {"session", "s"},
                {"key", key},
                {"status", "ok"},
                {"source_hash", "of another time"},
                {"case", {{"method", "pasta.cpu.coo"}}}};
  };
  json confirmation = {
      {"kind", "confirmation"}, {"schema", 1}, {"session", "s"}, {"keys", {"a", "b"}}};
  state_code(today, confirmation);
  json another = confirmation;
  another["keys"] = {"c"};
  another["source_hash"] = "of a third time";

  const retensor::testing::TemporaryFolder folder;
  const auto path = folder.file("rows.jsonl");
  std::ofstream(path) << row("a") << '\n'
                      << confirmation << '\n'
                      << row("b") << '\n'
                      << another << '\n'
                      << row("c") << '\n';
  std::map<std::string, std::string> words;
  for (const auto& found : newest_rows({path})) words[found.key()] = name(found.currency());
  CHECK(words ==
        std::map<std::string, std::string>{{"a", "confirmed"}, {"b", "confirmed"}, {"c", "stale"}});
}

TEST_CASE("a confirmation says nothing of another model") {
  const auto session = [](const std::string& id, const std::string& model) {
    return json{{"kind", "session"},
                {"schema", 1},
                {"session", id},
                {"machine", {{"cpu", {{"model", model}, {"cores", 2}}}}}};
  };
  const auto row = [](const std::string& id) {
    return json{{"kind", "row"},
                {"schema", 1},
                {"session", id},
                {"key", "a"},
                {"status", "ok"},
                {"source_hash", "of another time"},
                {"case", {{"method", "pasta.cpu.coo"}}}};
  };
  json confirmation = {{"kind", "confirmation"}, {"schema", 1}, {"session", "s"}, {"keys", {"a"}}};
  state_code(code_of("pasta.cpu.coo", ""), confirmation);
  const retensor::testing::TemporaryFolder folder;
  const auto path = folder.file("rows.jsonl");
  std::ofstream(path) << session("s", "A") << '\n'
                      << row("s") << '\n'
                      << session("t", "B") << '\n'
                      << row("t") << '\n'
                      << confirmation << '\n';
  std::map<std::string, std::string> words;
  for (const auto& found : newest_rows({path})) words[found.device()] = name(found.currency());
  CHECK(words == std::map<std::string, std::string>{{"A with 2 cores", "confirmed"},
                                                    {"B with 2 cores", "stale"}});
}

TEST_CASE("the architecture is read from a session's machine") {
  CHECK(architecture_of({{"gpu", {{"compute_capability", "12.0"}}}}) == "120");
  CHECK(architecture_of({{"gpu", {{"available", false}}}}).empty());
}
