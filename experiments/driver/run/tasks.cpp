// Shards are only read here, also while their tasks run: a line that is being written looks torn
// and is left for the next time.
#include "experiments/driver/run/tasks.hpp"

#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/core/hash.hpp"
#include "experiments/driver/run/chosen.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/session.hpp"
#include "experiments/driver/run/store.hpp"
#include "experiments/driver/run/sweep.hpp"
#include "experiments/driver/spec/auto_method.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// Two data sets may differ in characters that no file name should have.
std::string shard_name(const std::string& dataset) {
  return fmt::format("{}-{}.jsonl", slug(dataset), sha256_hex(dataset).substr(0, 8));
}

/// What a shard tells of its cases.
class Shard {
 public:
  explicit Shard(const std::string& path) {
    for (auto& row : newest_rows({path}, {"executed"})) {
      data_.insert(row.field("data"));
      const auto key = row.key();
      auto [known, fresh] = rows_.try_emplace(key, std::move(row));
      // The same case on two machines.
      if (!fresh && row.ok()) known->second = std::move(row);
    }
  }

  const Row* row_of(const Case& c) const {
    for (const auto& data : data_) {
      const auto wanted = driver::to_json(c, data);
      if (const auto found = rows_.find(case_key(wanted)); found != rows_.end())
        return &found->second;
      if (c.method == kAutoMethod)
        if (const auto* chosen = chosen_row(rows_, c, data)) return chosen;
    }
    return nullptr;
  }

 private:
  std::set<json> data_;  ///< members `data` of its rows: the file may have changed
  std::map<std::string, Row> rows_;
};

bool is_current(const Row& row, const Case& c) {
  if (field(row.session().line, "build") != build_facts()) return false;
  return c.foreign ? text_of(row.line(), "source_hash") == c.foreign_sha256 : !row.is_stale();
}

/// A result file that takes the lines that it lacks.
class Merged {
 public:
  explicit Merged(const std::string& path) : store_(path) {
    for_each_line(path, [this](const json& line) { present_.insert(line.dump()); });
  }

  /// Whether the line was new.
  bool take(const json& line) {
    if (!present_.insert(line.dump()).second) return false;
    store_.append(line);
    return true;
  }

 private:
  Store store_;
  std::set<std::string> present_;
};

}  // namespace

std::vector<Task> tasks_of(const Plan& plan, const std::string& folder) {
  std::vector<Task> tasks;
  std::map<std::string, std::size_t> place;
  for (const auto& c : plan.cases) {
    const auto [at, fresh] = place.try_emplace(c.dataset, tasks.size());
    if (fresh) {
      const auto shard = fs::path(folder) / "shards" / shard_name(c.dataset);
      tasks.push_back({c.dataset, shard.string(), {}});
    }
    tasks[at->second].cases.push_back(c);
  }
  return tasks;
}

TaskState state_of(const Task& task) {
  TaskState state;
  state.open = task.cases.size();
  if (!is_there(task.shard)) return state;
  const Shard shard(task.shard);
  for (const auto& c : task.cases) {
    const auto* const row = shard.row_of(c);
    if (row == nullptr || !is_current(*row, c)) continue;
    --state.open;
    auto& count = row->ok()                              ? state.ok
                  : row->status() == Status::unsupported ? state.unsupported
                                                         : state.failed;
    ++count;
  }
  return state;
}

std::map<std::string, std::size_t> merge_shards(const std::vector<Task>& tasks,
                                                const std::string& out,
                                                const std::string& artifact) {
  std::map<std::string, Merged> files;
  std::map<std::string, std::size_t> added;
  std::map<std::string, std::string> file_of;  // by session
  for (const auto& task : tasks) {
    if (!is_there(task.shard)) continue;
    for_each_line(task.shard, [&](const json& line) {
      const auto [at, fresh] = file_of.try_emplace(text_of(line, "session"));
      if (fresh) at->second = results_file(out, line.value("machine", json::object()), artifact);
      const auto& path = at->second;
      const bool is_new = files.try_emplace(path, path).first->second.take(line);
      added[path] += is_new && line["kind"] == "row";
    });
  }
  return added;
}

}  // namespace retensor::driver
