// retensor submit: the data sets of a spec as tasks for a cluster or for several GPUs; retensor
// gather: their shards as the result file that `run` would have written.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <boost/algorithm/string.hpp>
#include <nlohmann/json.hpp>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/io/files.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/process.hpp"
#include "experiments/driver/run/child_process.hpp"
#include "experiments/driver/run/sweep.hpp"
#include "experiments/driver/run/table.hpp"
#include "experiments/driver/run/tasks.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Of the spec on the command line: its plan, the folder of its shards and its tasks.
struct Submission {
  explicit Submission(const Given& given);

  std::string spec, folder;
  Plan plan;
  std::vector<Task> tasks;
};

Submission::Submission(const Given& given)
    : spec(given.positional("a spec")),
      folder(given.text("folder")),
      plan(plan_to_measure(spec, given.profile(), given.registry(), given.flag("allow-foreign"))) {
  if (folder.empty()) folder = "out/tasks/" + fs::path(results_name(plan.artifact)).stem().string();
  if (given.text("folder").empty() && !given.profile().empty()) folder += '-' + given.profile();
  tasks = tasks_of(plan, folder);
}

/// --with, --folder, --allow-foreign and the locations.
void add_submission_options(Options& add) {
  add("folder", word("DIR"),
      "folder of shards and logs (default: out/tasks/<paper>-<artifact>[-<profile>])");
  add("allow-foreign", flag(),
      "run the external programs and libraries that the spec names; they run with your rights");
  add.profile();
  add.locations();
}

TaskCommand command_of(const Task& task, const Submission& submission, const Given& given) {
  TaskCommand command = {own_program(), "run",   submission.spec, "--dataset",
                         task.dataset,  "--out", task.shard};
  for (const auto* option : {"with", "registry", "recipes", "cache"})
    if (const auto value = given.text(option); !value.empty())
      command.insert(command.end(), {fmt::format("--{}", option), value});
  if (given.flag("allow-foreign")) command.emplace_back("--allow-foreign");
  return command;
}

/// Time for the case that runs to end after a task was told of its limit; sbatch takes 65535 at
/// most.
int notice_of(const Plan& plan) {
  using std::chrono::seconds;
  const auto limit = std::chrono::duration_cast<seconds>(plan.measure.timeout);
  return static_cast<int>(std::min<std::int64_t>(65535, 2 * limit.count() + 30));
}

void make_folders(const fs::path& folder) {
  for (const auto* part : {"shards", "logs"}) make_folder(folder / part);
}

int submit_to_slurm(const Submission& submission, const std::vector<Task>& tasks,
                    const std::vector<TaskCommand>& commands, const Given& given) {
  if (const int limit = given.get<int>("array-limit"); limit < 0)
    throw input_error("--array-limit: found {}, expected 0 or more", limit);
  const SlurmOptions options{given.text("partition"), given.text("gres"),
                             given.text("time"),      given.get<int>("array-limit"),
                             given.flag("shared"),    notice_of(submission.plan)};
  const auto script =
      slurm_script(submission.plan.artifact, tasks, commands, submission.folder, options);
  if (given.flag("dry-run")) {
    std::cout << script;
    return 0;
  }
  make_folders(submission.folder);
  const auto path = (fs::path(submission.folder) / "job.sh").string();
  write_file(path, script);
  const int code = run_process({"sbatch", "--parsable", path});
  if (code != 0) throw system_error("sbatch refused {} (exit code {})", path, code);
  return 0;
}

std::vector<std::string> named_devices(const Given& given) {
  auto named = given.text("devices");
  if (named.empty()) named = environment("CUDA_VISIBLE_DEVICES");
  std::vector<std::string> devices;
  if (!named.empty()) boost::split(devices, named, boost::is_any_of(","));
  return devices;
}

/// Tasks at a time must not share what they are timed on.
void expect_apart(const Plan& plan, const std::vector<std::string>& devices, const Given& given) {
  const bool uses_gpu =
      std::ranges::any_of(plan.cases, [](const Case& c) { return is_gpu_method(c.method); });
  const bool uses_cpu =
      std::ranges::any_of(plan.cases, [](const Case& c) { return !is_gpu_method(c.method); });
  if (uses_gpu && devices.empty())
    throw input_error("-j: name the GPUs that the tasks share out: --devices 0,1,...");
  if (uses_cpu && !given.flag("shared"))
    throw input_error(
        "-j: the spec times methods on the processor, where tasks at a time disturb each other; "
        "--shared runs them nevertheless");
}

int run_here(const Submission& submission, const std::vector<Task>& tasks,
             const std::vector<TaskCommand>& commands, const Given& given, StopSignals& stop) {
  const int jobs = given.get<int>("jobs");
  if (jobs < 1) throw input_error("-j: found {}, expected 1 or more", jobs);
  const auto devices = named_devices(given);
  if (jobs > 1) expect_apart(submission.plan, devices, given);
  const auto slots = std::min<std::size_t>(static_cast<std::size_t>(jobs), tasks.size());
  const auto lists = device_lists(devices, slots);
  if (given.flag("dry-run")) {
    for (const auto& command : commands) std::cout << shell_words(command) << '\n';
    return 0;
  }
  make_folders(submission.folder);
  const int code = run_tasks(tasks, commands, lists, stop);
  return stop.requested() ? 128 + stop.first() : code;
}

int submit_command(const Given& given) {
  const auto launcher = given.text("launcher");
  place_among(std::array{"slurm", "local"}, launcher, "--launcher: found");
  given.refuse_others_than(launcher, "with --launcher " + launcher);
  StopSignals stop;
  const auto submission = [&] {
    const EndedBySignals planning;
    return Submission(given);
  }();
  std::vector<Task> tasks;
  std::vector<TaskCommand> commands;
  for (const auto& task : submission.tasks) {
    if (state_of(task).left() == 0) continue;
    tasks.push_back(task);
    commands.push_back(command_of(task, submission, given));
  }
  std::cerr << fmt::format("{}: {} of {} data sets have cases left\n", submission.folder,
                           tasks.size(), submission.tasks.size());
  if (tasks.empty()) return 0;
  return launcher == "slurm" ? submit_to_slurm(submission, tasks, commands, given)
                             : run_here(submission, tasks, commands, given, stop);
}

int gather_command(const Given& given) {
  const Submission submission(given);
  const auto added = merge_shards(submission.tasks, given.text("out"), submission.plan.artifact);
  auto tasks = json::array();
  std::vector<TableRow> lines;
  std::size_t missing = 0;
  for (const auto& task : submission.tasks) {
    const auto state = state_of(task);
    missing += state.left() + state.unsupported;
    tasks.push_back({{"dataset", task.dataset},
                     {"shard", task.shard},
                     {"ok", state.ok},
                     {"unsupported", state.unsupported},
                     {"failed", state.failed},
                     {"open", state.open}});
    lines.push_back({task.dataset, std::to_string(state.ok), std::to_string(state.unsupported),
                     std::to_string(state.failed), std::to_string(state.open)});
  }
  if (given.flag("json")) {
    std::cout << json{{"files", added}, {"tasks", tasks}}.dump(2) << '\n';
  } else {
    for (const auto& [path, rows] : added) std::cout << path << '\n';
    std::cerr << table_text({"data set", "ok", "unsupported", "failed", "open"}, lines,
                            talk_style());
  }
  return missing == 0 ? 0 : 1;
}

}  // namespace

Interface submit_interface() {
  const Usage usage{
      "submit SPEC",
      "Runs a spec as tasks, one for each data set. Each task writes a result file of its own, its "
      "shard. Only data sets with unfinished cases are submitted: cases without a row, or with a "
      "row that is neither ok nor unsupported. So the same command continues with what is left. "
      "retensor gather merges the shards.",
      "retensor submit experiments/pasta/fig4.yaml --with quick --launcher slurm --dry-run", 1};
  Options add;
  add("launcher", word("slurm|local", "slurm"),
      "slurm submits a job array and prints its number; local runs on this machine");
  add("partition", word("NAME"), "slurm: the partition (sbatch --partition)");
  add("gres", word("LIST"), "slurm: what each task needs, such as gpu:1 (sbatch --gres)");
  add("time", word("TIME"), "slurm: time limit of a task (sbatch --time)");
  add("array-limit", number("N", 0), "slurm: tasks at a time (0: no limit)");
  add("jobs,j", number("N", 1), "local: tasks at a time");
  add("devices", word("LIST"),
      "local: GPUs, separated by commas, which the running tasks share (default: "
      "$CUDA_VISIBLE_DEVICES)");
  add("shared", flag(),
      "allow other jobs on the machine of a task, for sweeps whose times do not matter");
  add("dry-run", flag(), "print the script (with local: the commands) and run nothing");
  add_submission_options(add);
  return {usage, add, submit_command};
}

Interface gather_interface() {
  const Usage usage{"gather SPEC",
                    "Adds the rows of the shards that retensor submit wrote to result files, "
                    "prints the paths of those files, and reports for each data set how its cases "
                    "ended. You may run it while tasks run: rows that a result file already has "
                    "are not added again. The exit code is 1 while cases are open or not ok.",
                    "retensor gather experiments/pasta/fig4.yaml --with quick", 1};
  Options add;
  add("out", word("FILE"),
      "result file, or folder of <paper>-<artifact>.jsonl (default: out/results/<device>/)");
  add_submission_options(add);
  add.json();
  return {usage, add, gather_command};
}

}  // namespace retensor::driver
