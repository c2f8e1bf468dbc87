// What result files hold: the newest rows, what follows from them, and what is refused.
#include "experiments/driver/run/results.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "common/core/error.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;
using namespace retensor::driver;
using nlohmann::json;

namespace {

json session(const std::string& id, const std::string& cpu = "A") {
  return {{"kind", "session"},
          {"schema", 1},
          {"session", id},
          {"machine", {{"cpu", {{"model", cpu}}}}},
          {"git", {{"dirty", true}}}};
}

json row(const std::string& session, const std::string& key, const json& more = json::object()) {
  json line = {{"kind", "row"}, {"schema", 1},    {"session", session},
               {"key", key},    {"status", "ok"}, {"case", {{"method", "p.cpu.x"}, {"mode", 2}}}};
  line.update(more);
  return line;
}

json value(double v, const std::string& finished) {
  return {{"v", v}, {"finished", finished}};
}

std::string text(const std::vector<json>& lines) {
  std::string all;
  for (const auto& line : lines) all += line.dump() + '\n';
  return all;
}

struct Files : testing::TemporaryFolder {
  std::vector<std::string> paths;
  Files(std::initializer_list<std::string> contents) {
    for (const auto& content : contents)
      paths.push_back(write(std::to_string(paths.size()) + ".jsonl", content));
  }
};

Results read(std::initializer_list<std::string> contents) {
  return read_results(Files(contents).paths);
}

/// The members `v` of the rows in their order.
std::vector<double> values(const Results& results) {
  std::vector<double> found;
  for (const auto& row : results.rows) found.push_back(row.field("v"));
  return found;
}

std::string file_refusal(const std::string& content) {
  try {
    read({content});
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a row has the members of its line, its session and its case") {
  const auto results = read({text({session("s"), row("s", "a", {{"work", {{"flops", 3}}}})})});
  REQUIRE(results.rows.size() == 1);
  const auto& found = results.rows[0];
  CHECK(found.key() == "a");
  CHECK(found.method() == "p.cpu.x");
  CHECK(found.backend() == Backend::cpu);
  CHECK(found.device() == "A");
  CHECK(found.field("work.flops") == 3);
  CHECK(found.field("machine.cpu.model") == "A");
  CHECK(found.field("git.dirty") == true);
  CHECK(found.field("case.mode") == 2);
  CHECK(found.field("mode") == 2);
  CHECK(found.field("work.bytes").is_null());
  CHECK(found.field("device") == "A");
  CHECK_FALSE(found.line().contains("machine"));
}

TEST_CASE("of two rows of a case in one file the later line counts, whatever the clock said") {
  const auto first = row("s", "a", value(1, "2026-02-01")),
             second = row("s", "a", value(2, "2026-01-01"));
  CHECK(values(read({text({session("s"), first, second})})) == std::vector<double>{2});
  CHECK(values(read({text({session("s"), second, first})})) == std::vector<double>{1});
}

TEST_CASE("of two rows of a case in two files the one that finished later counts") {
  const auto older = text({session("s"), row("s", "a", value(1, "2026-01-01"))}),
             newer = text({session("t"), row("t", "a", value(2, "2026-02-01"))}),
             set_back = text({session("u"), row("u", "a", value(3, "2026-03-01")),
                              row("u", "a", value(4, "2026-01-15"))});
  CHECK(values(read({newer, older})) == std::vector<double>{2});
  CHECK(values(read({older, newer})) == std::vector<double>{2});
  CHECK(values(read({set_back, older})) == std::vector<double>{4});
  CHECK(values(read({set_back, newer})) == std::vector<double>{2});
}

TEST_CASE("a row that confirms keeps the counters of the one before, any other has its own") {
  const json code = {{"source_hash", "1"}, {"host_hash", "2"}, {"kernel_hash", "3"}};
  json again = row("s", "k", {{"v", 2}});
  again.update(code);
  json confirmation = {{"kind", "confirmation"}, {"schema", 1}, {"session", "s"}, {"keys", {"k"}}};
  confirmation.update(code);
  const json before = row("s", "k", {{"v", 1}, {"profile", {{"sm_percent", 50}}}});
  const auto found = [&](const std::vector<json>& lines) {
    const auto results = read({text(lines)});
    REQUIRE(values(results) == std::vector<double>{2});
    return results.rows[0].field("profile.sm_percent");
  };
  CHECK(found({session("s"), before, again, confirmation}) == 50);
  CHECK(found({session("s"), before, again}).is_null());
  confirmation["keys"] = {"other"};
  CHECK(found({session("s"), before, again, confirmation}).is_null());
  again["profile"] = {{"sm_percent", 60}};
  confirmation["keys"] = {"k"};
  CHECK(found({session("s"), before, again, confirmation}) == 60);
}

TEST_CASE("a case on two machines is two results") {
  const auto results =
      read({text({session("s"), row("s", "a"), session("t", "B"), row("t", "a")})});
  CHECK(results.rows.size() == 2);
  CHECK(read({text({row("s", "a")})}).rows[0].device() == kUnknownDevice);
}

TEST_CASE(
    "a row that failed on one machine hides no ok row of another, in whatever order they are") {
  const auto on = [](const char* machine) {
    auto line = session(machine);
    line["machine"]["identity"] = {{"host", machine}};
    return line;
  };
  const auto failed = [](const char* machine, const char* finished) {
    auto line = row(machine, "a", {{"v", 0}, {"finished", finished}});
    line["status"] = "timeout";
    return line;
  };
  const auto second_ok = text({on("m2"), row("m2", "a", value(2, "2026-01-01"))}),
             first_ok = text({on("m1"), row("m1", "a", value(1, "2026-01-02"))}),
             first_failed = text({on("m1"), failed("m1", "2026-01-03")});
  // The last row of the first machine failed, so that of the second counts.
  std::vector<std::string> files = {first_failed, first_ok, second_ok};
  do {
    CAPTURE(files);
    CHECK(values(read({files[0], files[1], files[2]})) == std::vector<double>{2});
  } while (std::ranges::next_permutation(files).found);
  CHECK(values(read({second_ok + first_ok + first_failed})) == std::vector<double>{2});
  CHECK(values(read({first_ok, second_ok})) == std::vector<double>{1});
  CHECK(values(read({second_ok, first_ok})) == std::vector<double>{1});
}

TEST_CASE("a file whose clock was set back counts the same whichever file is read first") {
  const auto set_back = text({session("u"), row("u", "a", value(3, "2026-03-01")),
                              row("u", "a", value(4, "2026-01-15"))}),
             between = text({session("t"), row("t", "a", value(2, "2026-02-01"))});
  CHECK(values(read({set_back, between})) == std::vector<double>{2});
  CHECK(values(read({between, set_back})) == std::vector<double>{2});
}

TEST_CASE("a processor is named with the cores that the session could use") {
  const auto named = [](const json& cpu) {
    auto line = session("s");
    line["machine"]["cpu"].update(cpu);
    return read({text({line, row("s", "a")})}).rows[0].device();
  };
  CHECK(named({{"cores", 2}}) == "A with 2 cores");
  CHECK(named({{"cores", 1}}) == "A with 1 core");
  const auto bound = [&](const char* affinity) {
    return named({{"cores", 64}, {"affinity", affinity}});
  };
  CHECK(bound("processors 0-3,8,16-17, proc_bind false, places none") == "A with 7 cores");
  CHECK(bound("processors 42, proc_bind true, places {42,43},{44,45}") == "A with 2 cores");
  // As LLVM's OpenMP says it.
  CHECK(bound("processors 0-1, proc_bind false, places {0-1}") == "A with 2 cores");
  CHECK(bound("unknown") == "A with 64 cores");
  // Of files that others wrote.
  CHECK(bound("processors 99999999999999999999-1,-,x, proc_bind false, places none") == "A");
  CHECK(bound(("processors " + std::string(1 << 20, '1') + ", proc_bind false, places none")
                  .c_str()) == "A");
  CHECK(named({{"cores", 1e300}}) == "A");
}

TEST_CASE("a case on two numbers of cores of one processor is two results") {
  auto two = session("s"), sixteen = session("t");
  two["machine"]["cpu"]["cores"] = 2;
  sixteen["machine"]["cpu"]["cores"] = 16;
  CHECK(read({text({two, row("s", "a"), sixteen, row("t", "a")})}).rows.size() == 2);
  sixteen["machine"]["cpu"]["cores"] = 2;
  CHECK(read({text({two, row("s", "a"), sixteen, row("t", "a")})}).rows.size() == 1);
}

TEST_CASE("rows stand as in the files, those of newest_rows by key") {
  const Files files({text({row("s", "c", value(1, "2026-02-01")), row("s", "a", value(2, ""))}),
                     text({row("s", "b", value(3, "2026-01-01"))})});
  CHECK(values(read_results(files.paths)) == std::vector<double>{1, 2, 3});
  std::vector<std::string> keys;
  for (const auto& found : newest_rows(files.paths)) keys.push_back(found.key());
  CHECK(keys == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("a whole last line that is no JSON is damage, not a torn line") {
  const auto whole = text({session("s"), row("s", "a")});
  for (const std::string tail : {"{\n", "{\"kind\":\xff}\n"})
    CHECK_THROWS_WITH_AS(read({whole + tail}), doctest::Contains("keep a copy of the file"),
                         InputError);
}

TEST_CASE("a torn last line and lines of unknown kinds are left out with a warning") {
  const auto whole = text({session("s"), row("s", "a")});
  for (const std::string tail : {R"({"kind":"row","sch)", "{\"a\":{\"b\":1}", "{"}) {
    const auto results = read({whole + tail});
    CHECK(results.rows.size() == 1);
    REQUIRE(results.warnings.size() == 1);
    CHECK(results.warnings[0].find("0.jsonl:3: the last line is torn") != std::string::npos);
  }
  const auto results = read({whole + text({{{"kind", "note"}, {"schema", 1}, {"session", "s"}}})});
  REQUIRE(results.warnings.size() == 1);
  CHECK(results.warnings[0].find("0.jsonl:3: a line of kind 'note'") != std::string::npos);
  CHECK(read({whole}).warnings.empty());
}

TEST_CASE("what is no result file is refused at its line") {
  const auto refuses = [](const json& line, const std::string& expected) {
    const auto message = file_refusal(text({session("s"), line, session("t")}));
    INFO(message);
    CHECK(message.find("0.jsonl:2: ") != std::string::npos);
    CHECK(message.find(expected) != std::string::npos);
  };
  auto newer = session("t");
  newer["schema"] = 2;
  refuses(newer, "schema 2 is newer");
  refuses({{"kind", "session"}, {"session", "s"}}, "without kind and schema");
  refuses({1}, "without kind and schema");
  refuses({{"kind", "session"}, {"schema", 1}}, "a line without a session");
  refuses({{"kind", "row"}, {"schema", 1}, {"session", "s"}}, "lacks its key or case");
  refuses(row("s", ""), "lacks its key or case");
  refuses(row("s", "a", {{"status", "okay"}}), "unknown status 'okay'");
  CHECK(file_refusal("{\"torn\n" + text({session("s")})).find("0.jsonl:1:") != std::string::npos);
  CHECK_THROWS_AS(read_results({"absent.jsonl"}), InputError);
  CHECK(read({""}).rows.empty());
}

TEST_CASE("rows of a format that counts its index bytes gain their rate") {
  const json bytes = {{"index_bytes", "6000000000"}}, seconds = {{"median", 0.5}};
  const auto rows =
      read({text({row("s", "a", {{"executed", bytes}, {"stats", seconds}}),
                  row("s", "b", {{"stats", seconds}}), row("s", "c", {{"executed", bytes}})})})
          .rows;
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].field("rates.index_gbytes") == 12.0);
  CHECK(rows[1].field("rates.index_gbytes").is_null());
  CHECK(rows[2].field("rates.index_gbytes").is_null());
}

TEST_CASE("zeroing is taken off the runs, and the rest set beside a copy of the bytes") {
  const json ceilings = {{"kind", "ceilings"},
                         {"schema", 1},
                         {"session", "s"},
                         {"backend", "cpu"},
                         {"ceilings", {{{"what", "copy_dram"}, {"value", 2}}}}};
  const auto timed = [&](const json& runs) {
    return row("s", "a",
               {{"phases", {{"run", runs}, {"stages", {{"zero", {1, 2, 3}}}}}},
                {"work", {{"bytes", 4e9}, {"compulsory_bytes", 2e9}}}});
  };
  const auto found = read({text({session("s"), ceilings, timed({5, 6, 8})})}).rows[0];
  CHECK(found.field("seconds.without_zero") == 4.0);
  CHECK(found.field("copy.share") == 0.5);
  CHECK(found.field("copy.compulsory_share") == 0.25);
  CHECK(found.field("code") == "own");
  const auto odd = read({text({session("s"), ceilings, timed({5, "x", 8})})}).rows[0];
  CHECK(odd.field("seconds.without_zero").is_null());
}

TEST_CASE("the time of a sweep leaves out the start of a decomposition") {
  const auto swept = [&](const json& sweeps) {
    return read({text({session("s"),
                       row("s", "a",
                           {{"phases", {{"run", {5, 6, 9}}, {"stages", {{"sweeps", {4, 5, 6}}}}}},
                            {"executed", {{"sweeps", sweeps}}}})})})
        .rows[0]
        .field("seconds.sweep");
  };
  CHECK(swept("10") == 0.5);
  CHECK(swept("0").is_null());
  CHECK(swept("none").is_null());
}

TEST_CASE("what HOOI does beside the chain is weighed against the eigenvectors") {
  const auto weighed = [&](const json& stages) {
    const auto line = row("s", "a", {{"phases", {{"run", {9, 9, 9}}, {"stages", stages}}}});
    return read({text({session("s"), line})})
        .rows[0]
        .field("seconds.outside_chain_over_eigenvectors");
  };
  CHECK(weighed({{"chain", {5, 5, 5}}, {"gram", {1, 1, 3}}, {"eigenvectors", {4, 4, 4}}}) == 1.25);
  CHECK(weighed({{"factor", {2, 2, 2}}, {"eigenvectors", {4, 4, 4}}}) == 1.5);
  CHECK(weighed({{"gram", {1, 1, 3}}}).is_null());
}

TEST_CASE("task processing has the pattern of a result where a method makes one") {
  const auto processing = [&](const json& stages) {
    const auto line = row("s", "a", {{"phases", {{"run", {9, 9, 9}}, {"stages", stages}}}});
    return read({text({session("s"), line})}).rows[0].field("seconds.task_processing");
  };
  CHECK(processing({{"tasks", {1, 2, 3}}, {"pattern", {5, 1, 1}}}) == 4.0);
  CHECK(processing({{"tasks", {1, 2, 3}}}) == 2.0);
  CHECK(processing({{"pattern", {5, 1, 1}}}).is_null());
}

TEST_CASE("a time of the original code is a result of its own, which no code here outdates") {
  const json more = {{"case", {{"method", "pasta.cpu.coo"}}}, {"source_hash", "of older code"}};
  auto original = row("s", "a", more);
  original["code"] = "original";
  const auto results = read({text({row("s", "a", more), original})});
  REQUIRE(results.rows.size() == 2);
  CHECK(results.rows[0].is_own());
  CHECK(results.rows[0].is_stale());
  CHECK_FALSE(results.rows[1].is_own());
  CHECK_FALSE(results.rows[1].is_stale());
}

TEST_CASE("a session without ceilings has those of the session before it on such a machine") {
  const auto copied = [](const std::string& id, double value) {
    return json{{"kind", "ceilings"},
                {"schema", 1},
                {"session", id},
                {"backend", "cpu"},
                {"ceilings", {{{"what", "copy_dram"}, {"value", value}}}}};
  };
  const auto ceiling = [&](const char* key, const Results& results) {
    const auto found = std::find_if(results.rows.begin(), results.rows.end(),
                                    [&](const Row& of_case) { return of_case.key() == key; });
    return found->field("ceilings.copy_dram");
  };
  const auto results =
      read({text({session("s"), copied("s", 10), row("s", "a"), session("t"), row("t", "b"),
                  session("u", "B"), row("u", "c"), session("v"), copied("v", 20), row("v", "d")}),
            text({session("w"), row("w", "e")})});
  CHECK(ceiling("b", results) == 10);
  CHECK(ceiling("c", results).is_null());  // another processor
  CHECK(ceiling("d", results) == 20);
  CHECK(ceiling("e", results).is_null());  // another file
  CHECK(text_of(results.sessions.at("t")->ceilings.at(Backend::cpu), "session") == "t");
}

TEST_CASE("rows gain the ceilings of their session and the roofline that follows") {
  const json ceilings = {{"kind", "ceilings"},
                         {"schema", 1},
                         {"session", "s"},
                         {"backend", "cpu"},
                         {"ceilings",
                          {{{"what", "copy_dram"}, {"value", 10}},
                           {{"what", "triad_dram"}, {"value", 20}},
                           {{"what", "copy_llc"}, {"value", 70}},
                           {{"what", "peak_f32"}, {"value", 100}}}}};
  const json more = {{"work", {{"intensity", 0.5}}}, {"rates", {{"gflops", 5}}}};
  auto on_gpu = row("s", "b", more);
  on_gpu["case"]["method"] = "p.cuda.x";
  const auto results = read({text({session("s"), ceilings, row("s", "a", more), on_gpu})});
  REQUIRE(results.rows.size() == 2);
  const auto& found = results.rows[0];
  CHECK(found.field("ceilings.copy_dram") == 10);
  CHECK(found.field("roofline.gbytes") == 20.0);
  CHECK(found.field("roofline.gflops") == 10.0);
  CHECK(found.field("roofline.share") == 0.5);
  CHECK(found.field("roofline.ridge") == 5.0);
  CHECK(found.line()["roofline"]["share"] == 0.5);
  CHECK(results.sessions.at("s")->ceilings.at(Backend::cpu)["gbytes"] ==
        json{{"dram", 20.0}, {"llc", 70.0}});
  CHECK(results.rows[1].field("roofline.gflops").is_null());  // nothing was measured on the GPU
  CHECK(results.rows[1].field("ceilings.copy_dram").is_null());
}
