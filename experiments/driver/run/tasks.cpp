// Shards are only read here, also while their tasks run: a line that is being written looks torn
// and is left for the next time.
#include "experiments/driver/run/tasks.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "common/core/hash.hpp"
#include "common/core/message.hpp"
#include "experiments/driver/run/child_process.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/row.hpp"
#include "experiments/driver/run/session.hpp"
#include "experiments/driver/run/store.hpp"
#include "experiments/driver/run/sweep.hpp"
#include "experiments/driver/spec/methods.hpp"

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
  return is_from_outside(c) ? text_of(row.line(), "source_hash") == c.foreign_sha256
                            : !row.is_stale();
}

/// A result file that takes the lines that it lacks. In a file the last row of a case counts, so
/// one that finished before a row that is there stays out.
class Merged {
 public:
  explicit Merged(const std::string& path) : store_(path) {
    for_each_line(path, [this](const json& line) { note(line); });
  }

  /// Whether the line was new.
  bool take(const json& line) {
    const auto known = finished_.find(case_of(line));
    const bool older = known != finished_.end() && text_of(line, "finished") < known->second;
    if (older || present_.contains(line.dump())) return false;
    note(line);
    store_.append(line);
    return true;
  }

 private:
  void note(const json& line) {
    present_.insert(line.dump());
    if (text_of(line, "kind") == "session") sessions_[text_of(line, "session")].line = line;
    if (const auto id = case_of(line); !id.empty()) finished_[id] = text_of(line, "finished");
  }

  /// Of a row: its key and the machine; empty for other lines.
  std::string case_of(const json& line) {
    if (text_of(line, "kind") != "row") return "";
    const auto backend =
        is_gpu_method(text_of(line["case"], "method")) ? Backend::cuda : Backend::cpu;
    const auto& session = sessions_[text_of(line, "session")];
    return text_of(line, "key") + session.device(backend) + session.machine(backend);
  }

  Store store_;
  std::set<std::string> present_;
  std::map<std::string, driver::Session> sessions_;
  std::map<std::string, std::string> finished_;  ///< of the last row of each case
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

namespace {

/// A line of options; sbatch knows quotes, but no newline and no quote within them.
std::string option_line(const std::string& name, const std::string& value = "") {
  if (value.find_first_of("\n'\"") != value.npos)
    throw input_error("'{}': sbatch takes no quote and no newline in --{}", value, name);
  return value.empty() ? fmt::format("#SBATCH --{}\n", name)
                       : fmt::format("#SBATCH --{}='{}'\n", name, value);
}

std::string option_lines(const std::string& name, std::size_t tasks, const std::string& folder,
                         const SlurmOptions& options) {
  const auto limit = options.array_limit > 0 ? fmt::format("%{}", options.array_limit) : "";
  // A percent sign begins a field of the name.
  const auto logs = boost::replace_all_copy(folder, "%", "%%") + "/logs/%A_%a.log";
  auto text = option_line("job-name", name) +
              option_line("array", fmt::format("0-{}{}", tasks - 1, limit)) +
              option_line("chdir", std::filesystem::current_path().string()) +
              option_line("output", logs) + option_line("open-mode", "append") +
              option_line("requeue") +
              option_line("signal", fmt::format("B:USR1@{}", options.notice));
  if (!options.shared) text += option_line("exclusive");
  if (!options.partition.empty()) text += option_line("partition", options.partition);
  if (!options.gres.empty()) text += option_line("gres", options.gres);
  if (!options.time.empty()) text += option_line("time", options.time);
  return text;
}

std::string shell_word(const std::string& text) {
  return '\'' + boost::replace_all_copy(text, "'", "'\\''") + '\'';
}

constexpr const char* kBody = R"(
rows() { grep -so '"kind":"row"' "$shard" | wc -l; }

told=false out_of_time=false driver=''
stop_for_time() {
  told=true out_of_time=true
  [[ -n $driver ]] || return
  kill -TERM "$driver"
  # The second signal ends the case that runs.
  (sleep "$grace" && kill -TERM "$driver") 2>/dev/null 9>&- &
}
trap stop_for_time USR1
trap 'told=true' TERM  # it goes to the driver too

# The exit code of a child, however often a signal interrupts the wait.
await() {
  told=true
  while $told; do
    told=false
    wait "$1"
    code=$?
  done
}

exec 9>"$shard.lock"
flock 9 &
await $!
if $out_of_time; then exec scontrol requeue "$SLURM_JOB_ID"; fi
before=$(rows)
run_task &
driver=$!
if $out_of_time; then stop_for_time; fi
await "$driver"
if $out_of_time && ((code > 128)); then
  if (($(rows) > before)); then exec scontrol requeue "$SLURM_JOB_ID"; fi
  echo "no case ended within the time limit: submit with a longer --time" >&2
fi
exit "$code"
)";

}  // namespace

std::string shell_words(const TaskCommand& command) {
  return boost::join(transformed(command, shell_word), " ");
}

std::string slurm_script(const std::string& name, const std::vector<Task>& tasks,
                         const std::vector<TaskCommand>& commands, const std::string& folder,
                         const SlurmOptions& options) {
  auto text = "#!/bin/bash\n" + option_lines(name, tasks.size(), folder, options) +
              fmt::format("\ngrace={}\ncase $SLURM_ARRAY_TASK_ID in\n", options.notice / 2);
  for (std::size_t k = 0; k < tasks.size(); ++k)
    text += fmt::format("  {}) shard={}; run_task() {{ exec {}; }} ;;\n", k,
                        shell_word(tasks[k].shard), shell_words(commands[k]));
  return text + "esac\n" + kBody;
}

namespace {

struct Slot {
  std::string devices;
  std::unique_ptr<ChildProcess> child;
  const Task* task = nullptr;
};

void begin(Slot& slot, const Task& task, const TaskCommand& command) {
  TaskCommand argv = {"env"};
  if (!slot.devices.empty()) argv.push_back("CUDA_VISIBLE_DEVICES=" + slot.devices);
  argv.insert(argv.end(), command.begin(), command.end());
  slot.task = &task;
  slot.child = std::make_unique<ChildProcess>("/usr/bin/env", std::move(argv));
}

/// The exit code of a task that has ended, nothing of one that runs.
std::optional<int> end(Slot& slot) {
  const auto status = slot.child->ended();
  if (!status) return std::nullopt;
  const int code = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
  const auto how = code == 0   ? "all rows ok"
                   : code == 1 ? "some rows not ok"
                               : fmt::format("exit code {}: {}", code, slot.child->last_words());
  std::cerr << fmt::format("{}: {}\n", slot.task->dataset, how);
  slot.child.reset();
  return code;
}

}  // namespace

std::vector<std::string> device_lists(const std::vector<std::string>& devices, std::size_t slots) {
  if (devices.empty()) return std::vector<std::string>(slots);
  const auto each = devices.size() / slots;
  if (each == 0)
    throw input_error("{} tasks at a time, but {} devices: each task needs one", slots,
                      devices.size());
  std::vector<std::string> lists;
  for (std::size_t s = 0; s < slots; ++s) {
    const auto first = devices.begin() + static_cast<std::ptrdiff_t>(s * each);
    lists.push_back(boost::join(
        std::vector<std::string>(first, first + static_cast<std::ptrdiff_t>(each)), ","));
  }
  return lists;
}

int run_tasks(const std::vector<Task>& tasks, const std::vector<TaskCommand>& commands,
              const std::vector<std::string>& visible_devices, StopSignals& stop) {
  std::vector<Slot> slots;
  for (const auto& devices : visible_devices) slots.push_back({devices, nullptr, nullptr});
  int worst = 0;
  bool told = false;
  std::size_t next = 0, running = 0;
  do {
    stop.update();
    for (auto& slot : slots) {
      if (slot.child) {
        if (stop.requested() && !told) slot.child->ask_to_stop();
        const auto code = end(slot);
        if (!code) continue;
        worst = std::max(worst, *code);
        --running;
      }
      if (next == tasks.size() || stop.requested()) continue;
      begin(slot, tasks[next], commands[next]);
      ++next, ++running;
    }
    told = stop.requested();
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  } while (running > 0 && !stop.at_once());
  return worst;
}

}  // namespace retensor::driver
