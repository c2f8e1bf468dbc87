#include "experiments/driver/run/store.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/core/error.hpp"
#include "experiments/driver/run/session.hpp"

using namespace retensor;
using driver::RowCode;
using driver::Store;
using driver::Stored;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for one test case.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("retensor_store_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name = "rows.jsonl") const { return (path / name).string(); }
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

const RowCode kCode{"h", "", ""};

json session(const std::string& id, const json& build = driver::build_facts()) {
  return {{"kind", "session"}, {"schema", 1}, {"session", id}, {"build", build}};
}

json row(const std::string& session, const std::string& key, const std::string& status = "ok",
         const std::string& hash = "h") {
  return {{"kind", "row"}, {"schema", 1},      {"session", session},
          {"key", key},    {"status", status}, {"source_hash", hash}};
}

}  // namespace

TEST_CASE("rows are found again under their key, build and sources alone") {
  const Folder folder;
  {
    Store store(folder.file("deep/er/rows.jsonl"));
    store.append(session("s"));
    store.append(row("s", "a"));
    store.append(row("s", "b", "crashed"));
    json other = driver::build_facts();
    other["flags"] = "-O0";
    store.append(session("t", other));
    store.append(row("t", "c"));
    store.append(row("nobody", "d"));
  }
  const Store store(folder.file("deep/er/rows.jsonl"));
  CHECK(store.find("a", kCode, {}) == Stored::ok);
  CHECK(store.find("a", RowCode{"changed sources", "", ""}, {}) == Stored::nothing);
  CHECK(store.find("b", kCode, {}) == Stored::nothing);
  CHECK(store.find("c", kCode, {}) == Stored::nothing);
  CHECK(store.find("d", kCode, {}) == Stored::nothing);
  CHECK(store.repaired() == 0);
}

TEST_CASE("a row that fails first and is ok later counts as finished") {
  const Folder folder;
  {
    Store store(folder.file());
    store.append(session("s"));
    store.append(row("s", "a", "timeout"));
    store.append(row("s", "a"));
  }
  CHECK(Store(folder.file()).find("a", kCode, {}) == Stored::ok);
}

TEST_CASE("a row that was ok and fails later is open again") {
  const Folder folder;
  {
    Store store(folder.file());
    store.append(session("s"));
    store.append(row("s", "a"));
    store.append(row("s", "a", "crashed"));
  }
  CHECK(Store(folder.file()).find("a", kCode, {}) == Stored::nothing);
}

TEST_CASE(
    "an unsupported row holds for its build, its sources and machines with the same devices") {
  const Folder folder;
  const auto machine = [](bool gpu, double clock) -> json {
    return {{"cpu", {{"model", "a processor"}, {"clock_mhz", clock}}},
            {"gpu", {{"available", gpu}}},
            {"driver", gpu ? "570" : ""}};
  };
  {
    Store store(folder.file());
    auto here = session("s");
    here["machine"] = machine(false, 2000);
    store.append(here);
    store.append(row("s", "a", "unsupported"));
    store.append(row("s", "b", "unsupported"));
    store.append(row("s", "b"));
    json other = driver::build_facts();
    other["cuda"] = "99";
    auto elsewhere = session("t", other);
    elsewhere["machine"] = machine(false, 2000);
    store.append(elsewhere);
    store.append(row("t", "c", "unsupported"));
  }
  const Store store(folder.file());
  CHECK(store.find("a", kCode, machine(false, 3000)) == Stored::unsupported);
  CHECK(store.find("a", kCode, machine(true, 2000)) == Stored::nothing);
  CHECK(store.find("a", RowCode{"changed sources", "", ""}, machine(false, 2000)) ==
        Stored::nothing);
  CHECK(store.find("b", kCode, machine(false, 2000)) == Stored::ok);
  CHECK(store.find("c", kCode, machine(false, 2000)) == Stored::nothing);
}

TEST_CASE("a torn last line is cut off at every possible place and nothing else is lost") {
  const Folder folder;
  const auto head = session("s").dump() + '\n' + row("s", "a").dump() + '\n';
  const auto last = row("s", "b").dump();
  for (std::size_t kept = 1; kept < last.size(); ++kept) {
    write_file(folder.file(), head + last.substr(0, kept));
    {
      Store store(folder.file());
      CHECK(store.repaired() == kept);
      CHECK(store.find("a", kCode, {}) == Stored::ok);
      CHECK(store.find("b", kCode, {}) == Stored::nothing);
    }
    CHECK(read_file(folder.file()) == head);
  }
}

TEST_CASE("a last line that lacks its newline alone is kept") {
  const Folder folder;
  const auto whole = session("s").dump() + '\n' + row("s", "a").dump();
  write_file(folder.file(), whole);
  {
    Store store(folder.file());
    CHECK(store.repaired() == 0);
    CHECK(store.find("a", kCode, {}) == Stored::ok);
    store.append(row("s", "b"));
  }
  CHECK(read_file(folder.file()) == whole + '\n' + row("s", "b").dump() + '\n');
}

TEST_CASE("a last line of zeros, as a power cut leaves it, is cut off") {
  const Folder folder;
  const auto head = session("s").dump() + '\n';
  write_file(folder.file(), head + std::string(100, '\0'));
  CHECK(Store(folder.file()).repaired() == 100);
  CHECK(read_file(folder.file()) == head);
}

TEST_CASE("a last line with zeros in it is cut off, elsewhere it is damage") {
  const Folder folder;
  const auto head = session("s").dump() + '\n';
  auto holed = row("s", "a").dump() + '\n';
  std::fill_n(holed.begin(), 5, '\0');  // a block that did not reach the disk before its followers
  write_file(folder.file(), head + holed);
  CHECK(Store(folder.file()).repaired() == holed.size());
  CHECK(read_file(folder.file()) == head);
  write_file(folder.file(), head + holed + row("s", "b").dump() + '\n');
  CHECK_THROWS_AS(Store(folder.file()), InputError);
}

TEST_CASE("refused files stay as they were") {
  const Folder folder;
  const auto refuse = [&](const std::string& text, const std::string& expected) {
    write_file(folder.file(), text);
    std::string message;
    try {
      Store store(folder.file());
    } catch (const InputError& e) {
      message = e.what();
    }
    CHECK(message.find(expected) != std::string::npos);
    CHECK(read_file(folder.file()) == text);
  };
  auto newer = row("s", "a");
  newer["schema"] = 2;
  refuse(session("s").dump() + '\n' + newer.dump() + '\n', ":2: schema 2 is newer");
  refuse(newer.dump() + '\n' + "{\"torn", ":1: schema 2 is newer");
  refuse("{\"half\n" + row("s", "a").dump() + '\n', ":1: found");
  refuse("# Notes\n", "a line of a result file");
  refuse("{\"name\": \"someone else's\"}", "a line of a result file");
  refuse("\n\n", "a line of a result file");
}

TEST_CASE("a second store on the same file is refused, after the first is gone it opens") {
  const Folder folder;
  {
    Store first(folder.file());
    CHECK_THROWS_AS(Store(folder.file()), SystemError);
    first.append(session("s"));
  }
  CHECK_NOTHROW(Store(folder.file()));
}

TEST_CASE("a file that can't grow keeps its rows and loses the half-written one") {
  const Folder folder;
  Store store(folder.file());
  store.append(session("s"));
  store.append(row("s", "a"));
  const auto before = read_file(folder.file());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{before.size() + 20, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  CHECK_THROWS_AS(store.append(row("s", "b")), SystemError);
  setrlimit(RLIMIT_FSIZE, &old);
  CHECK(read_file(folder.file()) == before);
  store.append(row("s", "c"));
  CHECK(read_file(folder.file()) == before + row("s", "c").dump() + '\n');
}

TEST_CASE("text that is no UTF-8 does not stop a row from being written") {
  const Folder folder;
  Store store(folder.file());
  auto odd = row("s", "a", "crashed");
  odd["reason"] = "\xff\xfe";
  store.append(odd);
  CHECK_FALSE(json::parse(read_file(folder.file()), nullptr, false).is_discarded());
}
